"""Which words can stand side by side in the yields of a forest."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel


@kernel()
def adjacency(word: Array, begin: Array, left: Array, right: Array, adjacent: Array) -> None:
    """Set `adjacent[x, w]`, bool (W, W), where w can follow x directly; arrays as in `problem.Forest`.

    Sets of first and last words are rows of 64-bit blocks, joined over the steps of each node.
    """
    N, W = len(word), len(adjacent)
    blocks = (W + 63) // 64
    one = np.uint64(1)
    starts, ends = np.zeros((N, blocks), np.uint64), np.zeros((N, blocks), np.uint64)
    following = np.zeros((W, blocks), np.uint64)
    for n in range(N):
        w = word[n]
        if w >= 0:
            starts[n, w >> 6] = ends[n, w >> 6] = one << np.uint64(w & 63)
        for s in range(begin[n], begin[n + 1]):
            a, b = left[s], right[s]
            for k in range(blocks):
                starts[n, k] |= starts[a, k]
                ends[n, k] |= ends[a if b < 0 else b, k]
            if b >= 0:
                for x in range(W):
                    if ends[a, x >> 6] >> np.uint64(x & 63) & one:
                        for k in range(blocks):
                            following[x, k] |= starts[b, k]
    for x in range(W):
        for w in range(W):
            adjacent[x, w] = (following[x, w >> 6] >> np.uint64(w & 63) & one) != 0
