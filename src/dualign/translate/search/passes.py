"""Passes over a forest, and what they prove: cube pruning, the complete construction, coarse to fine."""

from __future__ import annotations

import numpy as np

from dualign._core.alarm import never
from dualign._core.arrays import Array
from dualign._core.progress import Clock
from dualign._search.dual import CLOSED, ROUNDS, new_record
from dualign._search.inside import Arcs, best_outside
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.bigram_pass import (
    BigramChart,
    bigram_table,
    boundary_words,
    compiled_compress,
    compiled_inside_pass,
    compiled_outside_pass,
    new_chart,
)
from dualign.translate.search.contexts import level, pair_scores
from dualign.translate.search.cube import cube as cube_kernel
from dualign.translate.search.derivations import Incumbents, ItemTrees
from dualign.translate.search.intersection import (
    COMPLETE,
    ForestItems,
    Level,
    PassGuide,
    PassLimits,
    Table,
    intersect,
    table_of,
)
from dualign.translate.search.multipliers import (
    compiled_outside_bounds,
    compiled_pair_bound,
    compiled_word_bounds,
    descend_pairs,
    least_bound,
    new_dual,
    reduced,
    upper_part,
)
from dualign.translate.search.problem import ForestProblem
from dualign.translate.search.state_potentials import (
    carried,
    compiled_pair_bounds,
    contexts_of,
    narrow,
    shaped,
)

LEAST_ROUNDS, MOST_ROUNDS = 40, 300
"""Of the multipliers without context."""

QUICK = 0.005
"""Estimated seconds after which it pays to make the language model smaller."""

INNER = 30
"""Rounds over the part near the bound."""

MOST_ARCS = 1 << 25
"""Arcs that one construction may have: about 1 GB."""

MOST_CELLS = 1 << 26
"""Cells of the pass with one word of context: about 1 GB."""

PAIRS_PER_SECOND = 3e6
"""The minimum of pairs of items that a pass combines; it converts seconds into work."""


_NEVER = never()


def affordable(clock: Clock) -> int:
    """Return pairs of items that fit into the time that is left."""
    return int(max(min(clock.left, 1e6), 0.01) * PAIRS_PER_SECOND)


def cube(problem: ForestProblem, beam: int, k: int, stop: Array = _NEVER) -> list[list[int]]:
    """Return the edges of the k best derivations that cube pruning with that beam finds; none if stopped."""
    trees = cube_trees(problem, max(beam, k), stop)
    return trees.best(k) if trees.goal >= 0 else []


def cube_trees(problem: ForestProblem, beam: int, stop: Array = _NEVER) -> ItemTrees:
    """Return all derivations that cube pruning with that beam finds; the goal is −1 if stopped."""
    graph, leaf_word = problem.closed
    arcs, edge, goal = cube_kernel(level(problem.automaton, problem.order - 1), beam, graph, leaf_word, stop)
    return ItemTrees(arcs, np.where(edge == len(problem.hypergraph.head), -1, edge), goal)


def first_bound(problem: ForestProblem, incumbents: Incumbents, beam: int, clock: Clock) -> float:
    """Offer what cube pruning with that beam finds; return the bound without context (`least_bound`)."""
    incumbents.offer(cube(problem, beam, incumbents.k))
    contexts = contexts_of(problem.automaton, problem.adjacent)
    return least_bound(problem.forest, contexts, incumbents.score, _rounds(problem), clock)[0]


def _rounds(problem: ForestProblem) -> int:
    """Return the rounds of multipliers without context: few where the rest is quick."""
    size = len(problem.forest.word) * len(problem.adjacent)
    return min(max(size // 2000, LEAST_ROUNDS), MOST_ROUNDS)


class PairSearch:
    """The pass with one word of context, again and again, with potentials that make its bound smaller.

    `work` estimates the seconds of one round. That no time is measured keeps results the same.
    """

    def __init__(self, problem: ForestProblem, incumbents: Incumbents, clock: Clock) -> None:
        self.problem = problem
        self._contexts = contexts_of(problem.automaton, problem.adjacent)
        self.bound, self._potential = least_bound(
            problem.forest, self._contexts, incumbents.score, _rounds(problem), clock
        )

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
        self._dual = new_dual(chart, self._contexts, self._potential, int(problem.longest) + 4)
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
            dual.best[:] = dual.potential
        else:
            self._share *= 0.5
            dual.potential[:] = dual.best
            compiled_pair_bound(dual)
        if compiled_outside_pass(chart, dual.threshold[0], self.adjacent):
            self._goal = self.bound - self._share * (self.bound - incumbents.score)
            self._part = upper_part(dual, self._goal)
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
            self._dual.potential[:] = self._part.best
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


def one_pass(
    problem: ForestProblem, at: Level, guide: PassGuide, threshold: float, effort: int, stop: Array = _NEVER
) -> ForestItems | None:
    """Return items with K words of context; None if there are too many."""
    items, status = intersect(at, problem.forest, guide, PassLimits(threshold, MOST_ARCS, effort, stop))
    return items if status == COMPLETE else None


def item_trees(problem: ForestProblem, items: ForestItems, kept: Array | None = None) -> ItemTrees | None:
    """Return derivations of a pass, by the arcs in `kept`; None if none reaches the goal."""
    if items.begin[-1] == items.begin[-2]:
        return None
    arc, score = items.arc, items.arc_score
    if kept is not None:
        arc, score = arc[kept], score[kept]
    parts = arc[:, 1:3] >= 0
    tail_begin = np.zeros(len(arc) + 1, np.int64)
    np.cumsum(parts.sum(axis=1), out=tail_begin[1:])
    arcs = Arcs(items.score, arc[:, 0].copy(), tail_begin, arc[:, 1:3][parts], score)
    return ItemTrees(arcs, problem.forest.edge[arc[:, 3]], int(items.begin[-2]))


def survivors(items: ForestItems, trees: ItemTrees, threshold: float) -> tuple[Table, Array]:
    """Return outside scores of the items that can reach the threshold, and the arcs that can."""
    begin = items.begin
    outside = best_outside(trees.arcs, begin[-2], begin[-1])
    kept = np.flatnonzero(items.score + outside >= threshold)
    node = np.searchsorted(begin, kept, side="right") - 1
    key = np.column_stack((node, items.state[kept])).astype(np.int32)
    arcs = items.arc_score + outside[trees.arcs.head] >= threshold
    return table_of(key, outside[kept], len(begin) - 1), arcs
