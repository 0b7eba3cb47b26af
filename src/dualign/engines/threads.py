"""The E-step: posteriors of a whole text, block by block, added up to expected counts and statistics.

A block goes through three stages, each cut into tasks of its own: its cells are found word by word, its
posteriors computed pair by pair, and its counts added word by word, one block after the other. Threads work
on several blocks at a time (`dualign._core.threads.in_stages`), so that none waits at the end of a stage.
Counts and statistics are exact sums, which no order changes. So a text can be cut anywhere, and its parts
counted on any machine.

Expectation-maximisation of the HMM, or of IBM Model 2, in both directions.

What runs the passes over the text in training: here the threads of this process.

`dualign.hmm.training` knows the order of the rounds; an engine does each of them. Another one, for other
machines or a device, overrides a method, and gives the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from dualign._core.arrays import Array
from dualign._core.memory import Workspace, boundless
from dualign._core.progress import advancing, timed
from dualign._core.threads import Stage, Work, in_stages, ordered_map, pieces
from dualign.engines.cuda.device import Card, DeviceError
from dualign.hmm.blocks import COLD, Block, Rules, Warm, block_with
from dualign.hmm.cells import BLOCK_CELLS, CellBuffers, Lookup, block_bounds, cells_up_to, look_up, visit_rows
from dualign.hmm.constraints import ConstraintSet, give
from dualign.hmm.expected_counts import ExpectedCounts, add_counts, add_null_counts, add_positions
from dualign.hmm.ibm1 import Kept, Whole
from dualign.hmm.jumps import BOLD, FEW, SAFE, update_jumps, update_starts, update_stops
from dualign.hmm.model import Model
from dualign.hmm.multipliers import Constraint
from dualign.hmm.positions import Positions, starts, table_sizes
from dualign.hmm.posteriors import (
    Job,
    Output,
    constraint_of,
    constraint_with_rules,
    expectation_tasks,
    jobs_of,
)
from dualign.hmm.smoothing import Priors, reestimate_lexicon
from dualign.hmm.statistics import ChainStatistics, Tallies, above_counts, in_numbers
from dualign.options import Options
from dualign.text.corpus import Bitext, Numbered

RANGES = 24
"""Most ranges of source words whose cells are found, and counts added, by one task each."""

MOST_MORE = 8
"""Blocks under way at the same time beside two: one for every two threads, up to this number."""

LEAST_CELLS = 1 << 20
"""Slots of the smallest blocks that a lack of memory leads to. Finding cells takes longer in smaller ones."""

ENOUGH = 3
"""Blocks under way at the same time with which threads seldom wait; then larger ones are better than more."""


class Asked(NamedTuple):
    """What an E-step computes.

    `agree`: both directions count the product of their posteriors (Liang et al. 2006). `rules`, if given,
    turn pairs into constraints on their posteriors, and pairs that have any are constrained as `ruled` says.
    `above`: see `ExpectedCounts`; it is that of the whole text, also where only a part of it is counted.
    """

    constraint: Constraint
    agree: bool
    above: float
    rules: Rules | None = None
    ruled: Constraint | None = None


class Expectation:
    """One E-step over all pairs of a bitext, none of them empty; see `run`."""

    def __init__(self, bitext: Bitext, model: Model, asked: Asked, workspace: Workspace) -> None:
        self.bitext, self.model, self.asked, self.workspace = bitext, model, asked, workspace
        lexicon = model.lexicon
        self.counts = ExpectedCounts(
            workspace.zeros(lexicon.table.shape, np.float64, hot=True),
            np.zeros(len(lexicon.null_target)),
            np.zeros(len(lexicon.null_source)),
        )
        self.places = Places(bitext) if model.positions is not None else None
        self.tallies = Tallies(model.jumps.classes)
        self._buffers: list[Buffers] = []

    @property
    def sums(self) -> ChainStatistics:
        """The statistics of all pairs."""
        return in_numbers(self.tallies.together())

    def run(
        self,
        threads: int = 1,
        warm: Warm = COLD,
        bounds: Sequence[tuple[int, int]] = (),
        jobs: Sequence[list[Job] | None] = (),
    ) -> None:
        """Add up all pairs, block by block; their projections begin and end with the multipliers in `warm`.

        Blocks may have `bounds` given, and `jobs` that they were cut into before.
        """
        dense = self.model.positions is not None
        wanted = 1 if threads == 1 else 2 + min(threads // 2, MOST_MORE)
        bounds = bounds or self._bounds(wanted, dense)
        cells, sides = cells_up_to(self.bitext), (self.bitext.source, self.bitext.target)
        slots = max(int(cells[end - 1] - (cells[begin - 1] if begin else 0)) for begin, end in bounds)
        tokens = [
            max(int(side.offsets[end] - side.offsets[begin]) for begin, end in bounds) for side in sides
        ]
        at_once = self.workspace.at_once(min(len(bounds), wanted), Buffers.size(slots, dense))
        self._buffers = [Buffers(slots, tokens, dense) for _ in range(at_once)]
        given = jobs or [None] * len(bounds)
        works = (self._block(*each, warm.of_pairs(*each), given[n]) for n, each in enumerate(bounds))
        for _ in advancing(in_stages(works, threads, at_once), len(bounds)):
            pass
        self._buffers.clear()

    def _bounds(self, wanted: int, dense: bool) -> list[tuple[int, int]]:
        """Blocks small enough that some of those `wanted` find memory at the same time."""
        cells, some = BLOCK_CELLS, min(wanted, ENOUGH)
        while cells > LEAST_CELLS and self.workspace.left < some * Buffers.size(cells, dense):
            cells //= 2
        return block_bounds(self.bitext, cells)

    def _block(self, begin: int, end: int, warm: Warm, jobs: list[Job] | None) -> Work[None]:
        buffers = self._buffers.pop()
        part = self.bitext.slice(begin, end)
        lookup = timed("index of a block", look_up)(part, self.model.lexicon, buffers.room)
        ranges = lookup.ranges(pieces(int(lookup.cells.first[-1]), 1 << 17, RANGES))
        ends = np.empty(len(ranges), np.int64)

        def find(number: int) -> None:
            ends[number] = visit_rows(*ranges[number], lookup)

        find = timed("cells", find)
        yield Stage([partial(find, number) for number in range(len(ranges))])
        block = block_with(self.model, part, lookup.cells, give=self.asked.rules)._replace(warm=warm)
        if jobs is None:
            jobs = timed("cutting jobs", jobs_of)(block)
        output = buffers.output(lookup, self.asked.agree)
        asked = self.asked
        yield Stage(expectation_tasks(block, jobs, asked.constraint, output, self.tallies, asked.ruled))
        count, count_nulls = timed("counts", add_counts), timed("counts of null", add_null_counts)
        above = self.asked.above
        tasks = [
            partial(count, *each, end, lookup, output, self.counts, above)
            for each, end in zip(ranges, ends.tolist(), strict=True)
        ]
        tasks.append(partial(count_nulls, lookup, output, self.counts, above))
        if self.places is not None:
            tasks.append(partial(self.places.add, block, output.posterior, (begin, end), above))
        yield Stage(tasks, in_turn=True)
        self._buffers.append(buffers)


class Buffers:
    """Arrays for one block, used again and again: fresh ones would cost as much as filling them."""

    def __init__(self, slots: int, tokens: Sequence[int], dense: bool) -> None:
        self.room = CellBuffers.of(slots)
        self.posterior = np.empty((slots if dense else 0, 2), np.float32)
        self.null_source, self.null_target = (np.empty(number, np.float32) for number in tokens)

    @staticmethod
    def size(slots: int, dense: bool) -> int:
        """About how many bytes they take."""
        return slots * (16 + (8 if dense else 0))

    def output(self, lookup: Lookup, agree: bool) -> Output:
        """Where the posteriors of a block go."""
        null_target = self.null_target[: len(lookup.pairs.target)]
        null_source = self.null_source[: len(lookup.pairs.source)]
        return Output(self.posterior, null_target, null_source, agree)


class Places:
    """Expected position counts of Model 2, for all pairs of lengths in a bitext."""

    def __init__(self, bitext: Bitext) -> None:
        lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
        self.lengths, of_pair = np.unique(lengths, axis=0, return_inverse=True)
        self.of_pair = starts(self.lengths)[of_pair.ravel()]
        self.counts = np.zeros(table_sizes(self.lengths).sum())

    def add(self, block: Block, posterior: Array, span: tuple[int, int], above: float) -> None:
        """Add the posteriors of a block, a span of the pairs of the bitext."""
        add_positions(block, posterior, self.of_pair[slice(*span)], self.counts, above)


@dataclass(frozen=True, slots=True)
class EMRound:
    """The model after a round, and what the round saw before its update.

    `objective` is the log-likelihood of both directions, less the divergence of the projected posteriors
    from the model's own; `evaluations` counts how often the chains of a pair were run.
    """

    model: Model
    objective: float
    evaluations: float


def em_round(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    threads: int,
    constraints: ConstraintSet | None = None,
    warm: Warm = COLD,
    workspace: Workspace | None = None,
) -> EMRound:
    """One E-step over all pairs, none of them empty, block by block; then the M-step.

    `constraint` is one of `dualign.hmm.posteriors.KINDS`; if it is a projection, `constraints` may list
    further rules, and `warm` (see `warm_starts`) is where its multipliers begin and end. An `even` round, of
    IBM Model 1, changes the lexicon alone.
    """
    room = workspace or boundless()
    asked = asked_for(model, bitext, constraint, constraints)
    expected: Expected | None = None
    if room.card is not None and not room.card.lost and on_card(bitext, model.options, constraints):
        expected = _found_on(room.card, bitext, model, asked)
    if expected is None:
        expected = here = Expectation(bitext, model, asked, room)
        here.run(threads, warm)
    return maximised(bitext, model, priors, constraint, expected, threads, room)


def _found_on(card: Card, bitext: Bitext, model: Model, asked: Asked) -> ExpectationResult | None:
    """What the E-step on a card finds; None if the card fails and nobody insists on it."""
    from dualign.engines.cuda.engine import CardExpectation

    try:
        found = CardExpectation(card, bitext, model, asked.constraint, asked.agree)
    except DeviceError as error:
        card.give_up(error)
        return None
    return ExpectationResult(ExpectedCounts(*found.counts), found.sums)


def asked_for(model: Model, bitext: Bitext, constraint: str, constraints: ConstraintSet | None) -> Asked:
    """What the E-step of such a round computes."""
    options = model.options
    usual = without_rules(constraint, options)
    agree = usual == "agreement" or (usual == "even" and options.constraint != "none")
    asked = Asked(constraint_of(options, usual), agree, above_counts(bitext))
    if constraints is None:
        return asked
    return asked._replace(rules=partial(give, constraints), ruled=constraint_with_rules(options, usual))


def without_rules(constraint: str, options: Options) -> str:
    """The constraint of pairs that have no rules of the user's own, which join what the options ask for."""
    if constraint != "given":
        return constraint
    return "agreement" if options.constraint == "agreement" else "none"


