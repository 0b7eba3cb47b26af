"""From items and the arcs between them back to derivations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.forest.hypergraph import k_best


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

    def samples(self, count: int, sharpness: float, seed: int) -> list[list[int]]:
        """The edges of derivations drawn with probability ∝ exp(sharpness · score), each as in `best`."""
        arcs, begin = sampled_trees(
            self.item_score, self.head, self.tail_begin, self.tail, self.score, self.goal,
            sharpness, count, seed,
        )  # fmt: skip
        return [self._edges(arcs[a:b].tolist()) for a, b in pairwise(begin.tolist())]

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


@kernel()
def sampled_trees(
    item_score: Array,
    head: Array,
    tail_begin: Array,
    tail: Array,
    score: Array,
    goal: int,
    sharpness: float,
    count: int,
    seed: int,
) -> tuple[Array, Array]:
    """Arcs of `count` trees of the goal, drawn with probability ∝ exp(sharpness · score), each from its root,
    left to right; tree n is `arcs[begin[n] : begin[n + 1]]`.

    Inside sums, then choices from the root down.
    """
    np.random.seed(seed)
    items, A = len(item_score), len(head)
    # Arcs by head; those of one head in the order of their numbers.
    first = np.zeros(items + 2, np.int64)
    for a in range(A):
        first[head[a] + 2] += 1
    first = np.cumsum(first)
    by_head = np.empty(A, np.int64)
    for a in range(A):
        by_head[first[head[a] + 1]] = a
        first[head[a] + 1] += 1
    inside = np.empty(items)
    share = np.empty(A)  # log of the sum over the trees that an arc begins, then their probability
    for i in range(items):
        if first[i] == first[i + 1]:
            inside[i] = sharpness * item_score[i]
            continue
        top = -np.inf
        for a in by_head[first[i] : first[i + 1]]:
            share[a] = sharpness * score[a]
            for t in tail[tail_begin[a] : tail_begin[a + 1]]:
                share[a] += inside[t] - sharpness * item_score[t]
            top = max(top, share[a])
        total = 0.0
        for a in by_head[first[i] : first[i + 1]]:
            share[a] = np.exp(share[a] - top)
            total += share[a]
        for a in by_head[first[i] : first[i + 1]]:
            share[a] /= total
        inside[i] = top + np.log(total)
    begin = np.zeros(count + 1, np.int64)
    arcs, stack = np.empty(1024, np.int64), np.empty(1024, np.int64)
    size = 0
    for n in range(count):
        stack[0], height = goal, 1
        while height > 0:
            height -= 1
            i = stack[height]
            if first[i] == first[i + 1]:
                continue
            left = np.random.random()
            chosen = by_head[first[i + 1] - 1]
            for a in by_head[first[i] : first[i + 1]]:
                left -= share[a]
                if left < 0.0:
                    chosen = a
                    break
            if size == len(arcs):
                arcs = np.concatenate((arcs, arcs))
            arcs[size] = chosen
            size += 1
            for p in range(tail_begin[chosen + 1] - 1, tail_begin[chosen] - 1, -1):
                if height == len(stack):
                    stack = np.concatenate((stack, stack))
                stack[height] = tail[p]
                height += 1
        begin[n + 1] = size
    return arcs[:size], begin
