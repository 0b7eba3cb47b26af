"""Sums and maxima over the derivations of a hypergraph; arrays as in `dualign.translate.hypergraph`."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

__all__ = ["inside", "outside"]


@kernel()
def inside(
    order: Array,
    incoming_begin: Array,
    incoming: Array,
    tail_begin: Array,
    tail: Array,
    vertex_weight: Array,
    edge_weight: Array,
    head: Array,
    maximum: bool,
    result: Array,
) -> None:
    """`result[v] = θ_v ⊕_{e: h(e)=v} (θ_e + Σ_{w∈t(e)} result[w])`, ⊕ a maximum or the log of a sum; O(|E|)."""
    for v in order:
        begin, end = incoming_begin[v], incoming_begin[v + 1]
        if begin == end:
            result[v] = vertex_weight[v]
            continue
        top, total = -np.inf, 0.0
        for e in incoming[begin:end]:
            score = edge_weight[e]
            for w in tail[tail_begin[e] : tail_begin[e + 1]]:
                score += result[w]
            if maximum:
                top = max(top, score)
            elif score > top:
                total = total * np.exp(top - score) + 1.0 if top > -np.inf else 1.0
                top = score
            elif score > -np.inf:
                total += np.exp(score - top)
        result[v] = vertex_weight[v] + top + (0.0 if maximum or top == -np.inf else np.log(total))


@kernel()
def outside(
    order: Array,
    incoming_begin: Array,
    incoming: Array,
    tail_begin: Array,
    tail: Array,
    vertex_weight: Array,
    edge_weight: Array,
    head: Array,
    maximum: bool,
    within: Array,
    result: Array,
    edges: Array,
) -> None:
    """Outside scores into `result` (V), filled with −inf; `edges` (E) gets inside + outside of each edge.

    `within` are the inside scores. A vertex passes its outside score on to the tails of its edges.
    """
    result[order[len(order) - 1]] = 0.0
    for n in range(len(order) - 1, -1, -1):
        v = order[n]
        for e in incoming[incoming_begin[v] : incoming_begin[v + 1]]:
            score = result[v] + vertex_weight[v] + edge_weight[e]
            for w in tail[tail_begin[e] : tail_begin[e + 1]]:
                score += within[w]
            edges[e] = score
            if score == -np.inf:
                continue
            for w in tail[tail_begin[e] : tail_begin[e + 1]]:
                rest = score - within[w]
                if maximum or result[w] == -np.inf:
                    result[w] = max(result[w], rest)
                else:
                    top = max(result[w], rest)
                    result[w] = top + np.log(np.exp(result[w] - top) + np.exp(rest - top))
