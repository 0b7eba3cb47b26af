"""Work on the threads of this process: the E-step of training, and decoding.

In the E-step a block goes through three stages, each cut into tasks of its own: its cells are found word by
word, its posteriors computed pair by pair, and its counts added word by word, one block after the other.
Threads work on several blocks at a time (`dualign._core.threads.in_stages`), so that none waits at the end of
a stage. Counts and statistics are exact sums, which no order changes. So a text can be cut anywhere, and its
parts counted on any machine.

Decoding takes a part of a text from its bytes to what is made of its links on one thread. Threads share
nothing but the model, which they only read; so they need not wait for each other, and neither their number
nor the cut into parts changes a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import local
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.memory import Workspace, boundless
from dualign._core.progress import Clock, advance, begin, phase, timed
from dualign._core.threads import Stage, Work, in_stages, ordered_map, pieces, spans
from dualign.decode.decoders import DecodedLinks, alignable, decode_block, joined
from dualign.engines import DecodedPart, R
from dualign.hmm.blocks import (
    BLOCK_CELLS,
    COLD,
    Block,
    ThreadBuffers,
    Warm,
    block_bounds,
    first_slots,
    look_up,
    visit_rows,
)
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import CHUNK, EncodedText, UnreadPart, chunk_size
from dualign.hmm.ibm1 import Kept, Whole
from dualign.hmm.model import Model
from dualign.hmm.positions import PositionCounts
from dualign.hmm.posteriors import (
    Job,
    Output,
    block_with,
    expectation_calls,
    jobs_of,
    link_probabilities,
    make_block,
    matrices_of,
    posteriors_of_block,
)
from dualign.hmm.smoothing import Priors
from dualign.hmm.statistics import ExpectedCounts, Tallies, add_counts, add_null_counts, in_numbers
from dualign.hmm.training import EMRound, Expectation, NothingToLearn, Statistics, expectation_for, maximised
from dualign.text.corpus import Bitext, Numbered

RANGES = 24
"""Most ranges of source words whose cells are found, and counts added, by one task each."""

MOST_MORE = 8
"""Blocks under way at the same time beside two: one for every two threads, up to this number."""

LEAST_CELLS = 1 << 20
"""Slots of the smallest blocks that a lack of memory leads to. Finding cells takes longer in smaller ones."""

ENOUGH = 3
"""Blocks under way at the same time with which threads seldom wait; then larger ones are better than more."""


LAST_RESORT = 10_000_000
"""Most cells of a pair that is learnt from although it is too long, if there are no others."""


class ThreadsEngine:
    """Training and decoding on the threads of this process: see `dualign.engines.Engine`.

    Another one, for other machines or a device, overrides what it does differently.
    """

    bitext: Numbered

    def __init__(self, threads: int = 1, workspace: Workspace | None = None) -> None:
        self.threads, self._workspace = threads, workspace
        self.warm = COLD

    @property
    def workspace(self) -> Workspace:
        """The room for large arrays in training."""
        self._workspace = self._workspace or boundless()
        return self._workspace

    def demand(self, size: int, what: str) -> None:
        """See `dualign.hmm.training.Learner`, as for the next methods."""
        self.workspace.demand(size, what)

    def begin(self, stage: str, rounds: int) -> None:
        begin(stage, rounds)

    def start(self, text: Numbered, max_length: int) -> Numbered:
        with phase("choosing pairs"):
            chosen = usable(text, max_length)
            if not chosen.any():
                raise NothingToLearn(len(text))
            # Words that occur only in other pairs are unknown to the model.
            self.bitext = text.chosen(chosen, self.threads, self.workspace)
        return self.bitext

    def first_lexicon(self, sizes: tuple[int, int], least: float) -> Kept:
        return Whole(self.bitext, sizes, self.threads, self.workspace).kept(least)

    def round(
        self, model: Model, priors: Priors, constraint: str, constraints: ConstraintSet | None, keep: bool
    ) -> EMRound:
        if keep and not len(self.warm.used):
            self.warm = warm_starts(self.bitext, self.workspace)
        found = self.expect(model, expectation_for(model, self.bitext, constraint, constraints))
        table = self.workspace.empty(model.lexicon.table.shape, np.float32, hot=True)
        return maximised(self.bitext, model, priors, constraint, found, self.threads, table)

    def expect(self, model: Model, asked: Expectation) -> Statistics:
        """The E-step of a round."""
        step = EStep(self.bitext, model, asked, self.workspace)
        step.run(self.threads, self.warm)
        return step.found

    def close(self) -> None:
        pass

    def chunk_size(self, model: Model) -> int:
        """How many pairs to decode together."""
        return chunk_size(model)

    def posteriors_of_text(self, model: Model) -> Iterator[tuple[Array, Block]]:
        parts = (EncodedText(self.bitext.slice(*span)) for span in spans(len(self.bitext), CHUNK))
        for blocks in ordered_map(lambda part: [*posteriors_of_part(model, part)], parts, self.threads):
            yield from blocks

    def decode(
        self,
        model: Model,
        parts: Iterable[UnreadPart],
        finish: Callable[[UnreadPart, DecodedPart], R],
        constraints: ConstraintSet | None = None,
        *,
        matrices: bool = False,
        look: Callable[[Model, UnreadPart, EncodedText], None] | None = None,
    ) -> Iterator[R]:
        """What `finish` makes of the links of each part; see `dualign.engines.Engine`."""
        own = local()

        def work(part: UnreadPart) -> R:
            clock = Clock()
            with phase("numbering"):
                text = part.encode(model)
            if look is not None:
                look(model, part, text)
            own.buffers = getattr(own, "buffers", None) or ThreadBuffers()
            kept: list[Array] | None = [] if matrices else None
            links = self.links_of(model, text, constraints, kept, own.buffers)
            with phase("printing"):
                return finish(part, DecodedPart(text, links, kept, clock))

        yield from ordered_map(work, parts, self.threads)

    def links_of(
        self,
        model: Model,
        text: EncodedText,
        constraints: ConstraintSet | None = None,
        matrices: list[Array] | None = None,
        buffers: ThreadBuffers | None = None,
    ) -> DecodedLinks:
        """Links of a part of a text. The answer for a pair depends on nothing but the model and the pair.

        A list of `matrices` gets the link probabilities of each pair, float32 (I, J).
        """
        part = alignable(model, text, constraints, matrices is not None)
        links = self._links(model, part.text, constraints, matrices, buffers)
        return part.finished(links)

    def _links(
        self,
        model: Model,
        text: EncodedText,
        constraints: ConstraintSet | None,
        matrices: list[Array] | None,
        buffers: ThreadBuffers | None,
    ) -> DecodedLinks:
        """Links of a part in which no pair is too long."""
        return joined(self._by_block(model, text, constraints, matrices, buffers))

    def _by_block(
        self,
        model: Model,
        text: EncodedText,
        constraints: ConstraintSet | None = None,
        matrices: list[Array] | None = None,
        buffers: ThreadBuffers | None = None,
    ) -> list[DecodedLinks]:
        """The same block by block, on the calling thread alone."""
        choose, found = timed("choosing links", decode_block), []
        for posterior, block in posteriors_of_part(model, text, constraints, buffers):
            if matrices is not None:
                matrices += [link_probabilities(each) for each in matrices_of(posterior, block)]
            found.append(choose(model.options, block, posterior, model.fertilities))
        return found

    def map(self, name: str, function: Callable[..., R], items: Iterable[Any], *settings: Any) -> Iterator[R]:
        """What `function(item, *settings)` returns for each item, in order; `name` says what is done."""
        del name
        return ordered_map(lambda item: function(item, *settings), items, self.threads)


def posteriors_of_part(
    model: Model,
    text: EncodedText,
    constraints: ConstraintSet | None = None,
    buffers: ThreadBuffers | None = None,
) -> Iterator[tuple[Array, Block]]:
    """Posteriors and blocks of a part; with `buffers`, they are gone when the next are asked for."""
    make, expect = timed("cells", make_block), timed("posteriors", posteriors_of_block)
    for span in block_bounds(text.bitext):
        part = text._replace(bitext=text.bitext.slice(*span))
        block = make(model, part, constraints, buffers)
        yield expect(model, block, part, constraints, buffers), block


def usable(bitext: Bitext, max_length: int) -> Array:
    """Which pairs take part in training: none empty, none over the limit, unless there are no others."""
    short = bitext.fitting(max_length)
    return short if short.any() else bitext.fitting(cells=LAST_RESORT)


class EStep:
    """One E-step over all pairs of a bitext, none of them empty; see `run`."""

    def __init__(self, bitext: Bitext, model: Model, asked: Expectation, workspace: Workspace) -> None:
        self.bitext, self.model, self.asked, self.workspace = bitext, model, asked, workspace
        lexicon = model.lexicon
        self.counts = ExpectedCounts(
            workspace.zeros(lexicon.table.shape, np.float64, hot=True),
            np.zeros(len(lexicon.null_target)),
            np.zeros(len(lexicon.null_source)),
        )
        self.places = PositionCounts(bitext) if model.positions is not None else None
        self.tallies = Tallies(len(model.jumps.weight[0]))
        self._buffers: list[ThreadBuffers] = []

    @property
    def found(self) -> Statistics:
        """What all pairs add up to."""
        return Statistics(self.counts, in_numbers(self.tallies.together()), self.places)

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
        first = first_slots(self.bitext)
        slots = max(int(first[end] - first[begin]) for begin, end in bounds)
        at_once = self.workspace.at_once(min(len(bounds), wanted), bytes_of(slots, dense))
        self._buffers = [ThreadBuffers(slots) for _ in range(at_once)]
        given = jobs or [None] * len(bounds)
        works = (self._block(*each, warm.of_pairs(*each), given[n]) for n, each in enumerate(bounds))
        for number, _ in enumerate(in_stages(works, threads, at_once), 1):
            advance(number / len(bounds))
        self._buffers.clear()

    def _bounds(self, wanted: int, dense: bool) -> list[tuple[int, int]]:
        """Blocks small enough that some of those `wanted` find memory at the same time."""
        cells, some = BLOCK_CELLS, min(wanted, ENOUGH)
        while cells > LEAST_CELLS and self.workspace.left < some * bytes_of(cells, dense):
            cells //= 2
        return block_bounds(self.bitext, cells)

    def _block(self, begin: int, end: int, warm: Warm, jobs: list[Job] | None) -> Work[None]:
        buffers = self._buffers.pop()
        part = self.bitext.slice(begin, end)
        lookup = timed("index of a block", look_up)(part, self.model.lexicon, buffers)
        slots = int(lookup.cells.first[-1])
        ranges = lookup.ranges(pieces(slots, 1 << 17, RANGES))
        ends = np.empty(len(ranges), np.int64)

        def find(number: int) -> None:
            ends[number] = visit_rows(*ranges[number], lookup)

        find = timed("cells", find)
        yield Stage([partial(find, number) for number in range(len(ranges))])
        asked, above = self.asked, self.asked.above
        block = block_with(lookup.cells, self.model, EncodedText(part), asked.constraints)
        block = block._replace(warm=warm)
        if jobs is None:
            jobs = timed("cutting jobs", jobs_of)(block.pairs)
        posterior = buffers.posterior(slots) if self.places is not None else np.empty((0, 2), np.float32)
        null_target = buffers.array("null_target", slots, np.float32)[: len(part.target.tokens)]
        null_source = buffers.array("null_source", slots, np.float32)[: len(part.source.tokens)]
        output = Output(posterior, null_target, null_source, asked.agree)

        def expect(compute: Callable[..., None], *call: Any) -> None:
            compute(*call, self.tallies.own(), output)

        expect = timed("posteriors", expect)
        calls = expectation_calls(block, jobs, asked.constraint, asked.ruled)
        yield Stage([partial(expect, *call) for call in calls])
        count, count_nulls = timed("counts", add_counts), timed("counts of null", add_null_counts)
        tasks = [
            partial(count, *each, end, lookup, null_source, self.counts, above)
            for each, end in zip(ranges, ends.tolist(), strict=True)
        ]
        tasks.append(partial(count_nulls, lookup, null_target, self.counts, above))
        if self.places is not None:
            tasks.append(partial(self.places.add, block, output.posterior, (begin, end), above))
        yield Stage(tasks, in_turn=True)
        self._buffers.append(buffers)


def bytes_of(slots: int, dense: bool) -> int:
    """About how many bytes the buffers of a block take; all its posteriors are kept if they are `dense`."""
    return slots * (24 if dense else 16)


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
