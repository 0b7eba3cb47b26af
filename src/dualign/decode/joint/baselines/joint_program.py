"""`ilp`: the whole problem as one integer program, for HiGHS (MATH §2).

Each chain is a flow: f(i, j', j) ∈ {0, 1} is the transition from a_{i−1} = j' to a_i = j, and what enters a
cell leaves it. With x(i, j) = Σ_{j'} f(i, j', j), and y(i, j) alike from the other chain's flow, what links x
cost is linear, because a column holds one y: γ s + α p with s, p ≥ 0 and

    s(i, j) ≥ x(i, j) − y(i − 1, j) − y(i, j) − y(i + 1, j)          p(i, j) + s(i, j) ≥ x(i, j) − y(i, j)

(s = 0 if γ = −∞, p = 0 if α = −∞); for links y with the neighbours in the row. There are no other variables.
The flow of one chain alone is integral, so only x and y are declared so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.decode.joint.bound import prune_by_chains
from dualign.decode.joint.masks import all_allowed
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.outcome import Outcome
from dualign.decode.joint.primal import new_incumbent, offer
from dualign.search.dual import IMPOSSIBLE, NEVER


@dataclass(slots=True)
class Program:
    """Maximise costs · v, lower ≤ A v ≤ upper, v ≥ 0, entries of A as triples in blocks.

    `x`, `y` int64 (I + 1, J + 1): the variables x(i, j) and y(i, j); −1 for nulls, which have none.
    """

    costs: list[Array] = field(default_factory=list)
    integer: list[Array] = field(default_factory=list)
    variables: int = 0
    lower: list[Array] = field(default_factory=list)
    upper: list[Array] = field(default_factory=list)
    constraints: int = 0
    rows: list[Array] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    entries: list[Array] = field(default_factory=list)
    x: Array = field(default_factory=lambda: np.empty((0, 0), np.int64))
    y: Array = field(default_factory=lambda: np.empty((0, 0), np.int64))

    def add_variables(self, costs: Array, integer: bool = False) -> Array:
        """Their numbers."""
        first = self.variables
        self.variables += len(costs)
        self.costs.append(np.asarray(costs, np.float64))
        self.integer.append(np.full(len(costs), integer))
        return np.arange(first, self.variables)

    def add_constraints(self, lower: Array, upper: Array) -> Array:
        """Their numbers; no entries yet."""
        first = self.constraints
        self.constraints += len(lower)
        self.lower.append(np.asarray(lower, np.float64))
        self.upper.append(np.asarray(upper, np.float64))
        return np.arange(first, self.constraints)

    def add_entries(self, rows: Array, columns: Array, entry: float) -> None:
        """A[row, column] = entry for all pairs."""
        self.rows.append(rows)
        self.columns.append(columns)
        self.entries.append(np.full(len(rows), entry))


def add_chain(program: Program, theta: Array) -> Array:
    """One direction's flow; the variables of its cells, (n + 1, m + 1), −1 for null."""
    n, m = theta.shape[0], theta.shape[1] - 1
    allowed = theta > IMPOSSIBLE
    allowed[0, 1:] = False
    row, before, column = np.nonzero(allowed)
    flow = program.add_variables(theta[row, before, column])
    # Inner cells, nulls too: what enters leaves. One unit in all.
    cells = program.add_constraints(np.zeros((n - 1) * (m + 1)), np.zeros((n - 1) * (m + 1)))
    enters, leaves = row < n - 1, row > 0
    program.add_entries(cells[((m + 1) * row + column)[enters]], flow[enters], 1.0)
    program.add_entries(cells[((m + 1) * (row - 1) + before)[leaves]], flow[leaves], -1.0)
    unit = program.add_constraints(np.ones(1), np.ones(1))
    program.add_entries(np.repeat(unit, (row == 0).sum()), flow[row == 0], 1.0)
    names = np.full((n + 1, m + 1), -1, np.int64)
    names[1:, 1:] = program.add_variables(np.zeros(n * m), integer=True).reshape(n, m)
    sums = program.add_constraints(np.zeros(n * m), np.zeros(n * m)).reshape(n, m)
    linked = column > 0
    program.add_entries(sums[row[linked], column[linked] - 1], flow[linked], -1.0)
    program.add_entries(sums.ravel(), names[1:, 1:].ravel(), 1.0)
    return names


