"""Two bounds that potentials π (`state_potentials`) make small: without context, and with one word of it.

**Without context** each word chooses the best word before it, and the best context before that. The bound is

    L(π) = max over derivations of Σ_w [ θ_w + max_x P(x, w) ]

convex in π. Its subgradient counts how often a context is made, less how often it is chosen. To move faster,
potentials are written as π(c) = u(last word of c) + v(c), and u and v are both moved: u by how often a word
is in the best derivation, less how often it was chosen to stand before one.

**With one word of context** each pair of words side by side chooses the best context before it. The bound is

    L(π) = max over derivations of Σ θ + Σ P(x, w), over the words x, w that stand side by side

and `bigram_pass` finds it. Its subgradient counts how often the best derivation makes a context, less how
often one of its pairs chooses it. While L falls, cells of the pass that cannot reach the best known score are
dropped, and with them pairs of words and contexts, which makes the bound smaller and the next pass cheaper.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign._search.certificate import ROUNDING
from dualign._search.dual import BOUND, SCORE, Record, StepRule, descent, new_record, run
from dualign.translate.forest.binary import Forest
from dualign.translate.search.bigram_pass import (
    BigramChart,
    Boundaries,
    best_pairs,
    compiled_compress,
    compress,
    inside_pass,
    outside_pass,
)
from dualign.translate.search.state_potentials import Contexts, chosen_context, pair_bounds

CHUNK = 20
"""Rounds after which the clock is looked at."""

WORD_MEMORY, PAIR_MEMORY = 0.5, 0.7
"""How much of the direction before each step has: subgradients of few derivations jump about."""


@part
def _known_score(state: Any, record: Record, t: int, norm: float) -> float:
    """Return the best score known: no better one is looked for."""
    return record.numbers[SCORE]


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
    run(partial(descend_words, state, record, tolerance=rounding), record, rounds, CHUNK, clock)
    state.u[:], state.v[:] = state.best_u, state.best_v
    compiled_set_potential(state)
    return float(record.numbers[BOUND]), state.potential


@part(allocates=False)
def set_potential(state: WordDual) -> None:
    """π from u and v."""
    lm = state.contexts.lm
    for c in range(1, len(state.v)):
        state.potential[c] = state.u[lm.word[c]] + state.v[c]
    state.potential[1 + lm.begin] = state.potential[1 + lm.end] = 0.0


compiled_set_potential = kernel(set_potential)


@part
def _word_bound(state: WordDual) -> tuple[float, float]:
    """Return L(π), and the squared norm of the direction of the next step."""
    forest, contexts, potential = state.forest, state.contexts, state.potential
    lm, times = contexts.lm, state.times
    set_potential(state)
    pair_bounds(contexts, potential, state.pairs)
    word_bounds(state.pairs, lm.begin, state.score)
    inside_scores(forest, state.score, state.inside, state.back)
    state.down_u[:] *= WORD_MEMORY
    state.down_v[:] *= WORD_MEMORY
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


@part(allocates=False)
def word_bounds(pairs: Array, begin: int, score: Array) -> None:
    """For each word its score after the best word before it."""
    score[:] = -np.inf
    for x in range(len(score)):
        for w in range(len(score)):
            score[w] = pairs[x, w] if pairs[x, w] > score[w] else score[w]
    score[begin] = 0.0


compiled_word_bounds = kernel(word_bounds)


@part(allocates=False)
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


@part
def _keep_words(state: WordDual) -> None:
    state.best_u[:] = state.u
    state.best_v[:] = state.v


@part
def _restore_words(state: WordDual) -> bool:
    """Go on from the best multipliers, with the direction at hand."""
    state.u[:] = state.best_u
    state.v[:] = state.best_v
    return False


@part
def _move_words(state: WordDual, step: float) -> None:
    for w in range(len(state.u)):
        state.u[w] -= step * state.down_u[w]
    for c in range(len(state.v)):
        state.v[c] -= step * state.down_v[c]


descend_words = descent(
    _word_bound,
    _known_score,
    _move_words,
    StepRule(6, 0.7, 0.02, impossible=-np.inf),
    keep=_keep_words,
    restore=_restore_words,
)


@part
def outside_bounds(forest: Forest, score: Array) -> Array:
    """Return for each node the most that a derivation adds to it, with `score` float64 (W) for each word."""
    return _outside(forest, score)[1]


compiled_outside_bounds = kernel(outside_bounds)


@part
def _outside(forest: Forest, score: Array) -> tuple[Array, Array]:
    """Return inside scores, and the most that a derivation adds to them."""
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


@kernel
def reduced(forest: Forest, score: Array, threshold: float) -> Forest:
    """Return the forest without steps whose derivations are all below the threshold; `score` as above."""
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


class PairDual(NamedTuple):
    """The state of the descent.

    `potential`, `best` and `down` float64 (contexts): now, with the least bound, and the direction;
    `score` float64 (W); `found` int64 (room, 2) and `edges` int64 (room): the best derivation's pairs and
    edges; `size` int64 (2): how many of each; `threshold` float64 (1): cells below it are ignored.
    """

    chart: BigramChart
    contexts: Contexts
    potential: Array
    best: Array
    down: Array
    score: Array
    adjacent: Array
    found: Array
    edges: Array
    size: Array
    threshold: Array


def new_dual(chart: BigramChart, contexts: Contexts, potential: Array, room: int) -> PairDual:
    """From these potentials on; `room` for the longest derivation."""
    W = len(chart.pairs)
    return PairDual(
        chart, contexts, potential.copy(), potential.copy(), np.zeros(len(potential)), np.empty(W),
        np.ones((W, W), np.bool_), np.empty((room, 2), np.int64), np.empty(room, np.int64),
        np.zeros(2, np.int64), np.full(1, -np.inf),
    )  # fmt: skip


def upper_part(dual: PairDual, threshold: float) -> PairDual:
    """Return the same with only the cells that reach a higher threshold; before `drop`, after
    `outside_pass`."""
    chart = dual.chart._replace(words=Boundaries(*(part.copy() for part in dual.chart.words)))
    compiled_compress(chart, threshold)
    return dual._replace(chart=chart, best=dual.potential.copy(), threshold=np.full(1, threshold))


@part
def pair_bound(state: PairDual) -> tuple[float, float]:
    """Return L(π), and the squared norm of the direction of the next step; +inf if stopped."""
    chart, contexts, down = state.chart, state.contexts, state.down
    lm = contexts.lm
    pair_bounds(contexts, state.potential, chart.pairs)
    word_bounds(chart.pairs, lm.begin, state.score)
    reach = outside_bounds(chart.forest, state.score)
    value = inside_pass(chart, state.score, reach, state.threshold[0])
    if not -np.inf < value < np.inf:
        state.size[:] = 0
        return value, 1.0
    size, count = best_pairs(chart, state.found, state.edges)
    state.size[0], state.size[1] = size, count
    down *= PAIR_MEMORY
    for k in range(size):
        x, w = state.found[k, 0], state.found[k, 1]
        down[contexts.after[x, w]] += 1.0
        down[chosen_context(contexts, state.potential, x, w)] -= 1.0
    down[0] = down[1 + lm.begin] = 0.0
    norm = 0.0
    for g in down:
        norm += g**2
    return value, norm


compiled_pair_bound = kernel(pair_bound)


@part
def _keep_pairs(state: PairDual) -> None:
    state.best[:] = state.potential


@part
def _restore_pairs(state: PairDual) -> bool:
    """Go on from the best potentials, with the direction at hand."""
    state.potential[:] = state.best
    return False


@part
def _prune(state: PairDual, value: float, least: float) -> bool:
    """Drop cells and words that are below the threshold; whether anything is left."""
    chart = state.chart
    if not outside_pass(chart, state.threshold[0], state.adjacent):
        return True
    compress(chart, state.threshold[0])
    return chart.words.cells[-1] > chart.words.cells[-2]


@part
def _move_pairs(state: PairDual, step: float) -> None:
    if step < np.inf:
        for c in range(len(state.potential)):
            state.potential[c] -= step * state.down[c]


descend_pairs = descent(
    pair_bound,
    _known_score,
    _move_pairs,
    StepRule(5, 0.7, 0.01),
    keep=_keep_pairs,
    restore=_restore_pairs,
    prune=_prune,
)
