"""Cells: which lexicon entry belongs to each (source token, target token) of a block of sentence pairs.

A block has one slot for each cell (i, j) of each pair, `first[n] + i · J + j`; the cells of a source token
that have an entry are packed at the front of its row of slots. The rows of the lexicon are visited word by
word: a word's row is spread over an array indexed by target word, and all occurrences of the word in the
block read from it. That costs one pass over the rows of the words that occur, and about two nanoseconds
per cell, with no search and no hash table.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.threads import ordered_map
from dualign.text.bitext import Bitext

BLOCK_CELLS = 1 << 23
"""Slots of one block: large enough that visiting a word's row pays, small enough to stay near 100 MB."""


class Pairs(NamedTuple):
    """Sentence pairs as kernels see them."""

    source: Array
    source_offsets: Array
    target: Array
    target_offsets: Array


class Cells(NamedTuple):
    """Slots of a block.

    `first` int64 (pairs + 1): first slot of each pair. `filled` int32 (source tokens): how many slots of the
    token's row are used. `position` int32 and `entry` int32 (slots): target position and lexicon entry.
    """

    first: Array
    filled: Array
    position: Array
    entry: Array


class Occurrences(NamedTuple):
    """Token positions grouped by word: those of word v are `where[starts[v] : starts[v + 1]]`.

    `sentence` int32 (tokens): the sentence of each token.
    """

    starts: Array
    where: Array
    sentence: Array


def pairs_of(bitext: Bitext) -> Pairs:
    """The arrays of a bitext, whose offsets must begin at 0."""
    source, target = bitext.source, bitext.target
    return Pairs(source.tokens, source.offsets, target.tokens, target.offsets)


@kernel(allocates=False)
def lengths_of(n: int, pairs: Pairs) -> tuple[int, int]:
    """The number of source words and of target words of pair n."""
    return (
        pairs.source_offsets[n + 1] - pairs.source_offsets[n],
        pairs.target_offsets[n + 1] - pairs.target_offsets[n],
    )


def block_bounds(bitext: Bitext, limit: int = BLOCK_CELLS) -> list[tuple[int, int]]:
    """Cut a bitext into consecutive blocks of at most `limit` cells (or of a single larger pair)."""
    ends = np.cumsum(bitext.source.lengths * bitext.target.lengths)
    bounds = []
    begin = 0
    while begin < len(bitext):
        used = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, used + limit, side="right")))
        bounds.append((begin, end))
        begin = end
    return bounds


def find_cells(bitext: Bitext, rows: Array, columns: Array, target_words: int, threads: int) -> Cells:
    """The cells of a block, for the lexicon whose row v is `columns[rows[v] : rows[v + 1]]`.

    Words numbered beyond the lexicon's have no cells.
    """
    pairs = pairs_of(bitext)
    first = np.zeros(len(bitext) + 1, np.int64)
    np.cumsum(bitext.source.lengths * bitext.target.lengths, out=first[1:])
    filled = np.zeros(len(pairs.source), np.int32)
    cells = Cells(first, filled, np.empty(first[-1], np.int32), np.empty(first[-1], np.int32))
    index = occurrences(pairs.source, pairs.source_offsets, len(rows) - 1)

    def fill(bounds: tuple[int, int]) -> None:
        visit_rows(*bounds, index, pairs, rows, columns, target_words, cells)

    list(ordered_map(fill, word_ranges(index.starts, threads), threads))
    return cells


def word_ranges(starts: Array, parts: int) -> list[tuple[int, int]]:
    """Cut the source words into ranges with about the same number of occurrences."""
    cuts = np.searchsorted(starts, np.linspace(0, starts[-1], parts + 1)[1:-1])
    edges = [0, *cuts.tolist(), len(starts) - 1]
    return [(a, b) for a, b in pairwise(edges) if a < b]


@kernel()
def occurrences(source: Array, source_offsets: Array, words: int) -> Occurrences:
    """Where each source word occurs; tokens numbered `words` or more are left out."""
    starts = np.zeros(words + 1, np.int64)
    for k in range(len(source)):
        if source[k] < words:
            starts[source[k] + 1] += 1
    for v in range(words):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    where = np.empty(starts[words], np.int32)
    sentence = np.empty(len(source), np.int32)
    for n in range(len(source_offsets) - 1):
        for k in range(source_offsets[n], source_offsets[n + 1]):
            sentence[k] = n
            if source[k] < words:
                where[fill[source[k]]] = k
                fill[source[k]] += 1
    return Occurrences(starts, where, sentence)


@kernel()
def visit_rows(
    v0: int, v1: int, index: Occurrences, pairs: Pairs, rows: Array, columns: Array, target_words: int,
    cells: Cells,
) -> None:  # fmt: skip
    """Fill the slots of all occurrences of the source words v0..v1."""
    starts, position, entry = index.starts, cells.position, cells.entry
    row = np.full(target_words + 1, -1, np.int32)
    for v in range(v0, v1):
        if starts[v] == starts[v + 1]:
            continue
        for m in range(rows[v], rows[v + 1]):
            row[columns[m]] = m
        for p in range(starts[v], starts[v + 1]):
            k = index.where[p]
            n = index.sentence[k]
            begin = pairs.target_offsets[n]
            J = pairs.target_offsets[n + 1] - begin
            slot = cells.first[n] + (k - pairs.source_offsets[n]) * J
            end = slot
            for j in range(J):
                # Written whether or not there is an entry, and kept only if so: half of the cells have one,
                # in no pattern that a branch could predict. Words without a number here read the last, −1.
                m = row[min(pairs.target[begin + j], target_words)]
                position[end] = j
                entry[end] = m
                end += m >= rows[v]
            cells.filled[k] = end - slot
