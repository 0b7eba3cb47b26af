"""Which words can begin and end the yields of a forest's nodes, and stand side by side in them.

Sets of words are rows of 64-bit blocks.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.forest.binary_forest import Forest


@kernel(allocates=False)
def is_member(words: Array, w: int) -> bool:
    """Whether w is in a set."""
    return (words[w >> 6] >> np.uint64(w & 63) & np.uint64(1)) != 0


@kernel(allocates=False)
def include(words: Array, others: Array) -> None:
    """Add the members of another set."""
    for k in range(len(words)):
        words[k] |= others[k]


@kernel()
def boundary_sets(forest: Forest, W: int) -> Array:
    """The first and the last words of the nodes, of W words; uint64 (2, N, blocks)."""
    N = len(forest.word)
    sets = np.zeros((2, N, (W + 63) // 64), np.uint64)
    for n in range(N):
        w = forest.word[n]
        if w >= 0:
            sets[0, n, w >> 6] = sets[1, n, w >> 6] = np.uint64(1) << np.uint64(w & 63)
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            include(sets[0, n], sets[0, a])
            include(sets[1, n], sets[1, a if b < 0 else b])
    return sets


@kernel()
def adjacency(forest: Forest, W: int) -> Array:
    """Whether word w can follow word x directly; bool (x, w)."""
    sets = boundary_sets(forest, W)
    blocks = sets.shape[2]
    # What can follow each node, then each word.
    after, following = np.zeros((sets.shape[1], blocks), np.uint64), np.zeros((W, blocks), np.uint64)
    for s in range(len(forest.left)):
        if forest.right[s] >= 0:
            include(after[forest.left[s]], sets[0, forest.right[s]])
    for n in range(len(after)):
        if not after[n].any():
            continue
        for x in range(W):
            if sets[1, n, x >> 6] != 0 and is_member(sets[1, n], x):
                include(following[x], after[n])
    result = np.zeros((W, W), np.bool_)
    for x in range(W):
        for w in range(W):
            result[x, w] = is_member(following[x], w)
    return result
