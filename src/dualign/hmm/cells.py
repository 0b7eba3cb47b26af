"""Cells: which lexicon entry belongs to each (source token, target token) of a block of sentence pairs.

The rows of the lexicon are visited word by word: a word's row is spread over an array indexed by target word,
and all occurrences of the word in the block read from it. That costs one pass over the rows of the words that
occur, and a few nanoseconds per cell, with no search and no hash table. The cells that have an entry are
packed one after the other, word by word of the source side, with their scores: who asks for a sentence finds
those of a token next to each other, and who adds up counts goes through all of them from end to end.

Apart from that, each cell (i, j) of each pair has a *slot*, `first[n] + i · J + j`, which numbers posteriors.

Arrays that a thread uses for one block after another.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.jit import kernel, part
from dualign._core.lanes import prefetch
from dualign.hmm.lexicon import Lexicon
from dualign.text.corpus import Bitext

BLOCK_CELLS = 1 << 23
"""Slots of one block: large enough that visiting a word's row pays, small enough to stay near 100 MB."""


MOST_SLOTS = 2**31 - 1
"""Cells are numbered in 32 bits; only a single pair of enormous sentences can have more."""


class PairOffsets(NamedTuple):
    """Sentence pairs as kernels see them."""

    source: Array
    source_offsets: Array
    target: Array
    target_offsets: Array


class Cells(NamedTuple):
    """Slots of a block, and its cells that have an entry.

    `first` int64 (pairs + 1): first slot of each pair. The cells of source token k are `begin[k]` …
    `begin[k] + filled[k]` (int32) of `position` and `entry` int32, their target positions and lexicon
    entries, and of `score` float32 (…, 2), p(w | v) and p(v | w).
    """

    first: Array
    begin: Array
    filled: Array
    position: Array
    entry: Array
    score: Array


class WordOccurrences(NamedTuple):
    """Token positions grouped by word: those of word v are `where[starts[v] : starts[v + 1]]`.

    `sentence` int32, likewise: the sentence of each occurrence. `reach` int64 (words + 1): how many cells the
    words before v have at most. Words that the lexicon does not number are left out.
    """

    starts: Array
    where: Array
    sentence: Array
    reach: Array


def pairs_of(bitext: Bitext) -> PairOffsets:
    """The arrays of a bitext, whose offsets must begin at 0."""
    source, target = bitext.source, bitext.target
    return PairOffsets(source.tokens, source.offsets, target.tokens, target.offsets)


@part(allocates=False)
def lengths_of(n: int, pairs: PairOffsets) -> tuple[int, int]:
    """The number of source words and of target words of pair n."""
    return (
        pairs.source_offsets[n + 1] - pairs.source_offsets[n],
        pairs.target_offsets[n + 1] - pairs.target_offsets[n],
    )


def block_bounds(bitext: Bitext, limit: int = BLOCK_CELLS) -> list[tuple[int, int]]:
    """Cut a bitext into consecutive blocks of at most `limit` cells (or of a single larger pair)."""
    ends = cells_up_to(bitext)
    bounds = []
    begin = 0
    while begin < len(bitext):
        used = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, used + limit, side="right")))
        bounds.append((begin, end))
        begin = end
    return bounds


def cells_up_to(bitext: Bitext) -> Array:
    """How many cells the pairs up to each have, int64 (pairs)."""
    ends = np.empty(len(bitext), np.int64)
    add_up_cells(bitext.source.offsets, bitext.target.offsets, ends)
    return ends


@kernel
def add_up_cells(source_offsets: Array, target_offsets: Array, ends: Array) -> None:
    """`ends[n]` = Σ I · J over the pairs up to n."""
    end = 0
    for n in range(len(ends)):
        I = source_offsets[n + 1] - source_offsets[n]
        J = target_offsets[n + 1] - target_offsets[n]
        end += I * J
        ends[n] = end


class CellBuffers(NamedTuple):
    """Arrays for the cells of a block: see `Cells`."""

    position: Array
    entry: Array
    score: Array

    @classmethod
    def of(cls, slots: int) -> CellBuffers:
        """Room for as many cells as there are slots."""
        return cls(np.empty(slots, np.int32), np.empty(slots, np.int32), np.empty((slots, 2), np.float32))


class Lookup(NamedTuple):
    """A block whose cells are to be found in a lexicon."""

    pairs: PairOffsets
    words: WordOccurrences
    lexicon: Lexicon
    cells: Cells

    def ranges(self, parts: int) -> list[tuple[int, int]]:
        """Ranges of source words, for `visit_rows`, with about the same number of cells."""
        return word_ranges(self.words.reach, parts)


def look_up(
    bitext: Bitext, lexicon: Lexicon, room_for: Callable[[int], CellBuffers] = CellBuffers.of
) -> Lookup:
    """Prepare to find the cells of a block, in what `room_for` gives for that many slots."""
    pairs = pairs_of(bitext)
    first = np.zeros(len(bitext) + 1, np.int64)
    add_up_cells(pairs.source_offsets, pairs.target_offsets, first[1:])
    if first[-1] > MOST_SLOTS:
        raise DataError(f"a sentence pair with {first[-1]:,} pairs of words is too long to compute with")
    tokens = len(pairs.source)
    begin, filled = np.empty(tokens, np.int32), np.zeros(tokens, np.int32)
    words = occurrences(pairs, len(lexicon.rows) - 1, begin)
    return Lookup(pairs, words, lexicon, Cells(first, begin, filled, *room_for(int(first[-1]))))