class Expected(Protocol):
    """What an E-step has found."""

    @property
    def counts(self) -> ExpectedCounts:
        """The expected counts of the lexicon."""

    @property
    def places(self) -> Places | None:
        """The expected counts of positions, for IBM Model 2."""

    @property
    def sums(self) -> ChainStatistics:
        """The statistics of all pairs."""


class ExpectationResult(NamedTuple):
    """What an E-step elsewhere has found."""

    counts: ExpectedCounts
    sums: ChainStatistics
    places: Places | None = None


def maximised(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    expected: Expected,
    threads: int,
    workspace: Workspace,
) -> EMRound:
    """The M-step of such a round."""

    def words() -> Any:
        return reestimate_lexicon(model.lexicon, expected.counts, priors, threads, workspace)

    def chains() -> Any:
        sums = expected.sums
        return sums.totals, _chains_from(sums, expected.places, model, bitext, constraint)

    # What is known of chains is added up and updated by one thread, while the others have the lexicon.
    lexicon, (totals, changes) = ordered_map(lambda update: update(), (words, chains), min(threads, 2))
    likelihood, evaluations, pairs, divergence = totals
    new = replace(model, lexicon=lexicon, **changes)
    return EMRound(new, float(likelihood - divergence), float(evaluations / pairs))


