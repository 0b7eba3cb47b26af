"""Linear and integer programs on HiGHS: built in blocks, solved on one thread, within a time limit.

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
from importlib import import_module
from math import frexp, inf, ldexp
from threading import Thread
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock

RATE = 1_000_000
"""Entries of a program that can be built, handed over and looked through in a second, with some to spare."""

TOLERANCE = 1e-7
"""What HiGHS takes for 0 in an objective."""

MAGNITUDE = 20
"""Binary digits before the point of the largest cost that HiGHS is given, if it has not more by itself."""

LATE = 0.03, 0.05
"""HiGHS may exceed its time limit by these seconds, or this share of it; then it is left to itself."""


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
        self._solver: Any = None
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
            self._solver.addRow(
                -inf, bound, len(columns), columns.astype(np.int32), coefficients.astype(np.float64)
            )

    def solve(self, seconds: float = inf, gap: float = 1e-9) -> Solved:
        """The best solution found within that many seconds; the search stops at a gap of at most `gap`."""
        if self._solver is None and not fits(sum(len(rows) for rows, *_ in self._entries), seconds):
            return Solved(None, inf, False, 0, 0)
        highspy: Any = import_module("highspy")
        clock = Clock(seconds)
        if self._solver is None:
            self._solver = highspy.Highs()
            for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
                self._solver.setOptionValue(name, value)
            for name in ("mip_feasibility_tolerance", "dual_feasibility_tolerance"):
                self._solver.setOptionValue(name, TOLERANCE)
            self._solver.passModel(self._model(highspy))
        solver = self._solver
        solver.setOptionValue("mip_abs_gap", gap * self._scale)
        solver.setOptionValue("time_limit", max(0.0, clock.left))
        if not _run(solver, clock.left):
            self._solver = None  # somebody else's now
            return Solved(None, inf, False, 0, 0)
        status, info, statuses = solver.getModelStatus(), solver.getInfo(), highspy.HighsModelStatus
        nodes, iterations = max(0, int(info.mip_node_count)), max(0, int(info.simplex_iteration_count))
        if status == statuses.kModelEmpty:
            low, high = _joined(self._rows, 2)
            if (low > 0).any() or (high < 0).any():
                return Solved(None, -inf, True, nodes, iterations)
            return Solved(np.zeros(0), 0.0, True, nodes, iterations)
        # No objective here grows without limit, so "unbounded or infeasible" means infeasible.
        if status in (statuses.kInfeasible, statuses.kUnboundedOrInfeasible):
            return Solved(None, -inf, True, nodes, iterations)
        if status not in (statuses.kOptimal, statuses.kTimeLimit):
            # Numerical trouble: nothing is known.
            return Solved(None, inf, False, nodes, iterations)
        feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.array(solver.getSolution().col_value) if feasible else None
        ended = status == statuses.kOptimal
        if any(whole.any() for *_, whole in self._columns):
            bound = float(info.mip_dual_bound)
        else:
            bound = float(info.objective_function_value) if ended else inf
        _, upper, _ = _joined(self._columns, 3)
        missed = TOLERANCE * (1 + float(upper[upper < inf].sum()))
        return Solved(values, (bound + missed) / self._scale, ended, nodes, iterations)

    def _model(self, highspy: Any) -> Any:
        costs, upper, whole = _joined(self._columns, 3)
        low, high = _joined(self._rows, 2)
        rows, columns, values = _joined(self._entries, 3)
        order = np.argsort(columns, kind="stable")
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = self.variables, self.constraints
        model.sense_ = highspy.ObjSense.kMaximize
        self._scale = _scale(costs)
        model.col_cost_, model.col_lower_, model.col_upper_ = costs * self._scale, np.zeros(len(costs)), upper
        model.row_lower_, model.row_upper_ = low, high
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.searchsorted(columns[order], np.arange(self.variables + 1)).astype(
            np.int32
        )
        model.a_matrix_.index_ = rows[order].astype(np.int32)
        model.a_matrix_.value_ = values[order]
        if whole.any():
            kinds = np.array([highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger])
            model.integrality_ = kinds[whole.astype(np.int64)].tolist()
        return model


def _scale(costs: Array) -> float:
    """The power of two, at least 1, that brings the largest cost to `MAGNITUDE`."""
    _, exponent = frexp(np.abs(costs).max(initial=0.0))
    return ldexp(1.0, min(max(0, MAGNITUDE - exponent), 1000))


def _run(solver: Any, seconds: float) -> bool:
    """Run HiGHS, which looks at the clock now and then; False if it does not end when it should."""
    if seconds == inf:
        solver.run()
        return True
    thread = Thread(target=solver.run, daemon=True)
    thread.start()
    thread.join(max(0.0, seconds) + max(LATE[0], LATE[1] * seconds))
    return not thread.is_alive()


def _joined(blocks: Sequence[tuple[Array, ...]], parts: int) -> list[Array]:
    """The blocks end to end, part by part."""
    return [np.concatenate([np.zeros(0), *(block[k] for block in blocks)]) for k in range(parts)]
