"""Paths between leaves (Rush & Collins 2011, §5, Figure 2), for the relaxation and the integer program.

A walk through a derivation, top down and left to right, passes *positions*: a vertex on the way down (`v↓`)
and on the way up (`v↑`). Steps between positions are the paper's *states* ⟨a, b⟩: from a head down to the
first vertex of its tail, from one vertex of a tail over to the next, from the last one up to the head. The
walk from a leaf w↑ to the next leaf is a path of states. Each edge fixes the states that it contributes to
a derivation.

Above the root stand as many `<s>` and `</s>` as the order of the model asks for, so that every word, and
every end, has an n-gram of full length that ends in it. Vertices are numbered from the leaves up, positions
v↑ before v↓ and those in the order of the walk: every state leads to a position with a higher number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.search.translation_problem import Problem


@dataclass(frozen=True)
class Paths:
    """Vertices 0..V − 1 in topological order, the goal last; edges as in `Hypergraph`, the goal's edge last.

    `leaf[v]`: the word of a leaf in the problem's vocabulary, −1 otherwise. `vertex[v]`: its number in the
    hypergraph, −1 if it was added; `starts` and `ends`: the leaves `<s>` and `</s>`, from left to right.
    State s leads from position `tail_of[s]` to `head_of[s]`, and the states that leave position p are
    `leaving[leave[p] : leave[p + 1]]`. Edge e has states `states[state_begin[e] : state_begin[e + 1]]`.
    Pairs: leaf `before[p]` can be directly followed by leaf `after[p]`; those with the same leaf before are
    `pair_begin[v] .. pair_begin[v + 1]`.
    """

    leaf: Array
    vertex: Array
    vertex_weight: Array
    head: Array
    tail_begin: Array
    tail: Array
    edge_weight: Array
    incoming_begin: Array
    incoming: Array
    starts: list[int]
    ends: list[int]
    tail_of: Array
    head_of: Array
    leave: Array
    leaving: Array
    state_begin: Array
    states: Array
    before: Array
    after: Array
    pair_begin: Array

    @property
    def order(self) -> Array:
        """Vertices with tails before heads."""
        return np.arange(len(self.leaf), dtype=np.int32)

    @classmethod
    def of(cls, problem: Problem, extra: int, most_pairs: int) -> Paths | None:
        """Of a problem, with `extra` words `<s>` and `</s>`; None if more pairs of leaves than allowed can
        meet."""
        graph = problem.hypergraph
        place = {v: n for n, v in enumerate(graph.order.tolist())}
        used = len(place)
        starts, ends = list(range(used, used + extra)), list(range(used + extra, used + 2 * extra))
        goal = used + 2 * extra
        begin, end = problem.ends
        leaf = [*problem.leaf_word[graph.order].tolist(), *[begin] * extra, *[end] * extra, -1]
        weight = [*graph.vertex_weight[graph.order].tolist(), *[0.0] * (2 * extra + 1)]
        edges = [(place[h], [place[t] for t in tail], w) for h, tail, w in graph.edges if h in place]
        edges.append((goal, [*starts, place[graph.root], *ends], 0.0))
        V = goal + 1
        number: dict[tuple[int, int], int] = {}
        states: list[int] = []
        state_begin = [0]
        for head, tail, _ in edges:
            # v↑ is v, v↓ is 2V − 1 − v.
            steps = [(2 * V - 1 - head, 2 * V - 1 - tail[0]), (tail[-1], head)]
            steps += [(a, 2 * V - 1 - b) for a, b in pairwise(tail)]
            states += [number.setdefault(step, len(number)) for step in steps]
            state_begin.append(len(states))
        tail_of = np.array([a for a, _ in number], np.int32)
        head_of = np.array([b for _, b in number], np.int32)
        leaving = np.argsort(tail_of, kind="stable").astype(np.int32)
        leave = np.searchsorted(tail_of[leaving], np.arange(2 * V + 1)).astype(np.int64)
        leaves = np.flatnonzero(np.array(leaf) >= 0).astype(np.int32)
        before, after = find_pairs(leaves, V, leave, leaving, head_of, most_pairs)
        if len(before) >= most_pairs:
            return None
        heads = np.array([e[0] for e in edges], np.int32)
        incoming = np.argsort(heads, kind="stable").astype(np.int32)
        lengths = [len(e[1]) for e in edges]
        return cls(
            np.array(leaf, np.int32),
            np.array([*graph.order.tolist(), *[-1] * (2 * extra + 1)], np.int32),
            np.array(weight),
            heads,
            np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            np.array([t for e in edges for t in e[1]], np.int32),
            np.array([e[2] for e in edges]),
            np.searchsorted(heads[incoming], np.arange(V + 1)).astype(np.int64),
            incoming,
            starts,
            ends,
            tail_of,
            head_of,
            leave,
            leaving,
            np.array(state_begin, np.int64),
            np.array(states, np.int32),
            before,
            after,
            np.searchsorted(before, np.arange(V + 1)).astype(np.int64),
        )

    def edge_numbers(self, problem: Problem) -> Array:
        """Edges of the hypergraph by ours; −1 for the goal's."""
        used = np.zeros(len(problem.hypergraph.labels), np.bool_)
        used[problem.hypergraph.order] = True
        return np.append(np.flatnonzero(used[problem.hypergraph.head]), -1)


