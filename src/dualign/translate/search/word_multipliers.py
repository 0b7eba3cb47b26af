"""Lagrange multipliers on words: the simple bigram relaxation, made useful for every forest.

Every word of a yield but `</s>` is followed by exactly one other. So for any u, adding `u(w)` for each word
w and taking `u(x)` off wherever a word follows x changes the score of no derivation. It changes bounds:
where each word may choose the best word before it, whether that stands there or not, the bound is

    L(u) = max over derivations of Σ_w [ θ_w + u(w) + max_x ( log p(w|x) − u(x) ) ]

which is the dual of Rush & Collins (2011), Figure 1, with one multiplier for each word instead of each leaf
(so that it holds for leaves in any order, and any number of times). L is convex; its subgradient counts how
often a word is in the best derivation, less how often it was chosen to stand before one.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import BOUND, FACTOR, Record, observe, polyak_step
from dualign.translate.search.translation_problem import Forest

PATIENCE, LEAST = 6, 0.02
"""Rounds without a better bound before steps are halved, and when steps are too short to go on."""


@kernel()
def descend(
    forest: Forest,
    pairs: Array,
    begin: int,
    end: int,
    target: float,
    rounds: int,
    record: Record,
    best: Array,
) -> float:
    """Minimise L from `best` on, into `best` float64 (W), and return its least value.

    `pairs` float64 (x, w): log p(w|x), −inf where w cannot follow x. `target` is a score that is attained;
    steps are Polyak's (`dualign.search.dual`).
    """
    N, W = len(forest.word), len(pairs)
    u = best.copy()
    chosen = np.zeros(W, np.int64)
    score = np.empty(W)
    inside, back = np.empty(N), np.empty(N, np.int64)
    gradient = np.empty(W)
    stack = np.empty(N + 2, np.int32)
    for _ in range(rounds):
        for w in range(W):
            top = -np.inf
            for x in range(W):
                value = pairs[x, w] - u[x]
                if value > top:
                    top = value
                    chosen[w] = x
            score[w] = top + u[w]
        score[begin] = u[begin]
        for n in range(N):
            if forest.word[n] >= 0:
                inside[n] = forest.weight[n] + score[forest.word[n]]
                continue
            top = -np.inf
            for s in range(forest.begin[n], forest.begin[n + 1]):
                value = forest.step_weight[s] + inside[forest.left[s]]
                if forest.right[s] >= 0:
                    value += inside[forest.right[s]]
                if value > top:
                    top = value
                    back[n] = s
            inside[n] = top
        value = inside[N - 1]
        factor = record.numbers[FACTOR]
        if observe(record, value, target, PATIENCE, 0.5):
            best[:] = u
        elif record.numbers[FACTOR] < factor:
            u[:] = best
            if record.numbers[FACTOR] < LEAST:
                break
        gradient[:] = 0.0
        stack[0] = N - 1
        waiting = 1
        while waiting > 0:
            waiting -= 1
            n = stack[waiting]
            w = forest.word[n]
            if w >= 0:
                gradient[w] += 1.0
                if w != begin:
                    gradient[chosen[w]] -= 1.0
                continue
            s = back[n]
            if waiting + 2 > len(stack):
                grown = np.empty(2 * len(stack), np.int32)
                grown[: len(stack)] = stack
                stack = grown
            stack[waiting] = forest.left[s]
            waiting += 1
            if forest.right[s] >= 0:
                stack[waiting] = forest.right[s]
                waiting += 1
        gradient[end] = 0.0
        norm = 0.0
        for w in range(W):
            norm += gradient[w] ** 2
        if norm == 0.0 or value <= target:
            break
        step = polyak_step(record, value, norm, target)
        for w in range(W):
            u[w] -= step * gradient[w]
    return record.numbers[BOUND]


@kernel()
def outside_bounds(forest: Forest, score: Array) -> Array:
    """For each node the most that a derivation adds to it, with `score` float64 (W) for each word."""
    N = len(forest.word)
    inside, outside = np.empty(N), np.full(N, -np.inf)
    for n in range(N):
        if forest.word[n] >= 0:
            inside[n] = forest.weight[n] + score[forest.word[n]]
            continue
        inside[n] = -np.inf
        for s in range(forest.begin[n], forest.begin[n + 1]):
            b = forest.right[s]
            value = forest.step_weight[s] + inside[forest.left[s]] + (inside[b] if b >= 0 else 0.0)
            inside[n] = max(inside[n], value)
    outside[N - 1] = 0.0
    for n in range(N - 1, -1, -1):
        for s in range(forest.begin[n], forest.begin[n + 1]):
            a, b = forest.left[s], forest.right[s]
            around = outside[n] + forest.step_weight[s]
            if b >= 0:
                outside[b] = max(outside[b], around + inside[a])
                around += inside[b]
            outside[a] = max(outside[a], around)
    return outside