def find_cells(
    bitext: Bitext, lexicon: Lexicon, room_for: Callable[[int], CellBuffers] = CellBuffers.of
) -> Cells:
    """The cells of a block. Words numbered beyond the lexicon's have none yet, but room for them."""
    lookup = look_up(bitext, lexicon, room_for)
    visit_rows(0, len(lexicon.rows) - 1, lookup)
    return lookup.cells


def word_ranges(starts: Array, parts: int) -> list[tuple[int, int]]:
    """Cut the words into ranges with about the same share of what `starts` (words + 1) adds up."""
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], parts + 1)[1:-1]) if parts > 1 else np.empty(0)
    edges = [0, *cuts.tolist(), len(starts) - 1]
    return [(a, b) for a, b in pairwise(edges) if a < b]


@kernel
def occurrences(pairs: PairOffsets, words: int, begin: Array) -> WordOccurrences:
    """Where each source word occurs; tokens numbered `words` or more are left out.

    For these, `begin` is set, after all others: they have room for a whole row of cells.
    """
    source, source_offsets, target_offsets = pairs.source, pairs.source_offsets, pairs.target_offsets
    starts, reach = np.zeros(words + 1, np.int64), np.zeros(words + 1, np.int64)
    for n in range(len(source_offsets) - 1):
        J = target_offsets[n + 1] - target_offsets[n]
        for k in range(source_offsets[n], source_offsets[n + 1]):
            if source[k] < words:
                starts[source[k] + 1] += 1
                reach[source[k] + 1] += J
    for v in range(words):
        starts[v + 1] += starts[v]
        reach[v + 1] += reach[v]
    fill = starts[:-1].copy()
    where, sentence = np.empty(starts[words], np.int32), np.empty(starts[words], np.int32)
    end = reach[words]
    for n in range(len(source_offsets) - 1):
        for k in range(source_offsets[n], source_offsets[n + 1]):
            if source[k] < words:
                p = fill[source[k]]
                where[p], sentence[p] = k, n
                fill[source[k]] += 1
            else:
                begin[k] = end
                end += target_offsets[n + 1] - target_offsets[n]
    return WordOccurrences(starts, where, sentence, reach)


@kernel
def visit_rows(v0: int, v1: int, lookup: Lookup) -> int:
    """Find the cells of all occurrences of the source words v0..v1; returns where the last of them ends.

    Behind a token's cells there is room for those with words that the lexicon does not know.
    """
    pairs, index, lexicon, cells = lookup
    rows, columns, table = lexicon.rows, lexicon.columns, lexicon.table
    position, entry, score = cells.position, cells.entry, cells.score
    target, target_offsets, target_words = pairs.target, pairs.target_offsets, len(lexicon.null_target)
    row = np.full(target_words + 1, -1, np.int32)
    first, last = index.starts[v0], index.starts[v1]
    begins, ends = np.empty(last - first, np.int32), np.empty(last - first, np.int32)
    end = index.reach[v0]
    for v in range(v0, v1):
        if index.starts[v] == index.starts[v + 1]:
            continue
        for m in range(rows[v], rows[v + 1]):
            row[columns[m]] = m
        for p in range(index.starts[v], index.starts[v + 1]):
            n = index.sentence[p]
            prefetch(target, target_offsets[index.sentence[min(p + 2, last - 1)]])
            begin, unknown = end, 0
            for t in range(target_offsets[n], target_offsets[n + 1]):
                # Written whether or not there is an entry, and kept only if so: most cells have one, in no
                # pattern that a branch could predict. Words without a number here read the last, −1.
                w = min(target[t], target_words)
                m = row[w]
                position[end] = t - target_offsets[n]
                entry[end] = m
                end += m >= rows[v]
                unknown += w == target_words
            begins[p - first], ends[p - first] = begin, end
            for c in range(begin, end):
                score[c, 0], score[c, 1] = table[entry[c], 0], table[entry[c], 1]
            end += unknown
    # Apart from the rest, so that the processor can do several of these at the same time.
    for p in range(first, last):
        k = index.where[p]
        cells.begin[k], cells.filled[k] = begins[p - first], ends[p - first] - begins[p - first]
    return end


class ThreadBuffers:
    """Room for the cells and the posteriors of one block at a time; what is put there is for that block only.

    Blocks with more slots than given at first find more, which is kept for the next.
    Fresh arrays for each block would come from the system, page by page, and go back to it, and threads would
    wait for each other there.
    """

    def __init__(self, cells: int = 0, posteriors: int = 0) -> None:
        self._cells = CellBuffers.of(cells)
        self.posteriors = np.empty((posteriors, 2), np.float32)

    def cells(self, slots: int) -> CellBuffers:
        """Room for the cells of a block."""
        if len(self._cells.entry) < slots:
            if slots > BLOCK_CELLS:  # one enormous pair: not to be kept for ever
                return CellBuffers.of(slots)
            self._cells = CellBuffers.of(0)  # first give back what is too small
            self._cells = CellBuffers.of(slots + slots // 4)
        return self._cells

    def posterior(self, slots: int) -> Array:
        """Room for its posteriors, float32 (slots, 2)."""
        if len(self.posteriors) < slots:
            if slots > BLOCK_CELLS:
                return np.empty((slots, 2), np.float32)
            self.posteriors = np.empty((0, 2), np.float32)
            self.posteriors = np.empty((slots + slots // 4, 2), np.float32)
        return self.posteriors[:slots]
