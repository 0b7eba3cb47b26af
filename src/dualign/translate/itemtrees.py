"""From items and the arcs between them back to derivations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.translate.hypergraph import k_best

__all__ = ["ItemTrees"]


@dataclass(frozen=True, slots=True)
class ItemTrees:
    """Items with scores, and arcs: `head`, `tail[tail_begin[a] : tail_begin[a + 1]]`, `edge` (−1: none), `score`.

    The score of an arc is that of its head if made by this arc from the best of its tails. Items are numbered
    in topological order; `goal` is the item whose trees are wanted.
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
        arcs = self._reachable()
        tails = {a: self.tail[self.tail_begin[a] : self.tail_begin[a + 1]].tolist() for a in arcs.tolist()}
        scores = self.item_score.tolist()
        gain = {a: float(self.score[a]) - sum(scores[i] for i in tail) for a, tail in tails.items()}
        by_head: dict[int, list[int]] = {}
        for arc in arcs.tolist():
            by_head.setdefault(int(self.head[arc]), []).append(arc)
        items = sorted({*by_head, *(i for tail in tails.values() for i in tail)})
        weight = {i: 0.0 if i in by_head else scores[i] for i in items}
        trees = k_best(
            [i for i in items if i <= self.goal],
            k,
            lambda item: by_head.get(item, []),
            tails.__getitem__,
            gain,
            weight,
        )
        return [self._edges(tree) for _, tree in trees]

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

    def _reachable(self) -> Array:
        """Arcs that trees of the goal can use."""
        wanted = np.zeros(len(self.item_score), np.bool_)
        wanted[self.goal] = True
        kept = []
        for arc in range(len(self.head) - 1, -1, -1):
            if wanted[self.head[arc]]:
                kept.append(arc)
                wanted[self.tail[self.tail_begin[arc] : self.tail_begin[arc + 1]]] = True
        return np.array(kept[::-1], np.int64)
