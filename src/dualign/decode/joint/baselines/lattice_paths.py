"""Paths through a lattice: the best one, edges that no good one uses, and constraints that all must meet."""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign.decode.joint.baselines.lattice import (
    LINK,
    UNSEEN,
    Lattice,
    Terms,
    constrained_term,
    link_of,
    sees,
    term_of,
)
from dualign.decode.joint.baselines.relax import JointRelaxation, only_choice
from dualign.decode.joint.tied_chain import STATES, SUPPORT


@part
def best_path(lattice: Lattice, terms: Terms, relaxation: JointRelaxation, best: Array) -> float:
    """The maximum over all paths, NEVER if there is none; the path into `relaxation`'s a, y and before.

    After `weigh_terms`. `best` float64 (N): the best way to each node.
    """
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
def prune_edges(
    lattice: Lattice, terms: Terms, relaxation: JointRelaxation, best: Array, least: float
) -> None:
    """Remove the edges, and the predecessors, that no solution of score ≥ `least` uses; after `best_path`."""
    tail, head, fixed, first, second, _, size = lattice
    values, most, problem = terms.values, terms.most, relaxation.problem
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
            if problem.gamma > IMPOSSIBLE and i > 0 and relaxation.rho[i, j] > IMPOSSIBLE:
                for c in range(J + 1):
                    if not sees(c, j):
                        rest = max(rest, most[term_of(UNSEEN, i, c, terms)] - relaxation.rho[i, j])
            own = relaxation.multipliers[j, i] if j < J else 0.0
            for p in range(I + 1):
                if relaxation.arcs[j - 1, p, i] and not terms.active[j - 1, p]:
                    z = problem.omega[j - 1, p, i] + relaxation.multipliers[j - 1, p] - own
                    if rest + z < least:
                        relaxation.arcs[j - 1, p, i] = 0


@part(allocates=False)
def changes(term: int, terms: Terms, relaxation: JointRelaxation, open_: Array, column: int, row: int) -> int:
    """Whether an edge with that term can change the count of the constraint (column, row) by −1 (then 1 is
    part of the answer), not change it (2), or change it by 1 (4)."""
    columns = terms.before.shape[1]
    arcs, y, unseen = relaxation.arcs, relaxation.masks.y, term_of(UNSEEN, 0, 0, terms)
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
def survivors(
    lattice: Lattice, terms: Terms, relaxation: JointRelaxation, column: int, row: int
) -> tuple[Array, Array]:
    """How each edge can change the count of a constraint, uint8 (E) as in `changes`; and which copies of the
    nodes, bool (N, 3) for counts −1, 0, 1, are on a path that begins and ends with the right count."""
    edges, nodes = lattice.size
    rows = terms.before.shape[0]
    # Whether links of the next column keep another predecessor that no constraint speaks of.
    open_ = np.zeros(rows, np.bool_)
    for i in range(rows):
        for p in range(rows):
            if p != row and relaxation.arcs[column, p, i] and not terms.active[column, p]:
                open_[i] |= column == 0 or relaxation.masks.y[p, column] > 0
    reached, needed = np.zeros((nodes, 3), np.bool_), np.zeros((nodes, 3), np.bool_)
    reached[0, 2 if column == 0 else 1] = True  # y(0, 0) = 1 is counted before the path begins
    needed[nodes - 1, 1] = True
    change = np.empty(edges, np.uint8)
    for e in range(edges):
        change[e] = changes(lattice.first[e], terms, relaxation, open_, column, row)
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


def intersect(
    lattice: Lattice, terms: Terms, relaxation: JointRelaxation, column: int, row: int, room: int
) -> tuple[bool, Lattice]:
    """Put back the constraint (column, row), unless no path is left or there would be more than `room` edges:
    whether it was done, and the lattice. O(edges)."""
    edges, nodes = (int(size) for size in lattice.size)
    q = int(terms.number[0])
    if nodes == 0 or q == len(terms.constraints):
        return False, lattice
    change, kept = survivors(lattice, terms, relaxation, column, row)
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
        return False, lattice
    first = lattice.first[e]
    # A link that lowers the count has the predecessor that the constraint speaks of.
    rows, columns = terms.before.shape
    lower = np.flatnonzero((first <= rows * columns) & (after < before))
    first[lower] = 1 + 4 * rows * columns + rows * q + (first[lower] - 1) // columns
    terms.constraints[q] = column, row
    terms.number[0] = q + 1
    terms.active[column, row] = 1
    return True, Lattice(
        name[tail[e], before], name[head[e], after], lattice.fixed[e], first, lattice.second[e],
        lattice.cell[np.nonzero(kept)[0]], np.array([len(e), kept.sum()]),
    )  # fmt: skip
