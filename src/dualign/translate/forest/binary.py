"""Forests in binary steps.

Every decoder that follows the language model builds the yield of an edge from left to right. So an edge with
tail `t_1..t_k` becomes k − 1 steps over *prefixes* `t_1..t_i`, each the pair of the prefix before it and
`t_i`. Edges with a common prefix share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign._core.kernel_arrays import EMPTY, new_slots, slot_of
from dualign._search.inside import Weighted


class Forest(NamedTuple):
    """Nodes in topological order. `word[n]` is the word of a leaf, −1 otherwise; `weight[n]` that of a leaf.

    Steps `begin[n] .. begin[n + 1]` lead to node n, from `left[s]` and `right[s]` (−1: none); `step_weight`
    holds the weights of edge and head, `edge` the edge that a step completes, −1 within an edge.
    """

    word: Array
    weight: Array
    begin: Array
    left: Array
    right: Array
    step_weight: Array
    edge: Array


@kernel
def binary(graph: Weighted, leaf: Array) -> Forest:
    """Return a hypergraph in binary steps; `leaf[v]` is the word of a vertex that is a leaf, −1 otherwise.

    Of `graph.order` only; the last vertex becomes the last node.
    """
    room = len(leaf) + len(graph.tail)
    word, weight = np.full(room, -1, np.int32), np.zeros(room)
    begin = np.zeros(room + 1, np.int64)
    left, right = np.empty(room, np.int32), np.full(room, -1, np.int32)
    step_weight, edge_of = np.zeros(room), np.full(room, -1, np.int32)
    node_of = np.full(len(leaf), -1, np.int32)
    # The pairs of nodes that are prefixes, and the node of each.
    pair, prefix, prefixes = np.empty((len(graph.tail), 2), np.int32), np.empty(len(graph.tail), np.int32), 0
    slots = new_slots(len(graph.tail))
    nodes = steps = 0
    for v in graph.order:
        last = np.empty(graph.incoming_begin[v + 1] - graph.incoming_begin[v], np.int32)
        for k in range(len(last)):
            e = graph.incoming[graph.incoming_begin[v] + k]
            tail = graph.tail[graph.tail_begin[e] : graph.tail_begin[e + 1]]
            a = node_of[tail[0]]
            for child in tail[1:-1]:
                pair[prefixes, 0], pair[prefixes, 1] = a, node_of[child]
                slot = slot_of(slots, pair, pair[prefixes])
                if slots[slot] == EMPTY:
                    slots[slot], prefix[prefixes] = prefixes, nodes
                    left[steps], right[steps] = a, node_of[child]
                    begin[nodes], nodes = steps, nodes + 1
                    prefixes, steps = prefixes + 1, steps + 1
                a = prefix[slots[slot]]
            last[k] = a
        node_of[v] = nodes
        begin[nodes] = steps
        if leaf[v] >= 0:
            word[nodes], weight[nodes] = leaf[v], graph.vertex_weight[v]
        for k in range(len(last)):
            e = graph.incoming[graph.incoming_begin[v] + k]
            left[steps], edge_of[steps] = last[k], e
            if graph.tail_begin[e + 1] - graph.tail_begin[e] > 1:
                right[steps] = node_of[graph.tail[graph.tail_begin[e + 1] - 1]]
            step_weight[steps] = graph.vertex_weight[v] + graph.edge_weight[e]
            steps += 1
        nodes += 1
    begin[nodes] = steps
    return Forest(
        word[:nodes], weight[:nodes], begin[: nodes + 1], left[:steps], right[:steps], step_weight[:steps],
        edge_of[:steps],
    )  # fmt: skip
