"""Linear and integer programs for HiGHS: built in blocks, solved on one thread, within a time limit.

**What a bound of HiGHS proves.** HiGHS compares objectives with absolute tolerances: it drops a part of the
search whose bound is less than `TOLERANCE` above the best solution, and takes reduced costs as small as that
for 0. So objectives are multiplied by a power of two, which changes no digit, until their largest number is
about a million, and bounds are raised by what the tolerance allows, in the search and for every variable
with a limit.
Larger ones stay: made smaller, their differences would be below the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, inf, ldexp

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock
from dualign._search.highs_process import TOLERANCE, ChildSolver, LinearProgram, Solver

RATE = 1_000_000
"""Entries of a program that can be built, handed over and looked through in a second, with some to spare."""

MAGNITUDE = 20
"""Binary digits before the point of the largest cost that HiGHS is given, if it has not more by itself."""


def fits(entries: float, seconds: float) -> bool:
    """Whether a program with that many entries can be built and begun within that time."""
    return entries <= RATE * seconds


@dataclass(frozen=True, slots=True)
class Solved:
    """How HiGHS ended: the values of the variables, if it found any, and an upper bound.

    The bound is −∞ if there is no solution at all. `ended` is false if the time limit stopped the search.
    """

    values: Array | None
    bound: float
    ended: bool
    nodes: int
    iterations: int


class Program:
    """Maximise `costs · v` over 0 ≤ v ≤ upper, some v whole numbers, with `low ≤ A v ≤ high`.

    Variables, constraints and entries of A are added in blocks before the first `solve`; afterwards
    `at_most` may still add single constraints, and `solve` goes on from there.
    """

    def __init__(self) -> None:
        self.variables = self.constraints = 0
        self._columns: list[tuple[Array, Array, Array]] = []
        self._rows: list[tuple[Array, Array]] = []
        self._entries: list[tuple[Array, Array, Array]] = []
        self._solver: Solver | ChildSolver | None = None
        self._scale = 1.0

    def add_variables(
        self, costs: Sequence[float] | Array, *, whole: bool = False, upper: float = 1.0
    ) -> Array:
        """Their numbers."""
        count, first = len(costs), self.variables
        self.variables += count
        self._columns.append((np.asarray(costs, np.float64), np.full(count, upper), np.full(count, whole)))
        return np.arange(first, self.variables)

    def add_constraints(self, low: Sequence[float] | Array, high: Sequence[float] | Array) -> Array:
        """Their numbers; no entries yet."""
        first = self.constraints
        self.constraints += len(low)
        self._rows.append((np.asarray(low, np.float64), np.asarray(high, np.float64)))
        return np.arange(first, self.constraints)

    def add_entries(self, rows: Array, columns: Array, values: float | Array) -> None:
        """`A[row, column] = value` for each of these pairs."""
        self._entries.append((rows, columns, np.broadcast_to(np.asarray(values, np.float64), len(rows))))

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add the constraint `Σ coefficients · v[columns] ≤ bound`."""
        if self._solver is None:
            (row,) = self.add_constraints([-inf], [bound])
            self.add_entries(np.full(len(columns), row), columns, coefficients)
        else:
            self._solver.at_most(bound, columns, coefficients)

    def solve(self, seconds: float = inf, gap: float = 1e-9) -> Solved:
        """The best solution found within that many seconds; the search stops at a gap of at most `gap`."""
        if self._solver is None and not fits(sum(len(rows) for rows, *_ in self._entries), seconds):
            return Solved(None, inf, False, 0, 0)
        clock = Clock(seconds)
        if self._solver is None:
            self._solver = Solver(self._model()) if seconds == inf else ChildSolver(self._model())
        found = self._solver.solve(max(0.0, clock.left), gap * self._scale)
        counts = found.nodes, found.iterations
        if found.status == "empty":
            low, high = _joined(self._rows, 2)
            if (low > 0).any() or (high < 0).any():
                return Solved(None, -inf, True, *counts)
            return Solved(np.zeros(0), 0.0, True, *counts)
        if found.status in ("infeasible", "unknown"):
            return Solved(None, found.bound, found.status == "infeasible", *counts)
        _, upper, _ = _joined(self._columns, 3)
        missed = TOLERANCE * (1 + float(upper[upper < inf].sum()))
        bound = (found.bound + missed) / self._scale
        return Solved(found.values, bound, found.status == "optimal", *counts)

    def _model(self) -> LinearProgram:
        costs, upper, whole = _joined(self._columns, 3)
        low, high = _joined(self._rows, 2)
        rows, columns, values = _joined(self._entries, 3)
        order = np.argsort(columns, kind="stable")
        self._scale = _scale(costs)
        start = np.searchsorted(columns[order], np.arange(self.variables + 1))
        return LinearProgram(
            costs * self._scale, upper, whole.astype(bool), low, high, start, rows[order], values[order]
        )


def _scale(costs: Array) -> float:
    """The power of two, at least 1, that brings the largest cost to `MAGNITUDE`."""
    _, exponent = frexp(np.abs(costs).max(initial=0.0))
    return ldexp(1.0, min(max(0, MAGNITUDE - exponent), 1000))


def _joined(blocks: Sequence[tuple[Array, ...]], parts: int) -> list[Array]:
    """The blocks end to end, part by part."""
    return [np.concatenate([np.zeros(0), *(block[k] for block in blocks)]) for k in range(parts)]
