"""Passes over a forest, and what they prove: cube pruning, the complete construction, coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.search.inside import Arcs, best_outside
from dualign.translate.search.baselines.cube import cube as cube_kernel
from dualign.translate.search.bigram_pass import Boundaries, bigram_pass, bigram_table, boundary_words
from dualign.translate.search.context_levels import level
from dualign.translate.search.intersection import COMPLETE, Guide, Items, Table, intersect, table_of
from dualign.translate.search.item_trees import ItemTrees
from dualign.translate.search.translation_problem import Problem
from dualign.translate.search.word_multipliers import least_bound, outside_bounds

ROUNDS = 100
"""Of the multipliers, at most."""

MOST_ARCS = 1 << 25
"""Arcs that one construction may have: about 1 GB."""

MOST_CELLS = 1 << 26
"""Cells of the pass with one word of context: about 1 GB."""

PAIRS_PER_SECOND = 3e6
"""How many pairs of items a pass combines, at the least; to translate seconds into work."""


def affordable(clock: Clock) -> int:
    """Pairs of items that fit into the time that is left."""
    return int(max(min(clock.left, 1e6), 0.01) * PAIRS_PER_SECOND)


def cube(problem: Problem, beam: int, k: int) -> list[list[int]]:
    """The edges of the k best derivations that cube pruning with that beam finds."""
    return cube_trees(problem, max(beam, k)).best(k)


def cube_trees(problem: Problem, beam: int) -> ItemTrees:
    """All derivations that cube pruning with that beam finds."""
    graph, leaf_word = problem.closed
    arcs, edge, goal = cube_kernel(level(problem.automaton, problem.order - 1), beam, graph, leaf_word)
    return ItemTrees(arcs, np.where(edge == len(problem.hypergraph.head), -1, edge), goal)


def word_bound(problem: Problem, target: float) -> tuple[float, Array]:
    """The bound by multipliers on words (see `word_multipliers`), and the multipliers."""
    return least_bound(problem.forest, problem.pairs, problem.automaton, target, ROUNDS)


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
        # Undo the shifts by the multipliers.
        left_shift = before - level(lm, 1).score
        left_shift[lm.begin] = 0.0
        return cls(problem, bound, words, inside, outside, left_shift, u)

    def table(self, threshold: float) -> Table:
        """Outside scores of what can reach the threshold, which is at least that of the pass."""
        key, outside = bigram_table(
            self.words, self.inside, self.outside, level(self.problem.automaton, 1).state,
            self.left_shift, self.right_shift, threshold,
        )  # fmt: skip
        return table_of(key, outside, len(self.problem.forest.word))


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
    arc, score = items.arc, items.arc_score
    if kept is not None:
        arc, score = arc[kept], score[kept]
    parts = arc[:, 1:3] >= 0
    tail_begin = np.zeros(len(arc) + 1, np.int64)
    np.cumsum(parts.sum(axis=1), out=tail_begin[1:])
    arcs = Arcs(items.score, arc[:, 0].copy(), tail_begin, arc[:, 1:3][parts], score)
    return ItemTrees(arcs, problem.forest.edge[arc[:, 3]], int(items.begin[-2]))


def survivors(items: Items, trees: ItemTrees, threshold: float) -> tuple[Table, Array]:
    """Outside scores of the items that can reach the threshold, and the arcs that can."""
    begin = items.begin
    outside = best_outside(trees.arcs, begin[-2], begin[-1])
    kept = np.flatnonzero(items.score + outside >= threshold)
    node = np.searchsorted(begin, kept, side="right") - 1
    key = np.column_stack((node, items.state[kept])).astype(np.int32)
    arcs = items.arc_score + outside[trees.arcs.head] >= threshold
    return table_of(key, outside[kept], len(begin) - 1), arcs
