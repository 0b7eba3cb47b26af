"""`ilp`: the whole problem as one integer program, for HiGHS (Chang et al. 2014, §4; docs/agreement.md).

Each chain is a flow: f(i, j', j) ∈ {0, 1} is the transition from a_{i−1} = j' to a_i = j, and what enters a
cell leaves it. With x(i, j) = Σ_{j'} f(i, j', j), and y(i, j) likewise from the other chain's flow, what
links x cost is linear, because a column holds one y: γ s + α p with s, p ≥ 0 and

    s(i, j) ≥ x(i, j) − y(i − 1, j) − y(i, j) − y(i + 1, j)          p(i, j) + s(i, j) ≥ x(i, j) − y(i, j)

(s = 0 if γ = −∞, p = 0 if α = −∞); for links y with the neighbours in the row. There are no other variables.
The flow of a single chain is integral, so only x and y are declared integral.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign._search.highs import Program, fits
from dualign.decode.joint.bound import prune_by_chains
from dualign.decode.joint.feasible import JointOutcome, compiled_offer, new_incumbent
from dualign.decode.joint.model import JointProblem, all_allowed

ENTRIES = 3
"""Entries of the program for each transition of a chain, about."""


def add_chain(program: Program, theta: Array) -> Array:
    """One direction's flow; the variables of its cells, (n + 1, m + 1), −1 for null."""
    n, m = theta.shape[0], theta.shape[1] - 1
    allowed = theta > IMPOSSIBLE
    allowed[0, 1:] = False
    row, before, column = np.nonzero(allowed)
    flow = program.add_variables(theta[row, before, column])
    # In inner cells, nulls too, what enters leaves. The whole flow is one unit.
    cells = program.add_constraints(np.zeros((n - 1) * (m + 1)), np.zeros((n - 1) * (m + 1)))
    enters, leaves = row < n - 1, row > 0
    program.add_entries(cells[((m + 1) * row + column)[enters]], flow[enters], 1.0)
    program.add_entries(cells[((m + 1) * (row - 1) + before)[leaves]], flow[leaves], -1.0)
    unit = program.add_constraints(np.ones(1), np.ones(1))
    program.add_entries(np.repeat(unit, (row == 0).sum()), flow[row == 0], 1.0)
    names = np.full((n + 1, m + 1), -1, np.int64)
    names[1:, 1:] = program.add_variables(np.zeros(n * m), whole=True).reshape(n, m)
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


def program_of(problem: JointProblem) -> tuple[Program, Array, Array]:
    """The integer program, and its variables x and y, int64 (I + 1, J + 1); nulls have none, −1."""
    program = Program()
    x = add_chain(program, problem.theta)
    y = np.ascontiguousarray(add_chain(program, problem.omega).T)
    add_costs(program, x, y, problem.alpha, problem.gamma)
    add_costs(program, y.T, x.T, problem.alpha, problem.gamma)
    return program, x, y


def read_chain(values: Array, names: Array) -> Array:
    """The chain, int64 (n + 1), that a solution chooses among the cells `names` (n + 1, m + 1)."""
    chosen = (names >= 0) & (values[names] > 0.5)
    return chosen.argmax(axis=1).astype(np.int64)


def search(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """Build the program and solve it; when time is up, the best solution by then, and HiGHS's bound."""
    I, J = len(problem.theta), len(problem.omega)
    incumbent = new_incumbent(I, J)
    bound = float(prune_by_chains(problem, all_allowed(I, J), incumbent, tolerance))
    if bound < IMPOSSIBLE:
        return JointOutcome(incumbent, NEVER)
    score = float(incumbent.value[0])
    flows = sum(int((part > IMPOSSIBLE).sum()) for part in (problem.theta, problem.omega))
    if not fits(ENTRIES * flows, clock.left):
        return JointOutcome(incumbent, max(bound, score), 0, ((max(bound, score), score),))
    program, x, y = program_of(problem)
    found = program.solve(clock.left, 0.5 * tolerance)
    if found.values is not None:
        compiled_offer(problem, read_chain(found.values, x), read_chain(found.values, y.T), incumbent)
    score = float(incumbent.value[0])
    bound = min(bound, found.bound)
    return JointOutcome(incumbent, bound, found.iterations, ((max(bound, score), score),), found.nodes)
