"""Decoders that build items: cube pruning, the exhaustive construction, and exact search by coarse-to-fine passes."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.translate.cubekernel import cube as cube_kernel
from dualign.translate.intersection import COMPLETE, Items, Table, intersect, outside_scores, tabulate
from dualign.translate.itemtrees import ItemTrees
from dualign.translate.problem import Problem

__all__ = ["Clock", "cube", "item_trees", "no_table", "one_pass"]

MOST_ARCS = 1 << 25
"""Arcs that one construction may have: about 1 GB."""


class Clock:
    """Time since the start, and whether a limit is over."""

    def __init__(self, limit: float | None) -> None:
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


def cube(problem: Problem, beam: int, k: int) -> list[list[int]]:
    """The edges of the k best derivations that cube pruning with that beam finds."""
    graph = problem.hypergraph
    V, E = len(graph.labels), len(graph.head)
    begin, end = np.searchsorted(problem.vocabulary, [problem.model.begin, problem.model.end]).tolist()
    # Above the root: <s>, </s> and the goal are vertices V, V + 1, V + 2; the goal's edge is E.
    incoming_begin = np.concatenate((graph.incoming_begin, [E, E, E + 1]))
    result = cube_kernel(
        problem.automaton,
        max(beam, k),
        np.concatenate((graph.order, [V, V + 1, V + 2])).astype(np.int32),
        incoming_begin,
        np.append(graph.incoming, E).astype(np.int32),
        np.append(graph.tail_begin, graph.tail_begin[-1] + 3),
        np.concatenate((graph.tail, [V, graph.root, V + 1])).astype(np.int32),
        np.concatenate((graph.vertex_weight, [0.0, 0.0, 0.0])),
        np.append(graph.edge_weight, 0.0),
        np.concatenate((problem.leaf_word, [begin, end, -1])).astype(np.int32),
    )
    score, head, tail_begin, tail, edge, arc_score, goals = result
    trees = ItemTrees(score, head, tail_begin, tail, np.where(edge == E, -1, edge), arc_score, int(goals[0]))
    return trees.best(k)


def no_table() -> Table:
    """For the first pass, which has no outside scores to go by."""
    i, f, b = np.empty(0, np.int32), np.empty(0), np.empty(0, np.bool_)
    return Table(np.full(1, -1, np.int32), i, i, b, i, f, f)


def one_pass(
    problem: Problem, K: int, table: Table, coarse: int, threshold: float, limit: int = MOST_ARCS
) -> Items | None:
    """Items with K words of context; None if there are too many."""
    items, status = intersect(problem.automaton, K, problem.forest, table, coarse, threshold, limit)
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
