"""The E-step: posteriors of a whole text, block by block, added up to expected counts and statistics.

A block goes through three stages, each cut into tasks of its own: its cells are found word by word, its
posteriors computed pair by pair, and its counts added word by word, one block after the other. Threads work
on several blocks at a time (`dualign.core.threads.in_stages`), so that none waits at the end of a stage.
Counts and statistics are exact sums, which no order changes. So a text can be cut anywhere, and its parts
counted on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from dualign.core.advancing import advancing
from dualign.core.arrays import Array
from dualign.core.kernels.exact_sums import above
from dualign.core.phases import timed
from dualign.core.threads import Stage, Work, in_stages, pieces
from dualign.core.workspace import Workspace
from dualign.infer.blocks import COLD, Block, Rules, Warm, block_with
from dualign.infer.cells import BLOCK_CELLS, Lookup, Room, block_bounds, cells_up_to, look_up, visit_rows
from dualign.infer.multipliers import Constraint
from dualign.infer.posteriors import Job, Output, expectation_tasks, jobs_of
from dualign.infer.tallies import Sums, Tallies, in_numbers
from dualign.learn.expected_counts import Counts, add_counts, add_null_counts, add_positions
from dualign.model.model import Model
from dualign.model.positions import starts, table_sizes
from dualign.text.bitext import Bitext

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
    `above`: see `Counts`; it is that of the whole text, also where only a part of it is counted.
    """

    constraint: Constraint
    agree: bool
    above: float
    rules: Rules | None = None
    ruled: Constraint | None = None


def above_counts(bitext: Bitext) -> float:
    """A power of two over all counts of a text."""
    return above(max(len(bitext.source.tokens), len(bitext.target.tokens)))


class Expectation:
    """One E-step over all pairs of a bitext, none of them empty; see `run`."""

    def __init__(self, bitext: Bitext, model: Model, asked: Asked, workspace: Workspace) -> None:
        self.bitext, self.model, self.asked, self.workspace = bitext, model, asked, workspace
        lexicon = model.lexicon
        self.counts = Counts(
            workspace.zeros(lexicon.table.shape, np.float64, hot=True),
            np.zeros(len(lexicon.null_target)),
            np.zeros(len(lexicon.null_source)),
        )
        self.places = Places(bitext) if model.positions is not None else None
        self.tallies = Tallies(model.jumps.classes)
        self._buffers: list[Buffers] = []

    @property
    def sums(self) -> Sums:
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
        self.room = Room.of(slots)
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
