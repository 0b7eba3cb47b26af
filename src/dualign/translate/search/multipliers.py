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
from dualign._search.dual import BOUND, CLOSED, ROUNDS, SCORE, Record, StepRule, descent, new_record, run
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.bigram_pass import (
    BigramChart,
    Boundaries,
    best_pairs,
    bigram_table,
    boundary_words,
    compiled_compress,
    compiled_inside_pass,
    compiled_outside_pass,
    compress,
    inside_pass,
    new_chart,
    outside_pass,
)
from dualign.translate.search.derivations import Incumbents, rounding
from dualign.translate.search.intersection import Table, table_of
from dualign.translate.search.passes import cube, level
from dualign.translate.search.problem import Forest, ForestProblem
from dualign.translate.search.state_potentials import (
    Contexts,
    carried,
    chosen_context,
    compiled_pair_bounds,
    contexts_of,
    narrow,
    pair_bounds,
    pair_scores,
    shaped,
)

LEAST_ROUNDS, MOST_ROUNDS = 40, 300
"""Of the multipliers without context."""

CHUNK = 20
"""Rounds after which the clock is looked at."""

INNER = 30
"""Rounds over the part near the bound."""

QUICK = 0.005
"""Estimated seconds after which it pays to make the language model smaller."""

MOST_CELLS = 1 << 26
"""Cells of the pass with one word of context: about 1 GB."""

WORD_MEMORY, PAIR_MEMORY = 0.5, 0.7
"""How much of the direction before each step has: subgradients of few derivations jump about."""


@part
def _known_score(state: Any, record: Record, t: int, norm: float) -> float:
    """Return the best score known: no better one is looked for."""
    return record.numbers[SCORE]


@part
def _keep(state: Any) -> None:
    state.best[:] = state.now


@part
def _restore(state: Any) -> bool:
    """Go on from the best multipliers, with the direction at hand."""
    state.now[:] = state.best
    return False


@part
def _move(state: Any, step: float) -> None:
    if step < np.inf:
        for c in range(len(state.now)):
            state.now[c] -= step * state.down[c]


@part
def squared(down: Array) -> float:
    """Return the squared norm of a direction."""
    norm = 0.0
    for g in down:
        norm += g**2
    return norm


class WordDual(NamedTuple):
    """The state of the descent.

    `now`, `best` and `down` float64 (W + nodes), u and then v: now, with the least bound, and the direction;
    `potential` (nodes); `pairs` (x, w); `score` (W): that of each word with the best word before it; `inside`
    and `back` (N): the best score of each node, and its first step; `times` (N): how often the best
    derivation has a node.
    """

    forest: Forest
    contexts: Contexts
    now: Array
    best: Array
    down: Array
    potential: Array
    pairs: Array
    score: Array
    inside: Array
    back: Array
    times: Array