@kernel()
def find_pairs(
    leaves: Array, V: int, leave: Array, leaving: Array, head_of: Array, most: int
) -> tuple[Array, Array]:
    """Leaves that can follow each other directly, by the first; stops at `most`."""
    room = 1024
    before, after = np.empty(room, np.int32), np.empty(room, np.int32)
    seen = np.full(2 * V, -1, np.int64)
    count = 0
    stack = np.empty(2 * V, np.int64)
    for v in leaves:
        stack[0] = v
        waiting = 1
        seen[v] = v
        first = count
        while waiting > 0:
            waiting -= 1
            p = stack[waiting]
            if p != v and leave[p] == leave[p + 1] and p >= V:
                if count >= most:
                    return before[:count], after[:count]
                if count >= room:
                    room *= 2
                    b, a = before, after
                    before, after = np.empty(room, np.int32), np.empty(room, np.int32)
                    before[:count], after[:count] = b[:count], a[:count]
                before[count], after[count] = v, 2 * V - 1 - p
                count += 1
            for s in leaving[leave[p] : leave[p + 1]]:
                q = head_of[s]
                if seen[q] != v:
                    seen[q] = v
                    stack[waiting] = q
                    waiting += 1
        after[first:count].sort()
    return before[:count], after[:count]


@kernel()
def best_paths(
    before: Array, after: Array, pair_begin: Array, V: int, leave: Array, leaving: Array, head_of: Array,
    cost: Array, result: Array,
) -> None:  # fmt: skip
    """`result[p]`: the largest −Σ cost over the states of a path, for each pair of leaves; O(leaves ·
    states)."""
    value = np.full(2 * V, -np.inf)
    for v in range(V):
        if pair_begin[v] == pair_begin[v + 1]:
            continue
        value[:] = -np.inf
        value[v] = 0.0
        for p in range(v, 2 * V):
            if value[p] == -np.inf or (p != v and p >= V and leave[p] == leave[p + 1]):
                continue
            for s in leaving[leave[p] : leave[p + 1]]:
                q = head_of[s]
                value[q] = max(value[q], value[p] - cost[s])
        for k in range(pair_begin[v], pair_begin[v + 1]):
            result[k] = value[2 * V - 1 - after[k]]


@kernel()
def best_path(
    v: int, w: int, V: int, leave: Array, leaving: Array, head_of: Array, tail_of: Array,
    cost: Array, add: Array,
) -> None:  # fmt: skip
    """Subtract 1 in `add` for each state of the path of `best_paths` from leaf v to leaf w."""
    value, back = np.full(2 * V, -np.inf), np.full(2 * V, -1, np.int32)
    value[v] = 0.0
    goal = 2 * V - 1 - w
    for p in range(v, goal):
        if value[p] == -np.inf:
            continue
        for s in leaving[leave[p] : leave[p + 1]]:
            q = head_of[s]
            if value[p] - cost[s] > value[q]:
                value[q] = value[p] - cost[s]
                back[q] = s
    p = goal
    while p != v:
        s = back[p]
        add[s] -= 1.0
        p = tail_of[s]
