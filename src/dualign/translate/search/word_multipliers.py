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

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import BOUND, SCORE, Record, Rule, descent, new_record
from dualign.translate.forest.binary_forest import Forest
from dualign.translate.lm.trie import Automaton


class WordDual(NamedTuple):
    """The state of the descent.

    `pairs` float64 (x, w): log p(w|x), −inf where w cannot follow x; `u` and `best` float64 (W): multipliers
    now and with the least bound; `chosen` int64 (W): the best word before each; `score` float64 (W): that of
    each word with it; `inside` and `back` (N): the best score of each node, and its first step;
    `gradient` float64 (W); `stack` int64 (N + 2): room for one more than the deepest derivation.
    """

    forest: Forest
    pairs: Array
    begin: int
    end: int
    u: Array
    best: Array
    chosen: Array
    score: Array
    inside: Array
    back: Array
    gradient: Array
    stack: Array


def least_bound(
    forest: Forest, pairs: Array, lm: Automaton, target: float, rounds: int
) -> tuple[float, Array]:
    """Minimise L from u = 0 on: its least value, and the multipliers. `target`: a score that is attained."""
    N, W = len(forest.word), len(pairs)
    state = WordDual(
        forest, pairs, lm.begin, lm.end, np.zeros(W), np.zeros(W), np.zeros(W, np.int64), np.empty(W),
        np.empty(N), np.empty(N, np.int64), np.empty(W), np.empty(N + 2, np.int64),
    )  # fmt: skip
    record = new_record(score=target)
    descend(state, record, rounds, 0.0)
    return float(record.numbers[BOUND]), state.best


@kernel()
def _evaluate(state: WordDual) -> tuple[float, float]:
    """L(u) and the squared norm of its subgradient: how often a word is used, less how often it is chosen."""
    forest, chosen, gradient, stack = state.forest, state.chosen, state.gradient, state.stack
    choose_words(state)
    inside_scores(forest, state.score, state.inside, state.back)
    gradient[:] = 0.0
    stack[0] = len(forest.word) - 1
    waiting = 1
    while waiting > 0:
        waiting -= 1
        n = stack[waiting]
        w = forest.word[n]
        if w >= 0:
            gradient[w] += 1.0
            if w != state.begin:
                gradient[chosen[w]] -= 1.0
            continue
        s = state.back[n]
        stack[waiting] = forest.left[s]
        waiting += 1
        if forest.right[s] >= 0:
            stack[waiting] = forest.right[s]
            waiting += 1
    gradient[state.end] = 0.0
    norm = 0.0
    for g in gradient:
        norm += g**2
    return state.inside[-1], norm


@kernel(allocates=False)
def choose_words(state: WordDual) -> None:
    """For each word the best word before it."""
    pairs, u, score = state.pairs, state.u, state.score
    for w in range(len(u)):
        top = -np.inf
        for x in range(len(u)):
            value = pairs[x, w] - u[x]
            if value > top:
                top = value
                state.chosen[w] = x
        score[w] = top + u[w]
    score[state.begin] = u[state.begin]


@kernel(allocates=False)
def inside_scores(forest: Forest, score: Array, inside: Array, back: Array) -> None:
    """The best score of each node into `inside` and its first step into `back`, with `score` float64 (W) for
    each word."""
    for n in range(len(forest.word)):
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


@kernel()
def _improve(state: WordDual, record: Record, t: int, norm: float) -> float:
    """No better score is looked for."""
    return record.numbers[SCORE]


@kernel()
def _keep(state: WordDual) -> None:
    state.best[:] = state.u


@kernel()
def _restore(state: WordDual) -> bool:
    """Go on from the best multipliers, with the subgradient at hand."""
    state.u[:] = state.best
    return False


@kernel()
def _move(state: WordDual, step: float) -> None:
    for w in range(len(state.u)):
        state.u[w] -= step * state.gradient[w]


descend = descent(
    _evaluate, _improve, _move, Rule(6, 0.5, 0.02, impossible=-np.inf), keep=_keep, restore=_restore
)


@kernel()
def outside_bounds(forest: Forest, score: Array) -> Array:
    """For each node the most that a derivation adds to it, with `score` float64 (W) for each word."""
    N = len(forest.word)
    inside, outside = np.empty(N), np.full(N, -np.inf)
    inside_scores(forest, score, inside, np.empty(N, np.int64))
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
