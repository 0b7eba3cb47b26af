"""`constrain`: the relaxation, safe pruning, and violated constraints put back (Chang et al. 2014, §5-6).

400 rounds of `relax` with pruning come first. If a gap remains, what pruning left becomes a `lattice`. Then
every 25 rounds the five constraints that were violated most are put back, as long as the lattice does not
grow too large. A round finds the best path through the lattice, and removes the edges that no good one uses.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign._search.dual import FACTOR, IMPOSSIBLE, NEVER, OPEN, ROUNDS, Record, descent, new_record, run
from dualign.decode.joint import relax
from dualign.decode.joint.bound import prune_by_chains, rounds_at_once
from dualign.decode.joint.feasible import JointOutcome, new_incumbent, outcome_of
from dualign.decode.joint.lattice import (
    LINK,
    UNSEEN,
    Constrained,
    Lattice,
    constrained_term,
    lattice_of,
    link_of,
    new_terms,
    sees,
    term_of,
    weigh_terms,
)
from dualign.decode.joint.model import JointProblem, all_allowed, compiled_propagate
from dualign.decode.joint.relax import MOST_ROUNDS, RULE, new_relaxation, only_choice, prune_arcs, slope
from dualign.decode.joint.tied_chain import STATES, SUPPORT

EVERY, AT_ONCE = 25, 5
"""Every 25 rounds, 5 constraints are put back."""

MOST_EDGES = 300_000
"""The lattice does not grow beyond this."""


@part
def best_path(state: Constrained) -> float:
    """The maximum over all paths, NEVER if there is none; the path into the relaxation's a, y and before.

    After `weigh_terms`; fills `best`.
    """
    relaxation, lattice, terms, best = state
    values, gamma = terms.values, relaxation.problem.gamma
    nodes = lattice.size[1]
    if nodes == 0:
        return NEVER
    back = np.empty(nodes, np.int32)
    best[:nodes] = NEVER
    best[0] = -relaxation.multipliers[0, 0]
    for e in range(lattice.size[0]):
        z = best[lattice.tail[e]] + lattice.fixed[e] + values[lattice.first[e]] + values[lattice.second[e]]
        if z > best[lattice.head[e]]:
            best[lattice.head[e]] = z
            back[lattice.head[e]] = e
    value = best[nodes - 1]
    if value < IMPOSSIBLE:
        return NEVER
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    a, y = relaxation.a, relaxation.y
    support = np.zeros(I + 2, np.int64)
    y[:] = 0
    v = nodes - 1
    while v > 0:
        e = back[v]
        i, j, before = link_of(lattice.first[e], terms)
        if i >= 0:
            y[i, j] = 1
            relaxation.before[i, j] = before if before >= 0 else terms.before[i, j]
        if lattice.cell[v] >= 0:
            i = lattice.cell[v] // STATES // (J + 1)
            a[i] = lattice.cell[v] // STATES % (J + 1)
            support[i] = SUPPORT[lattice.cell[v] % STATES]
        v = lattice.tail[e]
    if gamma > IMPOSSIBLE:
        for j in range(1, J + 1):
            only = only_choice(relaxation.masks, j)
            for i in range(1, I + 1):
                if not sees(a[i], j):
                    y[i, j] = i == only or relaxation.rho[i, j] + gamma > 0
                    if i > 1 and a[i - 1] == j:
                        y[i, j] = support[i - 1] == 1
                    if i < I and a[i + 1] == j:
                        y[i, j] = support[i + 1] == -1
    return value


@part
def prune_edges(state: Constrained, least: float) -> None:
    """Remove the edges, and the predecessors, that no solution of score ≥ `least` uses; after `best_path`."""
    relaxation, lattice, terms, best = state
    tail, head, fixed, first, second, _, size = lattice
    values, most = terms.values, terms.most
    least = max(least, IMPOSSIBLE)
    nodes = size[1]
    after = np.full(nodes, NEVER)
    after[nodes - 1] = 0.0
    for e in range(size[0] - 1, -1, -1):
        z = after[head[e]] + fixed[e] + values[first[e]] + values[second[e]]
        after[tail[e]] = max(after[tail[e]], z)
    most[:] = NEVER
    kept = 0
    for e in range(size[0]):
        z = best[tail[e]] + fixed[e] + values[first[e]] + values[second[e]] + after[head[e]]
        if z < least:
            continue
        most[first[e]] = max(most[first[e]], z)
        tail[kept], head[kept], fixed[kept] = tail[e], head[e], fixed[e]
        first[kept], second[kept] = first[e], second[e]
        kept += 1
    size[0] = kept
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    for i in range(I + 1):
        for j in range(1, J + 1):
            term = term_of(LINK, i, j, terms)
            # The most that a solution with y(i, j) is worth, apart from y(i, j) itself.
            rest = most[term] - values[term] if most[term] > IMPOSSIBLE else NEVER
            if relaxation.problem.gamma > IMPOSSIBLE and i > 0 and relaxation.rho[i, j] > IMPOSSIBLE:
                for c in range(J + 1):
                    if not sees(c, j):
                        rest = max(rest, most[term_of(UNSEEN, i, c, terms)] - relaxation.rho[i, j])
            prune_arcs(relaxation, i, j, rest, least)


@part
def evaluate(state: Constrained) -> tuple[float, float]:
    """The best path, and the squared norm of what it violates."""
    weigh_terms(state.terms, state.relaxation)
    value = best_path(state)
    return value, slope(state.relaxation) if value > IMPOSSIBLE else 0.0


@part
def improve(state: Constrained, record: Record, t: int, norm: float) -> float:
    """As in the relaxation."""
    return relax.improve(state.relaxation, record, t, norm)


@part
def prune(state: Constrained, value: float, least: float) -> bool:
    """Remove the edges of the lattice that no good solution uses."""
    prune_edges(state, least)
    return True


@part
def move(state: Constrained, step: float) -> None:
    """As in the relaxation."""
    relax.move(state.relaxation, step)


descend = descent(evaluate, improve, move, RULE, prune=prune)
"""`descend(state, record, rounds, tolerance)`: rounds on the lattice."""


@part(allocates=False)
def changes(term: int, state: Constrained, open_: Array, column: int, row: int) -> int:
    """Whether an edge with that term can change the count of the constraint (column, row) by −1 (then 1 is
    part of the answer), not change it (2), or change it by 1 (4)."""
    terms, arcs, y = state.terms, state.relaxation.arcs, state.relaxation.masks.y
    columns, unseen = terms.before.shape[1], term_of(UNSEEN, 0, 0, terms)
    if unseen <= term < constrained_term(0, 0, terms):
        i, j = (term - unseen) // columns, (term - unseen) % columns
        more = i == row and y[i, column] and not sees(j, column)
        less = arcs[column, row, i] and y[i, column + 1] and not sees(j, column + 1)
        return (1 if less else 0) + 2 + (4 if more else 0)
    i, j, before = link_of(term, terms)
    if i == row and j == column:
        return 4
    if i < 0 or before >= 0 or j != column + 1:
        return 2
    return (1 if arcs[column, row, i] else 0) + (2 if open_[i] else 0)


@kernel
def survivors(state: Constrained, column: int, row: int) -> tuple[Array, Array]:
    """How each edge can change the count of a constraint, uint8 (E) as in `changes`; and which copies of the
    nodes, bool (N, 3) for counts −1, 0, 1, are on a path that begins and ends with the right count."""
    relaxation, lattice, terms, _ = state
    edges, nodes = lattice.size
    rows = terms.before.shape[0]
    # Whether links of the next column keep another predecessor that no constraint speaks of.
    open_ = np.zeros(rows, np.bool_)
    for i in range(rows):
        for p in range(rows):
            if p != row and relaxation.arcs[column, p, i] and not relaxation.active[column, p]:
                open_[i] |= column == 0 or relaxation.masks.y[p, column] > 0
    reached, needed = np.zeros((nodes, 3), np.bool_), np.zeros((nodes, 3), np.bool_)
    reached[0, 2 if column == 0 else 1] = True  # y(0, 0) = 1 is counted before the path begins
    needed[nodes - 1, 1] = True
    change = np.empty(edges, np.uint8)
    for e in range(edges):
        change[e] = changes(lattice.first[e], state, open_, column, row)
        for d in range(3):
            for f in range(max(0, d - 1), min(2, d + 1) + 1):
                if change[e] >> (f - d + 1) & 1 and reached[lattice.tail[e], d]:
                    reached[lattice.head[e], f] = True
    for e in range(edges - 1, -1, -1):
        for d in range(3):
            for f in range(max(0, d - 1), min(2, d + 1) + 1):
                if change[e] >> (f - d + 1) & 1 and needed[lattice.head[e], f]:
                    needed[lattice.tail[e], d] = True
    return change, reached & needed


def intersect(state: Constrained, column: int, row: int, room: int) -> Constrained | None:
    """Put back the constraint (column, row), O(edges); None if no path is left, or more than `room` edges."""
    relaxation, lattice, terms, _ = state
    edges, nodes = (int(size) for size in lattice.size)
    q = int(terms.number[0])
    if nodes == 0 or q == len(terms.constraints):
        return None
    change, kept = survivors(state, column, row)
    name = np.full((nodes, 3), -1, np.int32)
    name[kept] = np.arange(kept.sum())
    tail, head = lattice.tail[:edges], lattice.head[:edges]
    # Edges between copies (edge, count before, count after), in the order of the edges.
    possible = np.zeros((edges, 3, 3), bool)
    for d in range(3):
        for f in range(max(0, d - 1), min(2, d + 1) + 1):
            possible[:, d, f] = (change >> (f - d + 1) & 1 > 0) & kept[tail, d] & kept[head, f]
    e, before, after = np.nonzero(possible)
    if len(e) > room:
        return None
    first = lattice.first[e]
    # A link that lowers the count has the predecessor that the constraint speaks of.
    rows, columns = terms.before.shape
    lower = np.flatnonzero((first <= rows * columns) & (after < before))
    first[lower] = 1 + 4 * rows * columns + rows * q + (first[lower] - 1) // columns
    terms.constraints[q] = column, row
    terms.number[0] = q + 1
    relaxation.active[column, row] = 1
    smaller = Lattice(
        name[tail[e], before], name[head[e], after], lattice.fixed[e], first, lattice.second[e],
        lattice.cell[np.nonzero(kept)[0]], np.array([len(e), kept.sum()]),
    )  # fmt: skip
    return state._replace(lattice=smaller, best=np.empty(int(kept.sum())))


def put_back(state: Constrained) -> tuple[bool, Constrained]:
    """Put back the constraints that were violated most; False if the lattice would grow too large."""
    relaxation = state.relaxation
    violations: Array = np.where(relaxation.active > 0, 0.0, relaxation.violations)
    for place in np.argsort(-violations, axis=None, kind="stable")[:AT_ONCE]:
        column, row = (int(k) for k in np.unravel_index(place, violations.shape))
        if violations[column, row] == 0:
            break
        if (found := intersect(state, column, row, MOST_EDGES)) is None:
            return False, state
        state = found
    return True, state


def search(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """400 rounds without constraints, 400 with. The bound need not meet the score."""
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record(2 * MOST_ROUNDS)
    plain = float(prune_by_chains(problem, masks, incumbent, tolerance))
    if plain < IMPOSSIBLE or not compiled_propagate(masks, problem.gamma < IMPOSSIBLE):
        return JointOutcome(incumbent, float(incumbent.value[0]))
    relaxation = new_relaxation(problem, masks, incumbent)
    state: Constrained | None = None

    def advance(rounds: int) -> int:
        if state is None:
            return relax.descend_and_prune(relaxation, record, rounds, tolerance)
        return descend(state, record, rounds, tolerance)

    chunk = min(EVERY, rounds_at_once(I, J))
    status = OPEN if clock.is_over else run(advance, record, MOST_ROUNDS, chunk, clock)
    if status == OPEN and not clock.is_over and relax.compiled_value_of(relaxation) > IMPOSSIBLE:
        terms = new_terms(I, J, AT_ONCE * (MOST_ROUNDS // EVERY))
        lattice = lattice_of(relaxation, terms, MOST_EDGES)
        if growing := int(lattice.size.max()) <= MOST_EDGES:
            state = Constrained(relaxation, lattice, terms, np.empty(lattice.size[1]))
        while status == OPEN and record.numbers[ROUNDS] < 2 * MOST_ROUNDS and not clock.is_over:
            if growing and state is not None:
                growing, state = put_back(state)
                record.numbers[FACTOR] = 1.0
            most = min(2 * MOST_ROUNDS, int(record.numbers[ROUNDS]) + EVERY)
            status = run(advance, record, most, chunk, clock)
    return outcome_of(incumbent, plain, record, int(relaxation.active.sum()))
