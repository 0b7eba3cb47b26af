"""Levels of precision for passes over a forest: K words of context, up to K = n − 1, which is exact.

A state of each level stands for states of the next, so each pass guides the one after it.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.intersection import Guide, Level, Table


def level(lm: Automaton, K: int) -> Level:
    """K words of context."""
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


def guide(lm: Automaton, K: int, table: Table, joint: Array) -> Guide:
    """What a pass with K words of context tells a finer one."""
    first = np.where(lm.depth == 1, lm.word, 0)
    for depth in range(2, lm.order + 1):
        nodes = np.flatnonzero(lm.depth == depth)
        first[nodes] = first[lm.parent[nodes]]
    left, right = np.arange(len(lm.word), dtype=np.int32), lm.state.copy()
    while (deep := lm.depth[left] > K).any():
        left[deep] = lm.parent[left[deep]]
    while (deep := lm.depth[right] > K).any():
        right[deep] = lm.state[lm.suffix[right[deep]]]
    return Guide(table, left, right, lm.depth == K, first.astype(np.int32), joint, True)


def unguided() -> Guide:
    """For a pass that has nothing to go by."""
    i, f, b = np.empty(0, np.int32), np.empty(0), np.empty(0, np.bool_)
    table = Table(np.full(1, -1, np.int32), i.reshape(0, 4), f, f)
    return Guide(table, i, i, b, i, f.reshape(0, 0), False)


def pair_scores(lm: Automaton, adjacent: Array) -> Array:
    """log p(w|x), bounded over what is before x; −inf where w cannot follow x; float64 (x, w)."""
    nodes = np.arange(1, 1 + len(adjacent))
    # Where w does not continue x: leave x for the empty context.
    leave = lm.backoff[nodes] + (lm.close[nodes] if lm.order > 2 else 0.0)
    score = leave[:, None] + lm.logprob[nodes][None, :]
    pairs = np.flatnonzero(lm.depth == 2)
    score[lm.parent[pairs] - 1, lm.word[pairs]] = lm.upper[pairs]
    return np.where(adjacent, score, -np.inf)
