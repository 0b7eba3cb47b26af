"""Position probabilities of IBM Models 1 and 2: p(i | j, I, J), for both directions.

A chooser at row j of R picks one of S positions or null (column 0) without looking at its neighbours. Model 1
picks uniformly. Model 2 has a table for each pair of lengths that occurred in training,

    p(i | j, I, J) = (c(i, j, I, J) + κ · base(i | j, I, J)) / (c(j, I, J) + κ),

whose base depends on the relative positions i/S and j/R only, is learnt alongside, and alone serves lengths
that never occurred.

Fertilities: how many words of the other side each word is linked with, and limits that follow from it. With
p_b(w) the probability that word w is linked with at most b words, its limit by the quantile θ is

    k(w) = min { b : p_b(w) > θ },   at most 5.

Lin & Bilmes 2011 print max { b : p_b ≤ θ }, which is one less: a word that always has one link could have
none, and hardly any word two, but they tell of a tenth of them at θ = 0.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.hmm.blocks import Block, lengths_of
from dualign.hmm.statistics import rounded
from dualign.text.corpus import Bitext

GRID = 12
PSEUDO_COUNT = 2.0
LONGEST = 1 << 20
"""Longer sentences have no tables of their own: they would take terabytes."""


class Positions(NamedTuple):
    """Tables of position probabilities.

    `grid` float64 (2, GRID, GRID + 1): the base, null first. `lengths` int32 (K, 2): the pairs (I, J) with
    tables of their own; `values` float32: for each of them the table of direction 0, (J, I + 1), and that of
    direction 1, (I, J + 1), end to end.
    """

    grid: Array
    lengths: Array
    values: Array

    @classmethod
    def uniform(cls) -> Positions:
        """Model 1, and the start of Model 2; the width of the grid's null column is that of a position."""
        return cls(np.zeros((2, 0, 0)), np.zeros((0, 2), np.int32), np.zeros(0, np.float32))

    def tables(self, bitext: Bitext) -> tuple[Array, Array]:
        """The tables that the pairs of a bitext need: float32, and where each pair's begin in it."""
        needed, begins = lengths_in(bitext)
        sizes, own = table_sizes(self.lengths), starts(self.lengths)
        known = {(I, J): n for n, (I, J) in enumerate(self.lengths.tolist())}
        found = [np.empty(0, np.float32)]
        for I, J in needed.tolist():
            n = known.get((I, J))
            found.append(self.base(I, J) if n is None else self.values[own[n] : own[n] + sizes[n]])
        return np.concatenate(found, dtype=np.float32, casting="same_kind"), begins

    def base(self, I: int, J: int) -> Array:
        """The tables of a pair of lengths by relative position alone."""
        return np.concatenate([self.relative(0, J, I).ravel(), self.relative(1, I, J).ravel()])

    def relative(self, d: int, R: int, S: int) -> Array:
        """Table (R, S + 1) of direction d: the grid spread over the rows and states."""
        if not self.grid.size:
            return np.full((R, S + 1), 1 / (S + 1))
        rows, columns = bins(R), bins(S)
        spread = self.grid[d][rows][:, 1 + columns]
        # A cell of the grid shares its probability among the states that fall into it; where S is small some
        # cells have none, so the row is normalised again.
        spread = spread / np.bincount(columns, minlength=GRID)[columns]
        null = self.grid[d][rows, 0]
        spread *= ((1 - null) / np.maximum(spread.sum(axis=1), 1e-300))[:, None]
        return np.column_stack((null, spread))

    @classmethod
    def estimate(cls, lengths: Array, counts: Array) -> Positions:
        """New tables from expected counts of all lengths: first the base, then each table towards it."""
        grid = np.full((2, GRID, GRID + 1), 1e-3)
        places = [(I, J, begin) for (I, J), begin in zip(lengths.tolist(), starts(lengths), strict=True)]
        for I, J, begin in places:
            for d, table in enumerate(both_tables(counts, begin, I, J)):
                R, S = table.shape[0], table.shape[1] - 1
                cells = bins(R)[:, None] * (GRID + 1) + np.concatenate(([0], 1 + bins(S)))
                grid[d] += np.bincount(cells.ravel(), table.ravel(), grid[d].size).reshape(grid[d].shape)
        grid /= grid.sum(axis=2, keepdims=True)
        new = cls(grid, lengths.astype(np.int32), np.empty(len(counts), np.float32))
        for I, J, begin in places:
            bases, expected = both_tables(new.base(I, J), 0, I, J), both_tables(counts, begin, I, J)
            for table, base, seen in zip(both_tables(new.values, begin, I, J), bases, expected, strict=True):
                smoothed = seen + PSEUDO_COUNT * base
                table[:] = smoothed / smoothed.sum(axis=1, keepdims=True)
        return new


def both_tables(values: Array, begin: int, I: int, J: int) -> tuple[Array, Array]:
    """The tables that begin there: (J, I + 1), in which target words choose, and (I, J + 1)."""
    middle = begin + J * (I + 1)
    end = middle + I * (J + 1)
    return values[begin:middle].reshape(J, I + 1), values[middle:end].reshape(I, J + 1)


tables_at = part(both_tables)