def _chains_from(
    sums: ChainStatistics, places: Places | None, model: Model, bitext: Bitext, constraint: str
) -> dict[str, Any]:
    """What the M-step changes in a model apart from its lexicon."""
    if places is not None:
        return {"positions": Positions.estimate(places.lengths, places.counts)}
    if constraint == "even":
        return {}
    lengths = bitext.source.lengths, bitext.target.lengths
    usual = without_rules(constraint, model.options)
    step = SAFE if usual == "none" else max(SAFE, BOLD * min(1, FEW / model.options.rounds))
    return {
        "weights": update_stops(update_starts(model.weights, sums.starts, lengths), sums.stops),
        "jumps": update_jumps(
            model.jumps, sums.jumps, sums.foreseen, sums.chosen, model.options.jump_weight, step
        ),
    }


def on_card(bitext: Bitext, options: Options, constraints: ConstraintSet | None) -> bool:
    """Whether a card, if there is one, can take over the E-step of this text."""
    from dualign.engines.cuda.engine import fitting, why_not

    known = bool(bitext.pins.pinned.any()), len(bitext.similar.begin) > 0
    return why_not(options, constraints, *known) is None and bool(fitting(bitext).all())


def warm_starts(bitext: Bitext, workspace: Workspace) -> Warm:
    """Room for the multipliers of every pair, still empty: two for each word.

    That is nearly all that a pair of ordinary length has. Those that find no room start at 0 again, which
    costs time and nothing else.
    """
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    room = np.concatenate(([0], np.cumsum(np.minimum(lengths * widths, 2 * (lengths + widths)))))
    size = int(room[-1])
    key, value = workspace.empty(size, np.int32), workspace.empty(size, np.float32)
    return Warm(room, np.zeros(len(bitext), np.int32), key, value)


class Engine:
    """The rounds of one training; `start` it with the text, none of whose pairs is empty."""

    bitext: Numbered

    def __init__(self, threads: int, workspace: Workspace) -> None:
        self.threads, self.workspace = threads, workspace
        self.warm = COLD

    def start(self, bitext: Numbered) -> None:
        """Take up the text of a training."""
        self.bitext = bitext

    def first_lexicon(self, sizes: tuple[int, int], least: float) -> Kept:
        """The first round of Model 1, with that many words on each side; then `dualign.hmm.ibm1.prune`."""
        return Whole(self.bitext, sizes, self.threads, self.workspace).kept(least)

    def round(
        self, model: Model, priors: Priors, constraint: str, constraints: ConstraintSet | None, keep: bool
    ) -> EMRound:
        """A round over all pairs (see `em_round`); `keep` its multipliers: another projection follows."""
        if keep and not len(self.warm.used):
            self.warm = warm_starts(self.bitext, self.workspace)
        return em_round(
            self.bitext, model, priors, constraint, self.threads, constraints, self.warm, self.workspace
        )
