"""The bound without context: each word chooses the best word before it, and the best context before that.

With potentials π (`state_potentials`) the bound is

    L(π) = max over derivations of Σ_w [ θ_w + max_x P(x, w) ]

convex in π. Its subgradient counts how often a context is made, less how often it is chosen. To move faster,
potentials are written as π(c) = u(last word of c) + v(c), and u and v are both moved: u by how often a word
is in the best derivation, less how often it was chosen to stand before one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.jit import kernel
from dualign.search.certificate import ROUNDING
from dualign.search.dual import BOUND, SCORE, Record, Rule, descent, new_record, run
from dualign.translate.forest.binary_forest import Forest
from dualign.translate.search.state_potentials import Contexts, chosen_context, pair_bounds

CHUNK = 20
"""Rounds after which the clock is looked at."""

MEMORY = 0.5
"""How much of the direction before each step has: subgradients of few derivations jump about."""


class WordDual(NamedTuple):
    """The state of the descent.

    `u` float64 (W) and `v` float64 (nodes); `best_u`, `best_v`: those with the least bound; `down_u`,
    `down_v`: the directions; `potential` (nodes); `pairs` (x, w); `score` (W): that of each word with the
    best word before it; `inside` and `back` (N): the best score of each node, and its first step; `times`
    (N): how often the best derivation has a node.
    """

    forest: Forest
    contexts: Contexts
    u: Array
    v: Array
    best_u: Array
    best_v: Array
    down_u: Array
    down_v: Array
    potential: Array
    pairs: Array
    score: Array
    inside: Array
    back: Array
    times: Array


def least_bound(
    forest: Forest, contexts: Contexts, target: float, rounds: int, clock: Clock
) -> tuple[float, Array]:
    """Minimise L: its least value, and the potentials, float64 (nodes). `target`: a score attained."""
    N, W = len(forest.word), len(contexts.base)
    nodes = 1 + W + int(np.sum(contexts.lm.depth == 2))
    words, pairs = (np.zeros((3, size)) for size in (W, nodes))
    state = WordDual(
        forest, contexts, words[0], pairs[0], words[1], pairs[1], words[2], pairs[2], np.zeros(nodes),
        np.empty((W, W)), np.empty(W), np.empty(N), np.empty(N, np.int64), np.empty(N),
    )  # fmt: skip
    record, rounding = new_record(score=target), ROUNDING * (1.0 + abs(target))
    run(lambda chunk: descend(state, record, chunk, rounding), record, rounds, CHUNK, clock)
    state.u[:], state.v[:] = state.best_u, state.best_v
    set_potential(state)
    return float(record.numbers[BOUND]), state.potential


@kernel(allocates=False)
def set_potential(state: WordDual) -> None:
    """π from u and v."""
    lm = state.contexts.lm
    for c in range(1, len(state.v)):
        state.potential[c] = state.u[lm.word[c]] + state.v[c]
    state.potential[1 + lm.begin] = state.potential[1 + lm.end] = 0.0


@kernel()
def _evaluate(state: WordDual) -> tuple[float, float]:
    """L(π), and the squared norm of the direction of the next step."""
    forest, contexts, potential = state.forest, state.contexts, state.potential
    lm, times = contexts.lm, state.times
    set_potential(state)
    pair_bounds(contexts, potential, state.pairs)
    word_bounds(state.pairs, lm.begin, state.score)
    inside_scores(forest, state.score, state.inside, state.back)
    state.down_u[:] *= MEMORY
    state.down_v[:] *= MEMORY
    times[:] = 0.0
    times[-1] = 1.0
    changed = False
    for n in range(len(forest.word) - 1, -1, -1):
        w = forest.word[n]
        if times[n] == 0.0 or w == lm.begin:
            continue
        if w < 0:
            s = state.back[n]
            times[forest.left[s]] += times[n]
            if forest.right[s] >= 0:
                times[forest.right[s]] += times[n]
            continue
        x = np.argmax(state.pairs[:, w])
        c = chosen_context(contexts, potential, x, w)
        state.down_u[w] += times[n]
        state.down_u[x] -= times[n]
        state.down_v[contexts.after[x, w]] += times[n]
        state.down_v[c] -= times[n]
        changed = True
    state.down_u[lm.begin] = state.down_u[lm.end] = 0.0
    state.down_v[0] = state.down_v[1 + lm.begin] = 0.0
    norm = 0.0
    for g in state.down_u:
        norm += g**2
    for g in state.down_v:
        norm += g**2
    return state.inside[-1], norm if changed else 0.0


@kernel(allocates=False)
def word_bounds(pairs: Array, begin: int, score: Array) -> None:
    """For each word its score after the best word before it."""
    score[:] = -np.inf
    for x in range(len(score)):
        for w in range(len(score)):
            score[w] = pairs[x, w] if pairs[x, w] > score[w] else score[w]
    score[begin] = 0.0


@kernel(allocates=False)
def inside_scores(forest: Forest, score: Array, inside: Array, back: Array) -> None:
    """The best score of each node into `inside` and its first step into `back`, with `score` float64 (W) for
    each word."""
    for n in range(len(forest.word)):
        if forest.word[n] >= 0:
            inside[n] = forest.weight[n] + score[forest.word[n]]
            continue
        top = -np.inf
        back[n] = forest.begin[n]
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
    state.best_u[:] = state.u
    state.best_v[:] = state.v


@kernel()
def _restore(state: WordDual) -> bool:
    """Go on from the best multipliers, with the direction at hand."""
    state.u[:] = state.best_u
    state.v[:] = state.best_v
    return False


@kernel()
def _move(state: WordDual, step: float) -> None:
    for w in range(len(state.u)):
        state.u[w] -= step * state.down_u[w]
    for c in range(len(state.v)):
        state.v[c] -= step * state.down_v[c]


descend = descent(
    _evaluate, _improve, _move, Rule(6, 0.7, 0.02, impossible=-np.inf), keep=_keep, restore=_restore
)


@kernel()
def outside_bounds(forest: Forest, score: Array) -> Array:
    """For each node the most that a derivation adds to it, with `score` float64 (W) for each word."""
    return _outside(forest, score)[1]


@kernel()
def _outside(forest: Forest, score: Array) -> tuple[Array, Array]:
    """Inside scores, and the most that a derivation adds to them."""
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
    return inside, outside


@kernel()
def reduced(forest: Forest, score: Array, threshold: float) -> Forest:
    """The forest without steps whose derivations are all below the threshold; `score` as above."""
    inside, outside = _outside(forest, score)
    begin, kept = np.zeros_like(forest.begin), np.zeros(len(forest.left), np.bool_)
    for n in range(len(forest.word)):
        begin[n + 1] = begin[n]
        for s in range(forest.begin[n], forest.begin[n + 1]):
            b = forest.right[s]
            value = outside[n] + forest.step_weight[s] + inside[forest.left[s]]
            kept[s] = value + (inside[b] if b >= 0 else 0.0) >= threshold
            begin[n + 1] += kept[s]
    return Forest(
        forest.word, forest.weight, begin, forest.left[kept], forest.right[kept], forest.step_weight[kept],
        forest.edge[kept],
    )  # fmt: skip
