"""Forests in binary steps.

Every decoder that follows the language model builds the yield of an edge from left to right. So an edge with
tail `t_1..t_k` becomes k − 1 steps over *prefixes* `t_1..t_i`, each the pair of the prefix before it and
`t_i`. Edges with a common prefix share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.search.inside import Weighted


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


def binary(graph: Weighted, leaf: Array) -> Forest:
    """A hypergraph in binary steps; `leaf[v]` is the word of a vertex that is a leaf, −1 otherwise.

    Of `graph.order` only; the last vertex becomes the last node.
    """
    leaf_word = leaf.tolist()
    vertex_weight, edge_weight = graph.vertex_weight.tolist(), graph.edge_weight.tolist()
    incoming, first = graph.incoming.tolist(), graph.incoming_begin.tolist()
    tails, tail_begin = graph.tail.tolist(), graph.tail_begin.tolist()
    node_of = [-1] * len(leaf_word)
    word: list[int] = []
    weight: list[float] = []
    begin: list[int] = []
    left: list[int] = []
    right: list[int] = []
    step_weight: list[float] = []
    edge_of: list[int] = []
    prefixes: dict[tuple[int, int], int] = {}

    def add_node(label: int, value: float) -> int:
        word.append(label)
        weight.append(value)
        begin.append(len(left))
        return len(word) - 1

    def add_step(a: int, b: int, value: float, edge: int) -> None:
        left.append(a)
        right.append(b)
        step_weight.append(value)
        edge_of.append(edge)

    for vertex in graph.order.tolist():
        if leaf_word[vertex] >= 0:
            node_of[vertex] = add_node(leaf_word[vertex], vertex_weight[vertex])
            continue
        steps = []
        for edge in incoming[first[vertex] : first[vertex + 1]]:
            tail = tails[tail_begin[edge] : tail_begin[edge + 1]]
            a = node_of[tail[0]]
            for child in tail[1:-1]:
                b = node_of[child]
                if (a, b) not in prefixes:
                    prefixes[a, b] = add_node(-1, 0.0)
                    add_step(a, b, 0.0, -1)
                a = prefixes[a, b]
            b = node_of[tail[-1]] if len(tail) > 1 else -1
            steps.append((a, b, vertex_weight[vertex] + edge_weight[edge], edge))
        node_of[vertex] = add_node(-1, 0.0)
        for step in steps:
            add_step(*step)
    begin.append(len(left))
    return Forest(
        np.array(word, np.int32),
        np.array(weight, np.float64),
        np.array(begin, np.int64),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(step_weight, np.float64),
        np.array(edge_of, np.int32),
    )