def table_sizes(lengths: Array) -> Array:
    """Numbers in the two tables of each pair of lengths."""
    I, J = lengths[:, 0].astype(np.int64), lengths[:, 1].astype(np.int64)
    return J * (I + 1) + I * (J + 1)


def starts(lengths: Array) -> Array:
    """Where each pair of lengths' tables begin, end to end."""
    sizes = table_sizes(lengths)
    return np.cumsum(sizes) - sizes


def lengths_in(bitext: Bitext) -> tuple[Array, Array]:
    """The different lengths (I, J) of a bitext's pairs, and where each pair's tables begin."""
    lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
    different, of_pair = np.unique(lengths, axis=0, return_inverse=True)
    return different, starts(different)[of_pair.ravel()]


def bins(length: int) -> Array:
    """The grid cell of each of `length` positions."""
    return (np.arange(length) * GRID) // max(length, 1)


class PositionCounts:
    """Expected position counts of Model 2, for all pairs of lengths in a bitext."""

    def __init__(self, bitext: Bitext) -> None:
        self.lengths, self.of_pair = lengths_in(bitext)
        self.counts = np.zeros(table_sizes(self.lengths).sum())

    def add(self, block: Block, posterior: Array, span: tuple[int, int], above: float) -> None:
        """Add the posteriors of a block, a span of the pairs of the bitext."""
        add_positions(block, posterior, self.of_pair[slice(*span)], self.counts, above)


@kernel
def add_positions(block: Block, posterior: Array, begins: Array, counts: Array, above: float) -> None:
    """Add posteriors (slots, 2) to expected counts (float64), laid out like `Positions.values`."""
    pairs, first = block.pairs, block.first
    for n in range(len(first) - 1):
        I, J = lengths_of(n, pairs)
        forward, backward = tables_at(counts, begins[n], I, J)
        for j in range(J):
            forward[j, 0] += 1
        for i in range(I):
            backward[i, 0] += 1
            for j in range(J):
                slot = first[n] + i * J + j
                p, q = rounded(posterior[slot, 0], above), rounded(posterior[slot, 1], above)
                forward[j, i + 1] += p
                forward[j, 0] -= p
                backward[i, j + 1] += q
                backward[i, 0] -= q


MOST_LINKS = 5
WORD_PRIOR = 2.0
"""This many occurrences of the average word are added to a word's own; it also stands for unseen words."""


class Fertilities(NamedTuple):
    """Counts float32 (words, MOST_LINKS + 1) of each side: occurrences with 0, 1, … and 5 or more links."""

    source: Array
    target: Array

    @classmethod
    def estimate(cls, words: tuple[int, int], parts: Iterable[tuple[Array, Block]]) -> Fertilities:
        """Fertilities of all words, from the posteriors of all blocks of a bitext without empty sides."""
        counts = cls(*(np.zeros((number, MOST_LINKS + 1), np.float32) for number in words))
        for posterior, block in parts:
            count_fertilities(block, posterior, *counts)
        return counts

    def at_most(self, side: int) -> Array:
        """p_b(w) of source (0) or target (1) words, float64 (words + 1, 6); the last row is for others."""
        counts = (self.source, self.target)[side].astype(np.float64)
        average = counts.sum(axis=0) + 1e-9
        average /= average.sum()
        smoothed = np.vstack((counts + WORD_PRIOR * average, average))
        cumulative = np.cumsum(smoothed, axis=1)
        return cumulative / cumulative[:, -1:]

    def limits(self, side: int, tokens: Array, quantile: float) -> Array:
        """k of each token of the source (0) or target (1) side, int32; all words never seen have one k."""
        table = (self.at_most(side)[:, :MOST_LINKS] <= quantile).sum(axis=1).astype(np.int32)
        return table[np.minimum(tokens, len(table) - 1)]


@kernel
def count_fertilities(block: Block, posterior: Array, source: Array, target: Array) -> None:
    """Add the fertilities of a block's tokens to the counts of their words, float32 (words, MOST_LINKS + 1).

    A target token's links are the source tokens that choose it, each by its largest posterior if that is
    over the one of null, and the other way round; `posterior` float32 (slots, 2) as in `expect`.
    """
    pairs, first = block.pairs, block.first
    for n in range(len(first) - 1):
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        I, J = lengths_of(n, pairs)
        P = posterior[first[n] : first[n + 1]].reshape(I, J, 2)
        chosen = np.zeros(J, np.int64)
        count_choices(P[:, :, 1], chosen)
        for j in range(J):
            target[pairs.target[t + j], min(chosen[j], MOST_LINKS)] += 1
        chosen = np.zeros(I, np.int64)
        count_choices(P[:, :, 0].T, chosen)
        for i in range(I):
            source[pairs.source[s + i], min(chosen[i], MOST_LINKS)] += 1


@part
def count_choices(P: Array, chosen: Array) -> None:
    """Add 1 to the column that each row of posteriors `P` prefers, unless it prefers null."""
    for i in range(P.shape[0]):
        best, most, null = -1, np.float32(0), np.float32(1)
        for j in range(P.shape[1]):
            null -= P[i, j]
            if P[i, j] > most:
                best, most = j, P[i, j]
        if best >= 0 and most > null:
            chosen[best] += 1