def add_costs(program: Program, x: Array, y: Array, alpha: float, gamma: float) -> None:
    """What links x cost, y being their counterparts in the same column; both (n + 1, m + 1)."""
    links = x[1:, 1:].ravel()
    count = len(links)
    least, no_more = np.full(count, -np.inf), np.zeros(count)
    unsupported = program.add_variables(np.full(count, gamma)) if gamma > IMPOSSIBLE else None
    if alpha < IMPOSSIBLE or alpha == gamma:
        # Only the exact counterpart helps.
        kinds: list[tuple[int, ...]] = [(0,)]
    else:
        kinds = [(-1, 0, 1)] if alpha == 0 else [(-1, 0, 1), (0,)]
    for offsets in kinds:
        rows = program.add_constraints(least, no_more)
        program.add_entries(rows, links, 1.0)
        for k in offsets:
            shifted = np.full_like(y, -1)
            shifted[max(1, 1 - k) : len(y) - max(0, k), 1:] = y[max(1, 1 + k) : len(y) + min(0, k), 1:]
            there = shifted[1:, 1:].ravel()
            program.add_entries(rows[there >= 0], there[there >= 0], -1.0)
        if unsupported is not None:
            program.add_entries(rows, unsupported, -1.0)
        if len(kinds) == 2 and offsets == (0,):
            program.add_entries(rows, program.add_variables(np.full(count, alpha)), -1.0)


def program_of(problem: Problem) -> Program:
    """The integer program."""
    program = Program()
    program.x = add_chain(program, problem.theta)
    program.y = np.ascontiguousarray(add_chain(program, problem.omega).T)
    add_costs(program, program.x, program.y, problem.alpha, problem.gamma)
    add_costs(program, program.y.T, program.x.T, problem.alpha, problem.gamma)
    return program


def highs_of(program: Program, tolerance: float, time_limit: float) -> Any:
    """HiGHS with the program in it: one thread, no output, a gap below the tolerance."""
    highspy: Any = import_module("highspy")
    rows, columns, entries = (
        np.concatenate(part) for part in (program.rows, program.columns, program.entries)
    )
    order = np.argsort(columns, kind="stable")
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.variables, program.constraints
    lp.col_cost_ = np.concatenate(program.costs)
    lp.col_lower_ = np.zeros(program.variables)
    lp.col_upper_ = np.ones(program.variables)
    lp.row_lower_, lp.row_upper_ = np.concatenate(program.lower), np.concatenate(program.upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = np.searchsorted(columns[order], np.arange(program.variables + 1)).astype(np.int32)
    lp.a_matrix_.index_ = rows[order].astype(np.int32)
    lp.a_matrix_.value_ = entries[order]
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(integer)] for integer in np.concatenate(program.integer)]
    lp.sense_ = highspy.ObjSense.kMaximize
    highs = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.5 * tolerance),
        ("time_limit", time_limit),
    ):
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    return highs


def read_chain(values: Array, names: Array) -> Array:
    """The chain, int64 (n + 1), that a solution's cells (n + 1, m + 1) say."""
    chosen = (names >= 0) & (values[names] > 0.5)
    return chosen.argmax(axis=1).astype(np.int64)


def search(problem: Problem, tolerance: float, time_limit: float | None = None) -> Outcome:
    """Build the program and solve it; when time is up, the best solution by then, and HiGHS's bound."""
    clock = Clock(time_limit)
    I, J = len(problem.theta), len(problem.omega)
    incumbent = new_incumbent(I, J)
    bound = float(prune_by_chains(problem, all_allowed(I, J), incumbent, tolerance))
    if bound < IMPOSSIBLE:
        return Outcome(incumbent, NEVER, 0, ())
    program = program_of(problem)
    highs = highs_of(program, tolerance, max(0.0, clock.left))
    highs.run()
    highspy: Any = import_module("highspy")
    status, info = highs.getModelStatus(), highs.getInfo()
    # Nothing is unbounded here.
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
        bound = NEVER
    else:
        bound = min(bound, float(info.mip_dual_bound))
        if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
            values = np.array(highs.getSolution().col_value)
            offer(problem, read_chain(values, program.x), read_chain(values, program.y.T), incumbent)
    score = float(incumbent.value[0])
    bound = max(bound, score)
    return Outcome(
        incumbent, bound, int(info.simplex_iteration_count), ((bound, score),), int(info.mip_node_count)
    )
