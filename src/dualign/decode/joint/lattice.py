"""The relaxed problem as a lattice, so that constraints can be put back (Chang et al. 2014, §5).

A path from the first node to the last is one solution of the relaxation (`relax`). It decides the nulls
y(0, j), then row after row: the column a_i, its state, and one by one the links y(i, j) that are chosen, with
a predecessor each. An edge holds a fixed weight and up to two terms that depend on the multipliers.

A constraint (j, i) says that there are as many links in column j + 1 with predecessor i as y(i, j) says, 0
or 1. The difference along a path is −1, 0 or 1 (a column holds one link) and 0 in the end, so putting the
constraint back means three copies of every node, of which those survive that are on some path that begins
and ends with the right count (`constrain`). A link of column j + 1 then has predecessor i on one edge and the
best of all others on another.

In soft agreement a row also has links outside its window (`tied_chain`). They share one edge, which is free
to count them or not: what they are worth depends on what neighbouring rows require, which a path has
forgotten by then. So constraints hold for what rows see, and the bound stays valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign.decode.joint.relax import JointRelaxation, only_choice, predecessors
from dualign.decode.joint.tied_chain import FITS, OFFSETS, STATES, SUPPORT, share_of

LINK, PRESENT, ABSENT, UNSEEN = range(4)
"""Kinds of terms for each i and j: y(i, j) with the best predecessor that no constraint speaks of; what
requiring y(i, j), or its absence, costs; all links that row i does not see from column j."""


class Lattice(NamedTuple):
    """Nodes are numbered; the first is where paths begin, the last where they end.

    `tail`, `head` int32 (E): edges, those into a node before those out of it; `fixed` float64 (E); `first`,
    `second` int32 (E): terms, 0 = none, a link's always first. `cell` int32 (N): 16 · ((J + 1) · i + j) + s
    where a node decides that a_i = j in state s, else −1. `size` int64 (2): edges and nodes in use.
    """

    tail: Array
    head: Array
    fixed: Array
    first: Array
    second: Array
    cell: Array
    size: Array


class Terms(NamedTuple):
    """What edges refer to by number, 0 standing for nothing: see `term_of` and `constrained_term`.

    `values`, `most` float64: their values and max-marginals; `before` int32 (I + 1, J + 1): those best
    predecessors; `constraints` int64 (…, 2), `number` int64 (1): how many there are.
    """

    values: Array
    most: Array
    before: Array
    constraints: Array
    number: Array


class Constrained(NamedTuple):
    """The relaxation, its lattice, what the edges are worth; `best` float64 (N): the best way to a node."""

    relaxation: JointRelaxation
    lattice: Lattice
    terms: Terms
    best: Array


def new_terms(I: int, J: int, room: int) -> Terms:
    """No constraints yet, and room for that many."""
    values, most = np.zeros((2, 1 + 4 * (I + 1) * (J + 1) + room * (I + 1)))
    before, constraints = np.zeros((I + 1, J + 1), np.int32), np.zeros((room, 2), np.int64)
    return Terms(values, most, before, constraints, np.zeros(1, np.int64))


@part(allocates=False)
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


@part(allocates=False)
def add_node(lattice: Lattice, cell: int) -> int:
    """The next node, if there is room; counted in any case."""
    v = lattice.size[1]
    if v < len(lattice.cell):
        lattice.cell[v] = cell
    lattice.size[1] = v + 1
    return v


EXIT = STATES
"""Of the nodes that a row may be left from, int64 (J + 1, 17), −1 = none: one for each state of its column,
and at this place one for next rows that do not look at the state."""


@kernel
def lattice_of(relaxation: JointRelaxation, terms: Terms, edges: int) -> Lattice:
    """The relaxation as last evaluated; `size` tells whether that many edges were enough."""
    chain = relaxation.chain
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    lattice = Lattice(
        np.empty(edges, np.int32), np.empty(edges, np.int32), np.empty(edges), np.empty(edges, np.int32),
        np.empty(edges, np.int32), np.empty(edges + 1, np.int32), np.zeros(2, np.int64),
    )  # fmt: skip
    state = Constrained(relaxation, lattice, terms, np.empty(0))
    before, now = np.full((J + 1, STATES + 1), -1), np.full((J + 1, STATES + 1), -1)
    before[0, EXIT] = add_nulls(state)
    for i in range(1, I + 1):
        if lattice.size[0] > edges:
            return lattice
        now[:] = -1
        if chain.number[i, 0]:
            now[0, EXIT] = add_unseen(state, add_entry(state, i, 0, before), i, 0)
        for c in range(chain.width[i]):
            j = chain.columns[i, c]
            entry = add_entry(state, i, j, before)
            for e in range(chain.number[i, j]):
                s = chain.states[i, j, e]
                now[j, s] = add_links(state, (i, j, s), add_state(state, (i, j, s), entry, before))
            now[j, EXIT] = add_exit(state, i, j, now)
        before, now = now, before
    add_node(lattice, -1)
    for j in range(J + 1):
        if before[j, EXIT] >= 0:
            add_edge(lattice, before[j, EXIT], 0.0, 0, 0)
    return lattice


@part(allocates=False)
def add_nulls(state: Constrained) -> int:
    """The first nodes: whether y(0, j) is chosen, column by column."""
    relaxation, lattice = state.relaxation, state.lattice
    y = relaxation.masks.y
    node = add_node(lattice, -1)
    for j in range(1, y.shape[1]):
        if not y[0, j]:
            continue
        v = add_node(lattice, -1)
        if only_choice(relaxation.masks, j) < 0:
            add_edge(lattice, node, 0.0, 0, 0)
        if relaxation.rho[0, j] > IMPOSSIBLE:
            add_edge(lattice, node, 0.0, term_of(LINK, 0, j, state.terms), 0)
        node = v
    return node


@part(allocates=False)
def add_entry(state: Constrained, i: int, j: int, before: Array) -> int:
    """The node where a_i = j is entered from columns of row i − 1 whose state does not matter: null, and what
    is over two away. Null is entered from anywhere."""
    step = state.relaxation.problem.theta[i - 1]
    node = add_node(state.lattice, STATES * step.shape[0] * i if j == 0 else -1)
    for b in range(step.shape[0]):
        near = j > 0 and b > 0 and abs(b - j) <= 2
        if before[b, EXIT] >= 0 and not near and step[b, j] > IMPOSSIBLE:
            add_edge(state.lattice, before[b, EXIT], step[b, j], 0, 0)
    return node


@part(allocates=False)
def required(state: Constrained, i: int, j: int, present: bool) -> tuple[bool, int]:
    """Whether y(i, j) may be required outside row i's window, or its absence, and the term of what it
    costs."""
    chain = state.relaxation.chain
    possible = (chain.present[i, j] if present else chain.absent[i, j]) > IMPOSSIBLE
    if i == 0 or state.relaxation.problem.gamma < IMPOSSIBLE:
        return possible, 0
    return possible, term_of(PRESENT if present else ABSENT, i, j, state.terms)


@part(allocates=False)
def add_state(state: Constrained, cell: tuple[int, int, int], entry: int, before: Array) -> int:
    """The node of a_i = j in state s: entered from `entry`, and from states of row i − 1 that fit."""
    i, j, s = cell
    lattice = state.lattice
    theta, _, alpha, gamma = state.relaxation.problem
    step, J = theta[i - 1], theta.shape[1] - 1
    u = SUPPORT[s]
    own = 0.0 if u == 0 else (alpha if abs(u) == 1 else gamma)
    possible, above = required(state, i - 1, j, u == -1)
    node = add_node(lattice, STATES * ((J + 1) * i + j) + s)
    if possible:
        add_edge(lattice, entry, own, above, 0)
    for b in range(max(1, j - 2), min(J, j + 2) + 1):
        outside = abs(j - b) == 2
        for r in range(STATES):
            if before[b, r] < 0 or not FITS[j - b + 2, r, s] or step[b, j] < IMPOSSIBLE:
                continue
            fine, here = required(state, i, b, SUPPORT[r] == 1)
            if not outside:
                add_edge(lattice, before[b, r], own + step[b, j], 0, 0)
            elif fine and possible:
                add_edge(lattice, before[b, r], own + step[b, j], above, here)
    return node


@part(allocates=False)
def add_links(state: Constrained, cell: tuple[int, int, int], node: int) -> int:
    """One by one, the links y that the state chooses; then those that the row does not see."""
    i, j, s = cell
    for k in range(-1, 2):
        if OFFSETS[s, k + 1]:
            v = add_node(state.lattice, -1)
            cost = 0.0 if k == 0 else state.relaxation.problem.alpha
            add_edge(state.lattice, node, cost, term_of(LINK, i, j + k, state.terms), 0)
            node = v
    return add_unseen(state, node, i, j)


@part(allocates=False)
def add_unseen(state: Constrained, node: int, i: int, j: int) -> int:
    """In soft agreement, go on from `node` with the links that row i does not see from column j."""
    if state.relaxation.problem.gamma < IMPOSSIBLE:
        return node
    v = add_node(state.lattice, -1)
    add_edge(state.lattice, node, 0.0, term_of(UNSEEN, i, j, state.terms), 0)
    return v


@part(allocates=False)
def add_exit(state: Constrained, i: int, j: int, now: Array) -> int:
    """The node where a_i = j is left to columns of row i + 1 that do not look at the state."""
    node = add_node(state.lattice, -1)
    for s in range(STATES):
        if now[j, s] < 0:
            continue
        possible, below = True, 0
        if i < len(state.relaxation.problem.theta):
            possible, below = required(state, i + 1, j, SUPPORT[s] == 1)
        if possible:
            add_edge(state.lattice, now[j, s], 0.0, below, 0)
    return node


@part(allocates=False)
def term_of(kind: int, i: int, j: int, terms: Terms) -> int:
    """The number of a term of that kind."""
    rows, columns = terms.before.shape
    return 1 + kind * rows * columns + columns * i + j


@part(allocates=False)
def constrained_term(q: int, i: int, terms: Terms) -> int:
    """The number of the term of y(i, j + 1) with the predecessor that constraint q = (j, i') speaks of."""
    return 1 + 4 * terms.before.size + terms.before.shape[0] * q + i


@part(allocates=False)
def link_of(term: int, terms: Terms) -> tuple[int, int, int]:
    """Row, column and predecessor of a link's term; predecessor −1: the best; row −1: not a link's."""
    rows, columns = terms.before.shape
    if 1 <= term <= rows * columns:
        return (term - 1) // columns, (term - 1) % columns, -1
    if term > 4 * rows * columns:
        q, i = (term - 1 - 4 * rows * columns) // rows, (term - 1 - 4 * rows * columns) % rows
        return i, terms.constraints[q, 0] + 1, terms.constraints[q, 1]
    return -1, -1, -1


@part(allocates=False)
def sees(j: int, c: int) -> bool:
    """Whether a row in column j sees its links in column c."""
    return j > 0 and abs(c - j) <= 1


@part
def weigh_terms(terms: Terms, relaxation: JointRelaxation) -> None:
    """All values at these multipliers."""
    omega, gamma = relaxation.problem.omega, relaxation.problem.gamma
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    multipliers, values = relaxation.multipliers, terms.values
    predecessors(relaxation)
    for j in range(1, J + 1):
        constrained = relaxation.active[j - 1].any()
        for i in range(I + 1):
            value, before = relaxation.rho[i, j], relaxation.before[i, j]
            if constrained:
                value, before = best_unconstrained(relaxation, i, j)
            values[term_of(LINK, i, j, terms)] = value
            terms.before[i, j] = before if before >= 0 else relaxation.before[i, j]
    for q in range(terms.number[0]):
        j, p = terms.constraints[q, 0] + 1, terms.constraints[q, 1]
        for i in range(I + 1):
            own = multipliers[j, i] if j < J else 0.0
            values[constrained_term(q, i, terms)] = omega[j - 1, p, i] + multipliers[j - 1, p] - own
    if gamma > IMPOSSIBLE:
        weigh_unseen(terms, relaxation)


@part(allocates=False)
def best_unconstrained(relaxation: JointRelaxation, i: int, j: int) -> tuple[float, int]:
    """Value of y(i, j) with the best predecessor that no constraint speaks of, and that; −1: none."""
    omega, y, multipliers = relaxation.problem.omega, relaxation.masks.y, relaxation.multipliers
    most, before = NEVER, -1
    for p in range(y.shape[0] if j > 1 else 1):
        free = relaxation.arcs[j - 1, p, i] and not relaxation.active[j - 1, p]
        if y[i, j] and free and (j == 1 or y[p, j - 1]):
            z = omega[j - 1, p, i] + multipliers[j - 1, p]
            if z > most:
                most, before = z, p
    return most - (multipliers[j, i] if j < y.shape[1] - 1 else 0.0), before


@part
def weigh_unseen(terms: Terms, relaxation: JointRelaxation) -> None:
    """Soft agreement: what links outside the rows' windows are worth, and what requiring them costs."""
    I, J = terms.before.shape[0] - 1, terms.before.shape[1] - 1
    masks, values = relaxation.masks, terms.values
    for j in range(1, J + 1):
        only = only_choice(masks, j)
        for i in range(1, I + 1):
            present = relaxation.rho[i, j] + relaxation.problem.gamma
            free = present if i == only else max(0.0, present)
            share = share_of(masks.x, i, j)
            values[term_of(PRESENT, i, j, terms)] = share * (present - free)
            values[term_of(ABSENT, i, j, terms)] = share * -free
            values[term_of(UNSEEN, i, j, terms)] = free
    for i in range(1, I + 1):
        row = values[term_of(UNSEEN, i, 1, terms) : term_of(UNSEEN, i, J, terms) + 1].copy()
        total = row.sum()
        for j in range(J + 1):
            unseen = total
            for c in range(max(1, j - 1), min(J, j + 1) + 1):
                if sees(j, c):
                    unseen -= row[c - 1]
            values[term_of(UNSEEN, i, j, terms)] = unseen
