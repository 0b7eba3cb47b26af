"""Expected counts of a block of sentence pairs from its posteriors (see `dualign.infer.posteriors`)."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Block
from dualign.infer.cells import lengths_of


@kernel()
def add_counts(
    v0: int, v1: int, block: Block, agree: bool, posterior: Array, counts: Array, null_source: Array
) -> None:
    """Add the posteriors of the cells of source words v0..v1 to the counts (float64) of their entries.

    If they `agree`, both directions count the product of their posteriors (Liang et al. 2006). `null_source`
    float64 (source words) gains what is left of each of their tokens. Each count gets its addends in corpus
    order whatever the ranges are, so threads may share the arrays.
    """
    pairs = block.pairs
    for n in range(len(pairs.source_offsets) - 1):
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        s = pairs.source_offsets[n]
        for k in range(s, pairs.source_offsets[n + 1]):
            v = pairs.source[k]
            if v0 <= v < v1:
                slot = block.first[n] + (k - s) * J
                for c in range(slot, slot + block.filled[k]):
                    m = block.entry[c]
                    p = slot + block.position[c]
                    p0, p1 = posterior[p, 0], posterior[p, 1]
                    if agree:
                        p0 = p1 = p0 * p1
                    counts[m, 0] += p0
                    counts[m, 1] += p1
                rest = np.float32(1)
                for p in range(slot, slot + J):
                    rest -= posterior[p, 1]
                null_source[v] += max(np.float32(0), rest)


@kernel()
def add_null_counts(block: Block, posterior: Array, null_target: Array) -> None:
    """`null_target` float64 (target words) gains the probability that each token is linked to nothing."""
    pairs = block.pairs
    for n in range(len(pairs.source_offsets) - 1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        t = pairs.target_offsets[n]
        J = pairs.target_offsets[n + 1] - t
        for j in range(J):
            rest = np.float32(1)
            for i in range(I):
                rest -= posterior[block.first[n] + i * J + j, 0]
            null_target[pairs.target[t + j]] += max(np.float32(0), rest)


@kernel()
def add_positions(block: Block, posterior: Array, begins: Array, counts: Array) -> None:
    """Add posteriors (slots, 2) to expected counts (float64), laid out like `Positions.values`."""
    pairs, first = block.pairs, block.first
    for n in range(len(first) - 1):
        I, J = lengths_of(n, pairs)
        forward = counts[begins[n] : begins[n] + J * (I + 1)].reshape(J, I + 1)
        begin = begins[n] + J * (I + 1)
        backward = counts[begin : begin + I * (J + 1)].reshape(I, J + 1)
        for j in range(J):
            forward[j, 0] += 1
        for i in range(I):
            backward[i, 0] += 1
            for j in range(J):
                p, q = posterior[first[n] + i * J + j, 0], posterior[first[n] + i * J + j, 1]
                forward[j, i + 1] += p
                forward[j, 0] -= p
                backward[i, j + 1] += q
                backward[i, 0] -= q
