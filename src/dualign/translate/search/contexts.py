"""What passes over a forest know of words: their context, and which can stand side by side.

**Levels.** A pass keeps K words of context, up to K = n − 1, which is exact. A state of each level stands for
states of the next, so each pass guides the one after it.

**Neighbours.** From the words that can begin and end the yields of a forest's nodes follows which words can
stand side by side. Sets of words are rows of 64-bit blocks.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.translate.forest.binary import Forest
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.intersection import Level, PassGuide, Table


def level(lm: Automaton, K: int) -> Level:
    """Return the level with K words of context."""
    words = int((lm.depth == 1).sum())
    nodes = np.arange(1, 1 + words, dtype=np.int32)
    state = np.zeros((words, 3), np.int32)
    state[:, 1] = K <= 1
    if K > 0:
        state[:, 0], state[:, 2] = nodes, lm.state[nodes]
    score = lm.upper[nodes].copy()
    # <s> is not scored, and nothing stands before it.
    state[lm.begin, :2], score[lm.begin] = (0, 1), 0.0
    return Level(lm, K, state, score)


def guide(lm: Automaton, K: int, table: Table, joint: Array) -> PassGuide:
    """Return what a pass with K words of context tells a finer one."""
    first = np.where(lm.depth == 1, lm.word, 0)
    for depth in range(2, lm.order + 1):
        nodes = np.flatnonzero(lm.depth == depth)
        first[nodes] = first[lm.parent[nodes]]
    left, right = np.arange(len(lm.word), dtype=np.int32), lm.state.copy()
    while (deep := lm.depth[left] > K).any():
        left[deep] = lm.parent[left[deep]]
    while (deep := lm.depth[right] > K).any():
        right[deep] = lm.state[lm.suffix[right[deep]]]
    return PassGuide(table, left, right, lm.depth == K, first.astype(np.int32), joint, True)


def unguided() -> PassGuide:
    """Return the guide of a first pass, which knows nothing."""
    i, f, b = np.empty(0, np.int32), np.empty(0), np.empty(0, np.bool_)
    table = Table(np.full(1, -1, np.int32), i.reshape(0, 4), f, f)
    return PassGuide(table, i, i, b, i, f.reshape(0, 0), False)


def pair_scores(lm: Automaton, adjacent: Array) -> Array:
    """log p(w|x), bounded over what is before x; −inf where w cannot follow x; float64 (x, w)."""
    nodes = np.arange(1, 1 + len(adjacent))
    # Where w does not continue x: leave x for the empty context.
    leave = lm.backoff[nodes] + (lm.close[nodes] if lm.order > 2 else 0.0)
    score = leave[:, None] + lm.logprob[nodes][None, :]
    pairs = np.flatnonzero(lm.depth == 2)
    score[lm.parent[pairs] - 1, lm.word[pairs]] = lm.upper[pairs]
    return np.where(adjacent, score, -np.inf)


@part(allocates=False)
def is_member(words: Array, w: int) -> bool:
    """Return whether w is in a set."""
    return (words[w >> 6] >> np.uint64(w & 63) & np.uint64(1)) != 0


@part(allocates=False)
def include(words: Array, others: Array) -> None:
    """Add the members of another set."""
    for k in range(len(words)):
        words[k] |= others[k]


@part
def boundary_sets(forest: Forest, W: int) -> Array:
    """Return the first and the last words of the nodes, of W words; uint64 (2, N, blocks)."""
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


@kernel
def adjacency(forest: Forest, W: int) -> Array:
    """Return whether word w can follow word x directly; bool (x, w)."""
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
