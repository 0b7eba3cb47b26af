"""Position probabilities of IBM Models 1 and 2: p(i | j, I, J), for both directions.

A chooser at row j of R picks one of S positions or null (column 0) without looking at its neighbours. Model 1
picks uniformly. Model 2 has a table for each pair of lengths that occurred in training,

    p(i | j, I, J) = (c(i, j, I, J) + κ · base(i | j, I, J)) / (c(j, I, J) + κ),

whose base depends on the relative positions i/S and j/R only, is learnt alongside, and alone serves lengths
that never occurred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array
from dualign.text.corpus import Bitext

GRID = 12
PSEUDO_COUNT = 2.0
LONGEST = 1 << 20
"""Longer sentences have no tables of their own: they would take terabytes."""

ROUNDING = 1e-3
"""By how much a probability in float32 may be above 1."""


@dataclass(frozen=True, slots=True)
class Positions:
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

    def arrays(self) -> dict[str, Array]:
        """For storage."""
        return {"grid": self.grid, "lengths": self.lengths, "values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Positions:
        """The inverse of `arrays`."""
        return cls(*(arrays[prefix + name] for name in ("grid", "lengths", "values")))

    def fit(self) -> bool:
        """Whether whoever looks them up can trust them."""
        return (
            [array.dtype for array in (self.grid, self.lengths, self.values)]
            == [np.float64, np.int32, np.float32]
            and self.grid.shape in ((2, 0, 0), (2, GRID, GRID + 1))
            and self.lengths.shape == (len(self.lengths), 2)
            and bool(((self.lengths > 0) & (self.lengths < LONGEST)).all())
            and self.values.shape == (table_sizes(self.lengths).sum(),)
            and are_probabilities(self.grid)
            and are_probabilities(self.values)
        )

    def tables(self, bitext: Bitext) -> tuple[Array, Array]:
        """The tables that the pairs of a bitext need: float32, and where each pair's begin in it."""
        lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
        needed, of_pair = np.unique(lengths, axis=0, return_inverse=True)
        own = {
            (int(I), int(J)): begin for (I, J), begin in zip(self.lengths, starts(self.lengths), strict=True)
        }
        begins = starts(needed)
        flat = np.empty(table_sizes(needed).sum(), np.float32)
        for (I, J), begin, size in zip(needed.tolist(), begins, table_sizes(needed), strict=True):
            if (place := own.get((I, J))) is not None:
                flat[begin : begin + size] = self.values[place : place + size]
            else:
                flat[begin : begin + size] = self.base(I, J)
        return flat, begins[of_pair.ravel()]

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
        begins = starts(lengths)
        for (I, J), begin in zip(lengths.tolist(), begins, strict=True):
            for d, (R, S) in enumerate(((J, I), (I, J))):
                table = counts[begin : begin + R * (S + 1)].reshape(R, S + 1)
                begin += R * (S + 1)
                rows = bins(R)
                places = rows[:, None] * (GRID + 1) + np.concatenate(([0], 1 + bins(S)))
                grid[d] += np.bincount(places.ravel(), table.ravel(), GRID * (GRID + 1)).reshape(
                    GRID, GRID + 1
                )
        grid /= grid.sum(axis=2, keepdims=True)
        new = cls(grid, lengths.astype(np.int32), np.empty(len(counts), np.float32))
        for (I, J), begin in zip(lengths.tolist(), begins, strict=True):
            base = new.base(I, J)
            smoothed = counts[begin : begin + len(base)] + PSEUDO_COUNT * base
            for R, S in ((J, I), (I, J)):
                table = smoothed[: R * (S + 1)].reshape(R, S + 1)
                new.values[begin : begin + table.size] = (table / table.sum(axis=1, keepdims=True)).ravel()
                begin += table.size
                smoothed = smoothed[table.size :]
        return new


def are_probabilities(array: Array) -> bool:
    """Whether all numbers are in 0..1 up to rounding; NaN is not."""
    return array.size == 0 or bool(array.min() >= 0 and array.max() <= 1 + ROUNDING)


def table_sizes(lengths: Array) -> Array:
    """Numbers in the two tables of each pair of lengths."""
    I, J = lengths[:, 0].astype(np.int64), lengths[:, 1].astype(np.int64)
    return J * (I + 1) + I * (J + 1)


def starts(lengths: Array) -> Array:
    """Where each pair of lengths' tables begin, end to end."""
    sizes = table_sizes(lengths)
    return np.cumsum(sizes) - sizes


def bins(length: int) -> Array:
    """The grid cell of each of `length` positions."""
    return (np.arange(length) * GRID) // max(length, 1)
