"""The relaxed problem as a lattice, so that constraints can be put back (Chang et al. 2014, §5).

A path from the first node to the last is one solution of the relaxation (`baselines.relax`).
It decides the nulls y(0, j), then row after row: the column a_i, its state, and one by one the links y(i, j)
that are chosen, with a predecessor each. An edge holds a fixed weight and up to two terms that depend on the
multipliers (`dualign.decode.joint.baselines.lattice_terms`).

A constraint (j, i) says that y(i, j) and the links in column j + 1 whose predecessor is i are equally many.
Its count along a path is −1, 0 or 1 (a column holds one link) and 0 in the end, so putting it back means
three copies of every node, of which those survive that are on some path that begins and ends with the right
count (`baselines.lattice_paths`). A link of column j + 1 then has predecessor i on one edge and the
best of all others on another.

In soft agreement a row also has links out of its sight (`tied_chain`). They have one edge
together, which counts them or not, as it likes: what they are worth depends on what neighbouring rows insist
on, which a path has forgotten by then. So constraints hold for what rows see, and the bound stays valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.relax import Relaxation
from dualign.decode.joint.masks import Masks
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.tied_states import FITS, OFFSETS, STATES, SUPPORT
from dualign.search.dual import IMPOSSIBLE


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
