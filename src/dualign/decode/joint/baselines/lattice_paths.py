"""Paths through a lattice: the best one, edges that no good one uses, and constraints that all must meet."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.lattice import Lattice, new_lattice
from dualign.decode.joint.baselines.lattice_terms import Terms, link_of, sees
from dualign.decode.joint.baselines.relax import Relaxation, only_choice
from dualign.decode.joint.masks import Masks
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.tied_states import STATES, SUPPORT
from dualign.search.dual import IMPOSSIBLE, NEVER


@kernel()
def best_path(
    lattice: Lattice, terms: Terms, relaxation: Relaxation, problem: Problem, masks: Masks, best: Array
) -> float:
    """The maximum over all paths, NEVER if there is none; the path into `relaxation`'s a, y and before.

    After `weigh_terms`. `best` float64 (N): the best way to each node.
    """
    values, gamma = terms.values, problem.gamma
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
            only = only_choice(masks, j)
            for i in range(1, I + 1):
                if not sees(a[i], j):
                    y[i, j] = i == only or relaxation.rho[i, j] + gamma > 0
                    if i > 1 and a[i - 1] == j:
                        y[i, j] = support[i - 1] == 1
                    if i < I and a[i + 1] == j:
                        y[i, j] = support[i + 1] == -1
    return value


@kernel()
def prune_edges(
    lattice: Lattice, terms: Terms, relaxation: Relaxation, problem: Problem, best: Array, least: float
) -> None:
    """Remove the edges, and the predecessors, that no solution of score ≥ `least` uses; after `best_path`."""
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
    K = (I + 1) * (J + 1)
    for i in range(I + 1):
        for j in range(1, J + 1):
            term = 1 + (J + 1) * i + j
            # The most that a solution with y(i, j) is worth, apart from y(i, j) itself.
            rest = most[term] - values[term] if most[term] > IMPOSSIBLE else NEVER
            if problem.gamma > IMPOSSIBLE and i > 0 and relaxation.rho[i, j] > IMPOSSIBLE:
                for c in range(J + 1):
                    if not sees(c, j):
                        rest = max(rest, most[1 + 3 * K + (J + 1) * i + c] - relaxation.rho[i, j])
            own = relaxation.multipliers[j, i] if j < J else 0.0
            for p in range(I + 1):
                if relaxation.arcs[j - 1, p, i] and not terms.active[j - 1, p]:
                    z = problem.omega[j - 1, p, i] + relaxation.multipliers[j - 1, p] - own
                    if rest + z < least:
                        relaxation.arcs[j - 1, p, i] = 0


@kernel()
def changes(
    term: int, terms: Terms, arcs: Array, masks: Masks, open_: Array, column: int, row: int
) -> tuple[bool, bool, bool]:
    """Whether an edge with that term can change the count of the constraint (column, row) by −1, 0, 1."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    K = (I + 1) * (J + 1)
    if 3 * K < term <= 4 * K:
        i, j = (term - 1 - 3 * K) // (J + 1), (term - 1 - 3 * K) % (J + 1)
        more = i == row and masks.y[i, column] and not sees(j, column)
        less = arcs[column, row, i] and masks.y[i, column + 1] and not sees(j, column + 1)
        return less, True, more
    i, j, before = link_of(term, terms)
    if i < 0:
        return False, True, False
    if i == row and j == column:
        return False, False, True
    if before >= 0 or j != column + 1:
        return False, True, False
    return arcs[column, row, i], open_[i], False


@kernel()
def intersect(
    lattice: Lattice, terms: Terms, arcs: Array, masks: Masks, column: int, row: int, room: int
) -> tuple[bool, Lattice]:
    """Put back the constraint (column, row), unless no path is left or there would be more than `room` edges:
    whether it was done, and the lattice. O(edges)."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    K = (I + 1) * (J + 1)
    edges, nodes = lattice.size
    q = terms.number[0]
    if nodes == 0 or q == len(terms.constraints):
        return False, lattice
    # Whether links of the next column keep another predecessor that no constraint speaks of.
    open_ = np.zeros(I + 1, np.bool_)
    for i in range(I + 1):
        for p in range(I + 1):
            if p != row and arcs[column, p, i] and not terms.active[column, p]:
                open_[i] |= column == 0 or masks.y[p, column] > 0
    # Counts −1, 0, 1 are 0, 1, 2 here; y(0, 0) = 1 is counted before the path begins.
    reached, needed = np.zeros((nodes, 3), np.bool_), np.zeros((nodes, 3), np.bool_)
    reached[0, 2 if column == 0 else 1] = True
    needed[nodes - 1, 1] = True
    change = np.empty((edges, 3), np.bool_)
    for e in range(edges):
        change[e, 0], change[e, 1], change[e, 2] = changes(
            lattice.first[e], terms, arcs, masks, open_, column, row
        )
        for d in range(3):
            for f in range(max(0, d - 1), min(2, d + 1) + 1):
                if change[e, f - d + 1] and reached[lattice.tail[e], d]:
                    reached[lattice.head[e], f] = True
    for e in range(edges - 1, -1, -1):
        for d in range(3):
            for f in range(max(0, d - 1), min(2, d + 1) + 1):
                if change[e, f - d + 1] and needed[lattice.head[e], f]:
                    needed[lattice.tail[e], d] = True
    name = np.full((nodes, 3), -1, np.int32)
    used = 0
    for v in range(nodes):
        for d in range(3):
            if reached[v, d] and needed[v, d]:
                name[v, d] = used
                used += 1
    count = 0
    for writing in range(2):
        if writing:
            if count > room:
                return False, lattice
            out = new_lattice(count, used)
            out.size[0], out.size[1] = count, used
            count = 0
        for e in range(edges):
            tail, head = lattice.tail[e], lattice.head[e]
            for d in range(3):
                for f in range(max(0, d - 1), min(2, d + 1) + 1):
                    if name[tail, d] < 0 or name[head, f] < 0 or not change[e, f - d + 1]:
                        continue
                    if writing:
                        out.tail[count], out.head[count] = name[tail, d], name[head, f]
                        out.fixed[count], out.second[count] = lattice.fixed[e], lattice.second[e]
                        out.first[count] = lattice.first[e]
                        i = link_of(lattice.first[e], terms)[0]
                        if i >= 0 and f < d:
                            out.first[count] = 1 + 4 * K + (I + 1) * q + i
                    count += 1
    for v in range(nodes):
        for d in range(3):
            if name[v, d] >= 0:
                out.cell[name[v, d]] = lattice.cell[v]
    terms.constraints[q, 0], terms.constraints[q, 1] = column, row
    terms.number[0] = q + 1
    terms.active[column, row] = 1
    return True, out
