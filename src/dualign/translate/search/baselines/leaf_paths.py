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
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign._core.kernel_arrays import doubled
from dualign.translate.forest.hypergraph import Hypergraph
from dualign.translate.search.problem import ForestProblem


class Walk(NamedTuple):
    """State s leads from position `tail_of[s]` to `head_of[s]`, and the states that leave position p are
    `leaving[leave[p] : leave[p + 1]]`. Of 2V positions, v↑ is v and v↓ is 2V − 1 − v."""

    tail_of: Array
    head_of: Array
    leave: Array
    leaving: Array


class LeafPairs(NamedTuple):
    """Leaf `before[p]` can be directly followed by leaf `after[p]`; those with the same leaf v before are
    `begin[v] .. begin[v + 1]`."""

    before: Array
    after: Array
    begin: Array


@dataclass(frozen=True)
class Paths:
    """A hypergraph with vertices 0..V − 1 in topological order, the goal last, and the goal's edge last.

    `leaf[v]`: the word of a leaf in the problem's vocabulary, −1 otherwise; `starts` and `ends`: the leaves
    `<s>` and `</s>`, from left to right. `edge[e]`: the number of edge e in the problem's hypergraph, −1 for
    the goal's; its states are `states[state_begin[e] : state_begin[e + 1]]`.
    """

    leaf: Array
    graph: Hypergraph
    edge: Array
    starts: list[int]
    ends: list[int]
    walk: Walk
    state_begin: Array
    states: Array
    pairs: LeafPairs

    def derivation(self, value: Array) -> tuple[list[int], list[int]]:
        """Return edges and leaves of the derivation that has, at each vertex, the edge of most `value`."""
        graph = self.graph
        edges, leaves, stack = [], [], [graph.root]
        while stack:
            v = stack.pop()
            if self.leaf[v] >= 0:
                leaves.append(v)
                continue
            choices = graph.incoming[graph.incoming_begin[v] : graph.incoming_begin[v + 1]]
            edges.append(int(choices[np.argmax(value[choices])]))
            stack.extend(graph.tail_of(edges[-1])[::-1])
        return edges, leaves

    @classmethod
    def of(cls, problem: ForestProblem, extra: int, most_pairs: int) -> Paths | None:
        """Of a problem, with `extra` words `<s>` and `</s>`; None if more pairs of leaves than allowed can
        meet."""
        whole, (begin, end) = problem.hypergraph, problem.ends
        place = {v: n for n, v in enumerate(whole.order.tolist())}
        used, goal = len(place), len(place) + 2 * extra
        starts, ends = list(range(used, used + extra)), list(range(used + extra, goal))
        leaf = np.array([*problem.leaf_word[whole.order], *[begin] * extra, *[end] * extra, -1], np.int32)
        weight = [*whole.vertex_weight[whole.order].tolist(), *[0.0] * (2 * extra + 1)]
        edge = [e for e, head in enumerate(whole.head.tolist()) if head in place]
        edges = [(place[h], [place[t] for t in tail], w) for h, tail, w in whole.edges if h in place]
        edges.append((goal, [*starts, place[whole.root], *ends], 0.0))
        graph = Hypergraph.trusted([(None, w) for w in weight], edges, goal)
        V = goal + 1
        graph.order = np.arange(V, dtype=np.int32)
        number: dict[tuple[int, int], int] = {}
        states: list[int] = []
        state_begin = [0]
        for head, tail, _ in edges:
            # v↑ is v, v↓ is 2V − 1 − v.
            steps = [(2 * V - 1 - head, 2 * V - 1 - tail[0]), (tail[-1], head)]
            steps += [(a, 2 * V - 1 - b) for a, b in pairwise(tail)]
            states += [number.setdefault(step, len(number)) for step in steps]
            state_begin.append(len(states))
        tail_of, head_of = np.array(list(number), np.int32).T.copy()
        leaving = np.argsort(tail_of, kind="stable").astype(np.int32)
        walk = Walk(tail_of, head_of, np.searchsorted(tail_of[leaving], np.arange(2 * V + 1)), leaving)
        before, after = find_pairs(np.flatnonzero(leaf >= 0), walk, most_pairs)
        if len(before) >= most_pairs:
            return None
        pairs = LeafPairs(before, after, np.searchsorted(before, np.arange(V + 1)))
        return cls(
            leaf, graph, np.array([*edge, -1]), starts, ends, walk, np.array(state_begin), np.array(states),
            pairs,
        )  # fmt: skip


@kernel
def find_pairs(leaves: Array, walk: Walk, most: int) -> tuple[Array, Array]:
    """Return leaves that can follow each other directly, by the first; stops at `most`."""
    _, head_of, leave, leaving = walk
    P = len(leave) - 1
    before, after = np.empty(1024, np.int32), np.empty(1024, np.int32)
    seen, stack = np.full(P, -1, np.int64), np.empty(P, np.int64)
    count = 0
    for v in leaves:
        stack[0], seen[v] = v, v
        waiting = 1
        first = count
        while waiting > 0:
            waiting -= 1
            p = stack[waiting]
            if p != v and 2 * p >= P and leave[p] == leave[p + 1]:
                if count >= most:
                    return before[:count], after[:count]
                if count >= len(before):
                    before, after = doubled(before), doubled(after)
                before[count], after[count] = v, P - 1 - p
                count += 1
            for s in leaving[leave[p] : leave[p + 1]]:
                q = head_of[s]
                if seen[q] != v:
                    seen[q] = v
                    stack[waiting] = q
                    waiting += 1
        after[first:count].sort()
    return before[:count], after[:count]


@kernel
def best_paths(pairs: LeafPairs, walk: Walk, cost: Array, result: Array) -> None:
    """`result[p]`: the largest −Σ cost over the states of a path, for each pair of leaves; O(leaves ·
    states)."""
    _, head_of, leave, leaving = walk
    P = len(leave) - 1
    value = np.empty(P)
    for v in range(P // 2):
        if pairs.begin[v] == pairs.begin[v + 1]:
            continue
        value[:] = -np.inf
        value[v] = 0.0
        for p in range(v, P):
            if value[p] == -np.inf or (p != v and 2 * p >= P and leave[p] == leave[p + 1]):
                continue
            for s in leaving[leave[p] : leave[p + 1]]:
                q = head_of[s]
                value[q] = max(value[q], value[p] - cost[s])
        for k in range(pairs.begin[v], pairs.begin[v + 1]):
            result[k] = value[P - 1 - pairs.after[k]]


@kernel
def best_path(v: int, w: int, walk: Walk, cost: Array, add: Array) -> None:
    """Subtract 1 in `add` for each state of the path of `best_paths` from leaf v to leaf w."""
    tail_of, head_of, leave, leaving = walk
    P = len(leave) - 1
    value, back = np.full(P, -np.inf), np.full(P, -1, np.int32)
    value[v] = 0.0
    goal = P - 1 - w
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
