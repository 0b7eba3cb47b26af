"""From items and the arcs between them back to derivations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.hypergraph import k_best

__all__ = ["ItemTrees"]


@dataclass(frozen=True, slots=True)
class ItemTrees:
    """Items with scores, and arcs: `head`, `tail[tail_begin[a] : tail_begin[a + 1]]`, `edge` (−1: none),
    `score`.

    The score of an arc is that of its head if made by this arc from the best of its tails. Items are numbered
    in topological order, and arcs by their heads' nodes; `goal` is the item whose trees are wanted.
    """

    item_score: Array
    head: Array
    tail_begin: Array
    tail: Array
    edge: Array
    score: Array
    goal: int

    def best(self, k: int = 1) -> list[list[int]]:
        """The edges of the k best derivations, best first, each from its root, left to right."""
        if k == 1:
            return [self._edges(self._best_tree())]
        through = arc_marginals(self.item_score, self.head, self.tail_begin, self.tail, self.score, self.goal)
        ranked = np.argsort(-through, kind="stable")
        ranked = ranked[: int(np.sum(through > -np.inf))]
        count = 8 * k + 200
        while True:
            # A tree with an arc that is left out is no better than the best of those arcs. No cut between
            # equals: what an item needs for its best tree must be there.
            while count < len(ranked) and through[ranked[count]] >= through[ranked[count - 1]] - 1e-9:
                count += 1
            chosen = ranked[:count]
            trees = self._trees(k, np.sort(chosen))
            missed = float(through[ranked[count]]) if count < len(ranked) else -np.inf
            if count >= len(ranked) or (len(trees) == k and trees[-1][0] >= missed):
                return [self._edges(tree) for _, tree in trees]
            count *= 4

    def _trees(self, k: int, arcs: Array) -> list[tuple[float, list[int]]]:
        """The k best trees by these arcs only."""
        tails = {a: self.tail[self.tail_begin[a] : self.tail_begin[a + 1]].tolist() for a in arcs.tolist()}
        by_head: dict[int, list[int]] = {}
        for arc, head in zip(arcs.tolist(), self.head[arcs].tolist(), strict=True):
            by_head.setdefault(head, []).append(arc)
        # The best tree of an item has arcs that rank no lower than any arc above it, so none is missing.
        items = sorted({*by_head, *(i for tail in tails.values() for i in tail)})
        scores = dict(zip(items, self.item_score[items].tolist(), strict=True))
        gain = {a: float(self.score[a]) - sum(scores[i] for i in tail) for a, tail in tails.items()}
        weight = {i: 0.0 if i in by_head else scores[i] for i in items}
        return list(
            k_best(
                [i for i in items if i <= self.goal],
                k,
                lambda item: by_head.get(item, []),
                tails.__getitem__,
                gain,
                weight,
            )
        )

    def _edges(self, arcs: list[int]) -> list[int]:
        return [edge for edge in self.edge[arcs].tolist() if edge >= 0]

    def _best_tree(self) -> list[int]:
        best = np.full(len(self.item_score), -1, np.int64)
        top = np.flatnonzero(self.score >= self.item_score[self.head])[::-1]
        best[self.head[top]] = top
        arcs, stack = [], [self.goal]
        while stack:
            arc = int(best[stack.pop()])
            if arc >= 0:
                arcs.append(arc)
                stack.extend(self.tail[self.tail_begin[arc] : self.tail_begin[arc + 1]][::-1].tolist())
        return arcs


@kernel()
def arc_marginals(
    item_score: Array, head: Array, tail_begin: Array, tail: Array, score: Array, goal: int
) -> Array:
    """For each arc the score of the best tree of the goal that uses it; −inf if there is none."""
    outside = np.full(len(item_score), -np.inf)
    outside[goal] = 0.0
    result = np.full(len(head), -np.inf)
    for a in range(len(head) - 1, -1, -1):
        total = outside[head[a]] + score[a]
        result[a] = total
        for t in tail[tail_begin[a] : tail_begin[a + 1]]:
            outside[t] = max(outside[t], total - item_score[t])
    return result
