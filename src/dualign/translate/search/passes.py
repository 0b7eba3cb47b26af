"""Passes over a forest, and what they prove: cube pruning, the complete construction, coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.search.dual import new_record
from dualign.translate.search.baselines.cube import cube as cube_kernel
from dualign.translate.search.bigram_pass import Boundaries, bigram_pass, bigram_table, boundary_words
from dualign.translate.search.intersection import (
    COMPLETE,
    Guide,
    Items,
    Table,
    intersect,
    outside_scores,
    tabulate,
)
from dualign.translate.search.item_trees import ItemTrees
from dualign.translate.search.levels import level
from dualign.translate.search.translation_problem import Problem
from dualign.translate.search.word_multipliers import descend, outside_bounds

ROUNDS = 100
"""Of the multipliers, at most."""

MOST_ARCS = 1 << 25
"""Arcs that one construction may have: about 1 GB."""

MOST_CELLS = 1 << 26
"""Cells of the pass with one word of context: about 1 GB."""

PAIRS_A_SECOND = 3e6
"""How many pairs of items a pass combines, at the least; to translate seconds into work."""


class Clock:
    """Time since the start, and how much of a limit is left."""

    def __init__(self, limit: float | None = None) -> None:
        self.began = perf_counter()
        self.limit = limit

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds that remain; infinite without a limit."""
        return float("inf") if self.limit is None else self.limit - self.seconds

    @property
    def effort(self) -> int:
        """Pairs of items that fit into what is left."""
        return int(max(min(self.left, 1e6), 0.01) * PAIRS_A_SECOND)


def cube(problem: Problem, beam: int, k: int) -> list[list[int]]:
    """The edges of the k best derivations that cube pruning with that beam finds."""
    return cube_trees(problem, max(beam, k)).best(k)


def cube_trees(problem: Problem, beam: int) -> ItemTrees:
    """All derivations that cube pruning with that beam finds."""
    graph, leaf_word = problem.closed
    result = cube_kernel(level(problem.automaton, problem.order - 1), beam, *graph, leaf_word)
    score, head, tail_begin, tail, edge, arc_score, goals = result
    edge = np.where(edge == len(problem.hypergraph.head), -1, edge)
    return ItemTrees(score, head, tail_begin, tail, edge, arc_score, int(goals[0]))


def word_bound(problem: Problem, target: float) -> tuple[float, Array]:
    """The bound by multipliers on words (see `wordmultipliers`), and the multipliers."""
    lm = problem.automaton
    u = np.zeros(len(problem.vocabulary))
    record = new_record(score=target)
    bound = descend(problem.forest, problem.pairs, lm.begin, lm.end, target, ROUNDS, record, u)
    return bound, u


@dataclass(frozen=True)
class BigramPass:
    """The complete pass with one word of context: a bound, and tables for the next pass."""

    problem: Problem
    bound: float
    words: Boundaries
    inside: Array
    outside: Array
    left_shift: Array
    right_shift: Array

    @classmethod
    def of(cls, problem: Problem, u: Array, threshold: float) -> BigramPass | None:
        """None if the forest is too large for it; `u` are multipliers on words."""
        lm, forest, pairs = problem.automaton, problem.forest, problem.pairs
        words, work = boundary_words(forest, len(pairs))
        cells = words.cells
        if cells[-1] > MOST_CELLS or work > 1e11:
            return None
        before = (pairs - u[:, None]).max(axis=0)
        before[lm.begin] = 0.0
        score = before + u
        reach = outside_bounds(forest, score)
        inside, outside = np.empty(cells[-1]), np.empty(cells[-1])
        J = pairs - u[:, None] - before[None, :]
        bound = bigram_pass(forest, J, score, words, reach, threshold, inside, outside)
        # From the world of the multipliers back to ours.
        left_shift = before - level(lm, 1).score
        left_shift[lm.begin] = 0.0
        return cls(problem, bound, words, inside, outside, left_shift, u)

    def table(self, threshold: float) -> Table:
        """Outside scores of what can reach the threshold, which is at least that of the pass."""
        one = level(self.problem.automaton, 1)
        return bigram_table(
            self.words, self.inside, self.outside, one.left, one.right,
            self.left_shift, self.right_shift, threshold,
        )  # fmt: skip


def one_pass(
    problem: Problem, K: int, guide: Guide, threshold: float, effort: int, limit: int = MOST_ARCS
) -> Items | None:
    """Items with K words of context; None if there are too many."""
    items, status = intersect(level(problem.automaton, K), problem.forest, guide, threshold, limit, effort)
    return items if status == COMPLETE else None


def item_trees(problem: Problem, items: Items, kept: Array | None = None) -> ItemTrees | None:
    """Derivations of a pass, by the arcs in `kept`; None if none reaches the goal."""
    if items.begin[-1] == items.begin[-2]:
        return None
    head, left, right = items.arc_head, items.arc_left, items.arc_right
    step, score = items.arc_step, items.arc_score
    if kept is not None:
        head, left, right, step, score = (array[kept] for array in (head, left, right, step, score))
    two = right >= 0
    tail_begin = np.zeros(len(head) + 1, np.int64)
    np.cumsum(1 + two, out=tail_begin[1:])
    tail = np.empty(int(tail_begin[-1]), np.int32)
    tail[tail_begin[:-1]] = left
    tail[tail_begin[1:][two] - 1] = right[two]
    goal = int(items.begin[-2])
    return ItemTrees(items.score, head, tail_begin, tail, problem.forest.edge[step], score, goal)


def survivors(items: Items, threshold: float) -> tuple[Table, Array]:
    """Outside scores of the items that can reach the threshold, and the arcs that can."""
    outside = outside_scores(items)
    return tabulate(items, outside, threshold), items.arc_score + outside[items.arc_head] >= threshold
