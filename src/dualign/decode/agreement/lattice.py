"""The relaxed problem as a lattice, so that constraints can be put back by intersection (Chang et al. 2014, §5).

A path from the first node to the last is one solution of the relaxation (`dualign.decode.agreement.relax`). It
decides the nulls y(0, j), then row after row: the column a_i, its state, and one by one the links y(i, j) that
are chosen, with a predecessor each. An edge holds a fixed weight and up to two terms that depend on the
multipliers.

A constraint (j, i) says that y(i, j) and the links in column j + 1 whose predecessor is i are equally many. Its
count along a path is −1, 0 or 1 (a column holds one link) and 0 in the end, so putting it back means three copies
of every node, of which those survive that are on some path that begins and ends with the right count. A link of
column j + 1 then has predecessor i on one edge and the best of all others on another.

In soft agreement a row also has links out of its sight (`dualign.decode.agreement.chain`). They have one edge
together, which counts them or not, as it likes: what they are worth depends on what neighbouring rows insist on,
which a path has forgotten by then. So constraints hold for what rows see, and the bound stays valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.agreement.chain import IMPOSSIBLE, NEVER, share_of
from dualign.decode.agreement.masks import Masks
from dualign.decode.agreement.problem import Problem
from dualign.decode.agreement.relax import Relaxation, only_choice, predecessors
from dualign.decode.agreement.states import FITS, OFFSETS, STATES, SUPPORT

__all__ = [
    "Lattice",
    "Terms",
    "best_path",
    "intersect",
    "lattice_of",
    "new_terms",
    "prune_edges",
    "weigh_terms",
]


class Lattice(NamedTuple):
    """`tail`, `head` int32 (E), tails before heads in the order of edges; `fixed` float64 (E); `first`, `second`
    int32 (E): terms, 0 = none, a link's always first. `cell` int32 (N): 16 · ((J + 1) · i + j) + s where a node
    decides that a_i = j in state s, else −1. `size` int64 (2): edges and nodes in use."""

    tail: Array
    head: Array
    fixed: Array
    first: Array
    second: Array
    cell: Array
    size: Array


class Terms(NamedTuple):
    """What edges refer to. With K = (I + 1)(J + 1) and k = (J + 1) · i + j, of whatever i and j:

    1 + k: y(i, j) with the best predecessor that no constraint speaks of; 1 + K + k, 1 + 2K + k: what insisting
    on y(i, j), or on its absence, costs; 1 + 3K + k: all links that row i does not see from column j;
    1 + 4K + (I + 1) · q + i: y(i, j + 1) with the predecessor that constraint q = (j, i') speaks of.

    `values`, `most` float64: their values and max-marginals; `before` int32 (I + 1, J + 1): those best
    predecessors; `constraints` int64 (…, 2), `number` int64 (1): how many there are; `active` uint8
    (J + 1, I + 1): the same as a mask.
    """

    values: Array
    most: Array
    before: Array
    constraints: Array
    number: Array
    active: Array


def new_terms(I: int, J: int, room: int) -> Terms:
    """No constraints yet, room for so many."""
    total = 1 + 4 * (I + 1) * (J + 1) + room * (I + 1)
    return Terms(
        np.zeros(total), np.zeros(total), np.zeros((I + 1, J + 1), np.int32),
        np.zeros((room, 2), np.int64), np.zeros(1, np.int64), np.zeros((J + 1, I + 1), np.uint8),
    )  # fmt: skip


@kernel()
def link_of(term: int, terms: Terms) -> tuple[int, int, int]:
    """Row, column and predecessor of a link's term; predecessor −1: the best; row −1: not a link's."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    K = (I + 1) * (J + 1)
    if 1 <= term <= K:
        return (term - 1) // (J + 1), (term - 1) % (J + 1), -1
    if term > 4 * K:
        q, i = (term - 1 - 4 * K) // (I + 1), (term - 1 - 4 * K) % (I + 1)
        return i, terms.constraints[q, 0] + 1, terms.constraints[q, 1]
    return -1, -1, -1


@kernel()
def sees(j: int, c: int) -> bool:
    """Whether a row in column j sees its links in column c."""
    return j > 0 and abs(c - j) <= 1


@kernel()
def weigh_terms(terms: Terms, relaxation: Relaxation, problem: Problem, masks: Masks) -> None:
    """All values at these multipliers."""
    theta, omega, _, gamma = problem
    I, J = len(theta), len(omega)
    K = (I + 1) * (J + 1)
    multipliers, arcs, rho, values = relaxation.multipliers, relaxation.arcs, relaxation.rho, terms.values
    predecessors(relaxation, problem, masks)
    for j in range(1, J + 1):
        for i in range(I + 1):
            values[1 + (J + 1) * i + j] = rho[i, j]
            terms.before[i, j] = relaxation.before[i, j]
        if terms.active[j - 1].any():
            for i in range(I + 1):
                most = NEVER
                if masks.y[i, j]:
                    for p in range(I + 1 if j > 1 else 1):
                        if arcs[j - 1, p, i] and not terms.active[j - 1, p] and (j == 1 or masks.y[p, j - 1]):
                            z = omega[j - 1, p, i] + multipliers[j - 1, p]
                            if z > most:
                                most = z
                                terms.before[i, j] = p
                values[1 + (J + 1) * i + j] = most - (multipliers[j, i] if j < J else 0.0)
    for q in range(terms.number[0]):
        j, p = terms.constraints[q, 0] + 1, terms.constraints[q, 1]
        for i in range(I + 1):
            own = multipliers[j, i] if j < J else 0.0
            values[1 + 4 * K + (I + 1) * q + i] = omega[j - 1, p, i] + multipliers[j - 1, p] - own
    if gamma < IMPOSSIBLE:
        return
    for j in range(1, J + 1):
        only = only_choice(masks, j)
        for i in range(1, I + 1):
            k = (J + 1) * i + j
            present = rho[i, j] + gamma
            free = present if i == only else max(0.0, present)
            share = share_of(masks.x, False, i, j)
            values[1 + K + k] = share * (present - free)
            values[1 + 2 * K + k] = share * -free
            values[1 + 3 * K + k] = free
    for i in range(1, I + 1):
        row = values[2 + 3 * K + (J + 1) * i : 1 + 3 * K + (J + 1) * (i + 1)].copy()
        total = row.sum()
        for j in range(J + 1):
            unseen = total
            for c in range(max(1, j - 1), min(J, j + 1) + 1):
                if sees(j, c):
                    unseen -= row[c - 1]
            values[1 + 3 * K + (J + 1) * i + j] = unseen


@kernel()
def add_edge(lattice: Lattice, tail: int, fixed: float, first: int, second: int) -> None:
    """An edge to the newest node, if there is room; counted in any case."""
    e = lattice.size[0]
    if e < len(lattice.tail):
        lattice.tail[e] = tail
        lattice.head[e] = lattice.size[1] - 1
        lattice.fixed[e] = fixed
        lattice.first[e] = first
        lattice.second[e] = second
    lattice.size[0] = e + 1


@kernel()
def add_node(lattice: Lattice, cell: int) -> int:
    """The next node, if there is room; counted in any case."""
    v = lattice.size[1]
    if v < len(lattice.cell):
        lattice.cell[v] = cell
    lattice.size[1] = v + 1
    return v


@kernel()
def new_lattice(edges: int, nodes: int) -> Lattice:
    """Room for so many."""
    return Lattice(
        np.empty(edges, np.int32), np.empty(edges, np.int32), np.empty(edges), np.empty(edges, np.int32),
        np.empty(edges, np.int32), np.empty(nodes, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip


@kernel()
def add_unseen(lattice: Lattice, node: int, term: int) -> int:
    """Soft agreement: from `node` on, with the links that the row does not see."""
    v = add_node(lattice, -1)
    add_edge(lattice, node, 0.0, term, 0)
    return v


@kernel()
def lattice_of(relaxation: Relaxation, problem: Problem, masks: Masks, edges: int) -> Lattice:
    """The relaxation as last evaluated; `size` tells whether so many edges were enough."""
    theta, _, alpha, gamma = problem
    I, J = len(theta), len(problem.omega)
    K = (I + 1) * (J + 1)
    soft = gamma > IMPOSSIBLE
    chain = relaxation.chain
    lattice = new_lattice(edges, edges + 1)
    node = add_node(lattice, -1)
    for j in range(1, J + 1):
        choices = 0
        for i in range(I + 1):
            choices += masks.y[i, j]
        if not masks.y[0, j]:
            continue
        v = add_node(lattice, -1)
        if choices > 1:
            add_edge(lattice, node, 0.0, 0, 0)
        if relaxation.rho[0, j] > IMPOSSIBLE:
            add_edge(lattice, node, 0.0, 1 + j, 0)
        node = v
    # Where row i − 1 may be left from: its states, and each column's best state for those that do not look.
    exits, exits_now = np.full(J + 1, -1), np.full(J + 1, -1)
    states, states_now = np.full((J + 1, STATES), -1), np.full((J + 1, STATES), -1)
    exits[0] = node
    for i in range(1, I + 1):
        if lattice.size[0] > edges:
            return lattice
        step = theta[i - 1]
        exits_now[:] = -1
        states_now[:] = -1
        if chain.number[i, 0]:
            node = add_node(lattice, STATES * (J + 1) * i)
            for before in range(J + 1):
                if exits[before] >= 0 and step[before, 0] > IMPOSSIBLE:
                    add_edge(lattice, exits[before], step[before, 0], 0, 0)
            if soft:
                node = add_unseen(lattice, node, 1 + 3 * K + (J + 1) * i)
            exits_now[0] = node
        for c in range(chain.width[i]):
            j = chain.columns[i, c]
            # The column of the row before is out of sight: null, or further than two off.
            entry = add_node(lattice, -1)
            for before in range(J + 1):
                near = before > 0 and abs(before - j) <= 2
                if exits[before] >= 0 and not near and step[before, j] > IMPOSSIBLE:
                    add_edge(lattice, exits[before], step[before, j], 0, 0)
            for e in range(chain.number[i, j]):
                s = chain.states[i, j, e]
                u = SUPPORT[s]
                own = 0.0 if u == 0 else (alpha if abs(u) == 1 else gamma)
                above = (J + 1) * (i - 1) + j + 1 + (K if u == -1 else 2 * K)
                seen_above = chain.present[i - 1, j] if u == -1 else chain.absent[i - 1, j]
                if i == 1 or not soft:
                    above = 0
                node = add_node(lattice, STATES * ((J + 1) * i + j) + s)
                if seen_above > IMPOSSIBLE:
                    add_edge(lattice, entry, own, above, 0)
                for before in range(max(1, j - 2), min(J, j + 2) + 1):
                    d = j - before
                    for r in range(STATES):
                        if states[before, r] < 0 or not FITS[d + 2, r, s] or step[before, j] < IMPOSSIBLE:
                            continue
                        first = second = 0
                        if abs(d) == 2:
                            present = SUPPORT[r] == 1
                            seen = chain.present[i, before] if present else chain.absent[i, before]
                            if seen < IMPOSSIBLE or seen_above < IMPOSSIBLE:
                                continue
                            first = above
                            second = (J + 1) * i + before + 1 + (K if present else 2 * K) if soft else 0
                        add_edge(lattice, states[before, r], own + step[before, j], first, second)
                for k in range(-1, 2):
                    if OFFSETS[s, k + 1]:
                        v = add_node(lattice, -1)
                        add_edge(lattice, node, 0.0 if k == 0 else alpha, 1 + (J + 1) * i + j + k, 0)
                        node = v
                if soft:
                    node = add_unseen(lattice, node, 1 + 3 * K + (J + 1) * i + j)
                states_now[j, s] = node
            exits_now[j] = add_node(lattice, -1)
            for s in range(STATES):
                if states_now[j, s] < 0:
                    continue
                below = 0
                if i < I:
                    present = SUPPORT[s] == 1
                    if (chain.present[i + 1, j] if present else chain.absent[i + 1, j]) < IMPOSSIBLE:
                        continue
                    if soft:
                        below = (J + 1) * (i + 1) + j + 1 + (K if present else 2 * K)
                add_edge(lattice, states_now[j, s], 0.0, below, 0)
        exits, exits_now = exits_now, exits
        states, states_now = states_now, states
    add_node(lattice, -1)
    for j in range(J + 1):
        if exits[j] >= 0:
            add_edge(lattice, exits[j], 0.0, 0, 0)
    return lattice


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
                        i, j, before = link_of(lattice.first[e], terms)
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
