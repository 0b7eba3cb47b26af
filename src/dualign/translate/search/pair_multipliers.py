"""The bound with one word of context: each pair of words side by side chooses the best context before it.

With potentials π (`state_potentials`) the bound is L(π) = max over derivations of Σ θ + Σ P(x, w), over the
words x, w that stand side by side, and `bigram_pass` finds it. Its subgradient counts how often the best
derivation makes a context, less how often one of its pairs chooses it. While L falls, cells of the pass that
cannot reach the best known score are dropped, and with them pairs of words and contexts, which makes the
bound smaller and the next pass cheaper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import SCORE, Record, Rule, descent
from dualign.translate.search.bigram_pass import (
    BigramChart,
    Boundaries,
    best_pairs,
    compress,
    inside_pass,
    outside_pass,
)
from dualign.translate.search.state_potentials import Contexts, chosen_context, pair_bounds
from dualign.translate.search.word_multipliers import outside_bounds, word_bounds

MEMORY = 0.7
"""How much of the direction before each step has."""


class PairDual(NamedTuple):
    """The state of the descent.

    `potential`, `best` and `down` float64 (contexts): now, with the least bound, and the direction;
    `score` float64 (W); `found` int64 (room, 2) and `edges` int64 (room): the best derivation's pairs and
    edges; `size` int64 (2): how many of each; `threshold` float64 (1): cells below it are of no interest.
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
    """The same with only the cells that reach a higher threshold; before `drop`, after `outside_pass`."""
    chart = dual.chart._replace(words=Boundaries(*(part.copy() for part in dual.chart.words)))
    compress(chart, threshold)
    return dual._replace(chart=chart, best=dual.potential.copy(), threshold=np.full(1, threshold))


@kernel()
def evaluate(state: PairDual) -> tuple[float, float]:
    """L(π), and the squared norm of the direction of the next step; +inf if stopped."""
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
    down *= MEMORY
    for k in range(size):
        x, w = state.found[k, 0], state.found[k, 1]
        down[contexts.after[x, w]] += 1.0
        down[chosen_context(contexts, state.potential, x, w)] -= 1.0
    down[0] = down[1 + lm.begin] = 0.0
    norm = 0.0
    for g in down:
        norm += g**2
    return value, norm


@kernel()
def _improve(state: PairDual, record: Record, t: int, norm: float) -> float:
    """No better score is looked for."""
    return record.numbers[SCORE]


@kernel()
def _keep(state: PairDual) -> None:
    state.best[:] = state.potential


@kernel()
def _restore(state: PairDual) -> bool:
    """Go on from the best potentials, with the direction at hand."""
    state.potential[:] = state.best
    return False


@kernel()
def _prune(state: PairDual, value: float, least: float) -> bool:
    """Drop cells and words that are below the threshold; whether anything is left."""
    chart = state.chart
    if not outside_pass(chart, state.threshold[0], state.adjacent):
        return True
    compress(chart, state.threshold[0])
    return chart.words.cells[-1] > chart.words.cells[-2]


@kernel()
def _move(state: PairDual, step: float) -> None:
    if step < np.inf:
        for c in range(len(state.potential)):
            state.potential[c] -= step * state.down[c]


descend = descent(evaluate, _improve, _move, Rule(5, 0.7, 0.01), keep=_keep, restore=_restore, prune=_prune)
