"""Sums and maxima over the derivations of a hypergraph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel


class Weighted(NamedTuple):
    """A hypergraph and its weights; arrays as in `dualign.translate.forest.hypergraph`."""

    order: Array
    incoming_begin: Array
    incoming: Array
    tail_begin: Array
    tail: Array
    vertex_weight: Array
    edge_weight: Array


class Arcs(NamedTuple):
    """A hypergraph whose best inside scores are known: `inside` of each vertex, `score` of each edge.

    Vertices are numbered from the leaves up. Edge a leads from `tail[tail_begin[a] : tail_begin[a + 1]]` to
    `head[a]`, and comes after all edges of its tail; its score is that of its head if made by this edge from
    the best of its tail.
    """

    inside: Array
    head: Array
    tail_begin: Array
    tail: Array
    score: Array


@kernel
def inside(graph: Weighted, maximum: bool, result: Array) -> None:
    """`result[v] = θ_v ⊕_{e: h(e)=v} (θ_e + Σ_{w∈t(e)} result[w])`, ⊕ a maximum or the log of a sum;
    O(|E|)."""
    for v in graph.order:
        begin, end = graph.incoming_begin[v], graph.incoming_begin[v + 1]
        if begin == end:
            result[v] = graph.vertex_weight[v]
            continue
        top, total = -np.inf, 0.0
        for e in graph.incoming[begin:end]:
            score = graph.edge_weight[e]
            for w in graph.tail[graph.tail_begin[e] : graph.tail_begin[e + 1]]:
                score += result[w]
            if maximum:
                top = max(top, score)
            elif score > top:
                total = total * np.exp(top - score) + 1.0 if top > -np.inf else 1.0
                top = score
            elif score > -np.inf:
                total += np.exp(score - top)
        result[v] = graph.vertex_weight[v] + top + (0.0 if maximum or top == -np.inf else np.log(total))


@kernel
def outside(graph: Weighted, maximum: bool, within: Array, result: Array, edges: Array) -> None:
    """Outside scores into `result` (V), filled with −inf; `edges` (E) gets inside + outside of each edge.

    `within` are the inside scores. A vertex passes its outside score on to the tails of its edges.
    """
    order = graph.order
    result[order[len(order) - 1]] = 0.0
    for n in range(len(order) - 1, -1, -1):
        v = order[n]
        for e in graph.incoming[graph.incoming_begin[v] : graph.incoming_begin[v + 1]]:
            score = result[v] + graph.vertex_weight[v] + graph.edge_weight[e]
            tail = graph.tail[graph.tail_begin[e] : graph.tail_begin[e + 1]]
            for w in tail:
                score += within[w]
            edges[e] = score
            if score == -np.inf:
                continue
            for w in tail:
                rest = score - within[w]
                if maximum or result[w] == -np.inf:
                    result[w] = max(result[w], rest)
                else:
                    top = max(result[w], rest)
                    result[w] = top + np.log(np.exp(result[w] - top) + np.exp(rest - top))


@kernel
def best_outside(arcs: Arcs, first: int, last: int) -> Array:
    """For each vertex the most that the rest of a derivation of one of the vertices first..last − 1 adds to
    its inside score; −inf if there is no rest."""
    result = np.full(len(arcs.inside), -np.inf)
    result[first:last] = 0.0
    for a in range(len(arcs.head) - 1, -1, -1):
        total = result[arcs.head[a]] + arcs.score[a]
        for v in arcs.tail[arcs.tail_begin[a] : arcs.tail_begin[a + 1]]:
            result[v] = max(result[v], total - arcs.inside[v])
    return result