def least_bound(problem: ForestProblem, target: float, clock: Clock) -> tuple[float, Contexts, Array]:
    """Minimise L: its least value, the contexts, and their potentials, float64 (nodes). `target`: a score
    attained."""
    forest, contexts = problem.forest, contexts_of(problem.automaton, problem.adjacent)
    N, W = len(forest.word), len(contexts.base)
    nodes = 1 + W + int(np.sum(contexts.lm.depth == 2))
    now, best, down = np.zeros((3, W + nodes))
    state = WordDual(
        forest, contexts, now, best, down, np.zeros(nodes), np.empty((W, W)), np.empty(W), np.empty(N),
        np.empty(N, np.int64), np.empty(N),
    )  # fmt: skip
    record = new_record(score=target)
    # Few rounds where the rest is quick.
    rounds = min(max(N * W // 2000, LEAST_ROUNDS), MOST_ROUNDS)
    run(partial(descend_words, state, record, tolerance=rounding(target)), record, rounds, CHUNK, clock)
    state.now[:] = state.best
    compiled_set_potential(state)
    return float(record.numbers[BOUND]), contexts, state.potential


@part(allocates=False)
def set_potential(state: WordDual) -> None:
    """π from u and v."""
    lm, W = state.contexts.lm, len(state.score)
    for c in range(1, len(state.potential)):
        state.potential[c] = state.now[lm.word[c]] + state.now[W + c]
    state.potential[1 + lm.begin] = state.potential[1 + lm.end] = 0.0


compiled_set_potential = kernel(set_potential)


@part
def _word_bound(state: WordDual) -> tuple[float, float]:
    """Return L(π), and the squared norm of the direction of the next step."""
    forest, contexts, potential, down = state.forest, state.contexts, state.potential, state.down
    lm, times, W = contexts.lm, state.times, len(state.score)
    set_potential(state)
    pair_bounds(contexts, potential, state.pairs)
    word_bounds(state.pairs, lm.begin, state.score)
    inside_scores(forest, state.score, state.inside, state.back)
    down *= WORD_MEMORY
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
        down[w] += times[n]
        down[x] -= times[n]
        down[W + contexts.after[x, w]] += times[n]
        down[W + c] -= times[n]
        changed = True
    down[lm.begin] = down[lm.end] = down[W] = down[W + 1 + lm.begin] = 0.0
    return state.inside[-1], squared(down) if changed else 0.0


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


descend_words = descent(
    _word_bound, _known_score, _move, StepRule(6, 0.7, 0.02, impossible=-np.inf), keep=_keep, restore=_restore
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

    `now`, `best` and `down` float64 (contexts): potentials now, with the least bound, and the direction;
    `score` float64 (W); `found` int64 (room, 2) and `edges` int64 (room): the best derivation's pairs and
    edges; `size` int64 (2): how many of each; `threshold` float64 (1): cells below it are ignored.
    """

    chart: BigramChart
    contexts: Contexts
    now: Array
    best: Array
    down: Array
    score: Array
    adjacent: Array
    found: Array
    edges: Array
    size: Array
    threshold: Array


@part
def pair_bound(state: PairDual) -> tuple[float, float]:
    """Return L(π), and the squared norm of the direction of the next step; +inf if stopped."""
    chart, contexts, down = state.chart, state.contexts, state.down
    lm = contexts.lm
    pair_bounds(contexts, state.now, chart.pairs)
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
        down[chosen_context(contexts, state.now, x, w)] -= 1.0
    down[0] = down[1 + lm.begin] = 0.0
    return value, squared(down)


compiled_pair_bound = kernel(pair_bound)


@part
def _prune(state: PairDual, value: float, least: float) -> bool:
    """Drop cells and words that are below the threshold; whether anything is left."""
    chart = state.chart
    if not outside_pass(chart, state.threshold[0], state.adjacent):
        return True
    compress(chart, state.threshold[0])
    return chart.words.cells[-1] > chart.words.cells[-2]


descend_pairs = descent(
    pair_bound, _known_score, _move, StepRule(5, 0.7, 0.01), keep=_keep, restore=_restore, prune=_prune
)


def first_bound(problem: ForestProblem, incumbents: Incumbents, beam: int, clock: Clock) -> float:
    """Offer what cube pruning with that beam finds; return the bound without context."""
    incumbents.offer(cube(problem, beam, incumbents.k))
    return least_bound(problem, incumbents.score, clock)[0]


class PairSearch:
    """The pass with one word of context, again and again, with potentials that make its bound smaller.

    `work` estimates the seconds of one round. That no time is measured keeps results the same.
    """

    def __init__(self, problem: ForestProblem, incumbents: Incumbents, clock: Clock) -> None:
        self.problem = problem
        self.bound, self._contexts, self._potential = least_bound(problem, incumbents.score, clock)

    def start(self, threshold: float, stop: Array) -> bool:
        """Make ready for rounds; False if the forest is too large for them."""
        problem, W = self.problem, len(self.problem.adjacent)
        pairs, score = np.empty((W, W)), np.empty(W)
        compiled_pair_bounds(self._contexts, self._potential, pairs)
        compiled_word_bounds(pairs, problem.automaton.begin, score)
        self.forest = reduced(problem.forest, score, threshold)
        words = boundary_words(self.forest, W)
        if words.cells[-1] > MOST_CELLS:
            return False
        chart = new_chart(self.forest, words, pairs, stop)
        room = int(problem.longest) + 4
        self._dual = PairDual(
            chart, self._contexts, self._potential.copy(), self._potential, np.zeros(len(self._potential)),
            score, np.ones((W, W), np.bool_), np.empty((room, 2), np.int64), np.empty(room, np.int64),
            np.zeros(2, np.int64), np.full(1, -np.inf),
        )  # fmt: skip
        self.adjacent = problem.adjacent.copy()
        self._share, self.spent = 0.5, 0.0
        self._part, self._goal = self._dual, self.bound
        self.work = self._work_of(chart)
        return True

    def round(self, incumbents: Incumbents) -> bool:
        """Do a round over all that is left: the bound of the potentials, a derivation to offer, and what
        can be dropped. Returns whether there is more to gain."""
        dual, chart = self._dual, self._dual.chart
        dual.threshold[0] = max(dual.threshold[0], incumbents.threshold)
        self.spent += 2 * self.work
        value, _ = compiled_pair_bound(dual)
        if value == np.inf:
            return True
        if value == -np.inf:
            self.bound = min(self.bound, incumbents.score)
            return False
        incumbents.offer([dual.edges[: dual.size[1]].tolist()])
        gap = self.bound - incumbents.score
        if value < self.bound - 1e-3 * gap:
            self.bound, self._share = value, min(1.5 * self._share, 0.7)
            dual.best[:] = dual.now
        else:
            self._share *= 0.5
            dual.now[:] = dual.best
            compiled_pair_bound(dual)
        if compiled_outside_pass(chart, dual.threshold[0], self.adjacent):
            self._goal = self.bound - self._share * (self.bound - incumbents.score)
            # A part with only the cells that reach the goal, before the others are dropped.
            upper = chart._replace(words=Boundaries(*(words.copy() for words in chart.words)))
            compiled_compress(upper, self._goal)
            self._part = dual._replace(chart=upper, best=dual.now.copy(), threshold=np.full(1, self._goal))
            compiled_compress(chart, dual.threshold[0])
            narrow(self._contexts, self.adjacent)
            self.work = self._work_of(chart)
        return self._share >= 0.05

    def move(self) -> None:
        """Move the potentials, after `round`.

        Rounds over all that is left are expensive. What is near the bound decides where potentials go, so
        these rounds see only what reaches a threshold between the best known score and the bound.
        """
        record = new_record(score=self._goal)
        work = self._work_of(self._part.chart)
        if descend_pairs(self._part, record, INNER, 0.0) != CLOSED:
            self._dual.now[:] = self._part.best
        self.spent += work * record.numbers[ROUNDS]

    @property
    def cells(self) -> int:
        """How many cells are left."""
        return int(self._dual.chart.words.cells[-1])

    def _work_of(self, chart: BigramChart) -> float:
        words, forest = chart.words, self.forest
        F, L = (np.diff(begin).astype(np.float64) for begin in (words.first_begin, words.last_begin))
        a, b = forest.left, forest.right
        both = F[a] * F[b] * (L[a] + L[b]) * (b >= 0)
        return float(5e-10 * both.sum() + 3e-8 * len(a) + 5e-9 * len(chart.pairs) ** 2)

    def guide(self, threshold: float) -> tuple[Automaton, Table, Array] | None:
        """Return the model with the best potentials in it, of the pairs of words that are left; outside
        scores of what can reach the threshold, which is at least that of the rounds; `PassGuide.joint`. None
        if stopped."""
        problem, dual, chart = self.problem, self._dual, self._dual.chart
        lm, adjacent = problem.automaton, problem.adjacent
        if self.spent > QUICK:
            adjacent = self.adjacent
            lm = problem.model.automaton(problem.vocabulary, adjacent, problem.order)
        lm = shaped(lm, adjacent, carried(dual.best, problem.automaton, lm))
        chart.pairs[:] = pair_scores(lm, adjacent)
        compiled_word_bounds(chart.pairs, lm.begin, dual.score)
        compiled_inside_pass(
            chart, dual.score, compiled_outside_bounds(self.forest, dual.score), dual.threshold[0]
        )
        if not compiled_outside_pass(chart, threshold, dual.adjacent):
            return None
        words = level(lm, 1)
        key, outside = bigram_table(chart, words.state, words.score, threshold)
        return lm, table_of(key, outside, len(self.forest.word)), chart.pairs - words.score
