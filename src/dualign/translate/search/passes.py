"""Passes over a forest, and what they prove: cube pruning, the complete construction, coarse to fine.

A pass keeps K words of context, up to K = n − 1, which is exact. A state of each level stands for states of
the next, so each pass guides the one after it.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock, never
from dualign._search.inside import Arcs, best_outside
from dualign.translate.lm.trie import Automaton
from dualign.translate.search.cube import cube as cube_kernel
from dualign.translate.search.derivations import ItemTrees
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
from dualign.translate.search.problem import ForestProblem

MOST_ARCS = 1 << 25
"""Arcs that one construction may have: about 1 GB."""

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


def level(lm: Automaton, K: int) -> Level:
    """Return the level with K words of context."""
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


def guide(lm: Automaton, K: int, table: Table, joint: Array) -> PassGuide:
    """Return what a pass with K words of context tells a finer one."""
    first = np.where(lm.depth == 1, lm.word, 0)
    for depth in range(2, lm.order + 1):
        nodes = np.flatnonzero(lm.depth == depth)
        first[nodes] = first[lm.parent[nodes]]
    left, right = np.arange(len(lm.word), dtype=np.int32), lm.state.copy()
    while (deep := lm.depth[left] > K).any():
        left[deep] = lm.parent[left[deep]]
    while (deep := lm.depth[right] > K).any():
        right[deep] = lm.state[lm.suffix[right[deep]]]
    return PassGuide(table, left, right, lm.depth == K, first.astype(np.int32), joint, True)


def unguided() -> PassGuide:
    """Return the guide of a first pass, which knows nothing."""
    i, f, b = np.empty(0, np.int32), np.empty(0), np.empty(0, np.bool_)
    table = Table(np.full(1, -1, np.int32), i.reshape(0, 4), f, f)
    return PassGuide(table, i, i, b, i, f.reshape(0, 0), False)


def complete(problem: ForestProblem, effort: int, stop: Array = _NEVER) -> ItemTrees | None:
    """Return all derivations, by the construction of Bar-Hillel et al.; None if it has too many items."""
    at = level(problem.automaton, problem.order - 1)
    items = one_pass(problem, at, unguided(), float("-inf"), effort, stop)
    return None if items is None else item_trees(problem, items)


def one_pass(
    problem: ForestProblem, at: Level, known: PassGuide, threshold: float, effort: int, stop: Array = _NEVER
) -> ForestItems | None:
    """Return items with K words of context; None if there are too many."""
    items, status = intersect(at, problem.forest, known, PassLimits(threshold, MOST_ARCS, effort, stop))
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
