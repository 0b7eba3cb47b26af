"""Derivations that a search finds: the best so far, and those of the items and arcs of a pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import doubled
from dualign._search.certificate import ROUNDING, have_met
from dualign._search.inside import Arcs, best_outside
from dualign.translate.forest.hypergraph import k_best
from dualign.translate.search.problem import ForestProblem


def rounding(score: float) -> float:
    """Return by how much sums in another order may differ: scores closer than this count as equal."""
    return ROUNDING * (1.0 + abs(score))


@dataclass
class Incumbents:
    """The k best of all derivations that were offered, scored from scratch."""

    problem: ForestProblem
    k: int
    found: dict[tuple[int, ...], float] = field(default_factory=dict)

    def offer(self, derivations: Iterable[Sequence[int]]) -> None:
        """Take note of derivations, given by their edges."""
        for edges in derivations:
            if (key := tuple(edges)) not in self.found:
                self.found[key] = self.problem.score(key)
        if len(self.found) > 4 * self.k + 16:
            self.found = dict(self.best())

    def best(self) -> list[tuple[tuple[int, ...], float]]:
        """Best first; ties fall to the edges that come first."""
        return sorted(self.found.items(), key=lambda pair: (-pair[1], pair[0]))[: self.k]

    @property
    def threshold(self) -> float:
        """What a derivation must have to be of interest; −inf until there are k."""
        best = self.best()
        return best[-1][1] - rounding(best[-1][1]) if len(best) == self.k else float("-inf")

    @property
    def score(self) -> float:
        """The best score."""
        return max(self.found.values(), default=float("-inf"))

    def meet(self, bound: float, slack: float = 1.0) -> bool:
        """Return whether the best score has reached a bound, but for rounding, or for `slack` times as much
        where the bound's thousands of terms are summed in another order."""
        return have_met(self.score, bound, slack * rounding(self.score))


@dataclass(frozen=True, slots=True)
class ItemTrees:
    """Items and arcs, the edge that each arc completes (−1: none), and the item whose trees are wanted."""

    arcs: Arcs
    edge: Array
    goal: int

    @property
    def score(self) -> float:
        """The score of the best derivation."""
        return float(self.arcs.inside[self.goal])

    def best(self, k: int = 1) -> list[list[int]]:
        """Return the edges of the k best derivations, best first, each from its root, left to right."""
        if k == 1:
            return [self._edges(self._best_tree())]
        through = best_outside(self.arcs, self.goal, self.goal + 1)[self.arcs.head] + self.arcs.score
        ranked = np.argsort(-through, kind="stable")
        ranked = ranked[: int(np.sum(through > -np.inf))]
        count = 8 * k + 200
        while True:
            # A tree with an arc that is left out is no better than the best of those arcs. No cut between
            # equals: what an item needs for its best tree must be there.
            while count < len(ranked) and through[ranked[count]] >= through[ranked[count - 1]] - 1e-9:
                count += 1
            trees = self._trees(k, np.sort(ranked[:count]))
            missed = float(through[ranked[count]]) if count < len(ranked) else -np.inf
            if count >= len(ranked) or (len(trees) == k and trees[-1][0] >= missed):
                return [self._edges(tree) for _, tree in trees]
            count *= 4

    def samples(self, count: int, sharpness: float, seed: int) -> list[list[int]]:
        """Return the edges of derivations drawn with probability ∝ exp(sharpness · score), each as in
        `best`."""
        arcs, begin = sampled_trees(self.arcs, self.goal, sharpness, count, seed)
        return [self._edges(arcs[a:b].tolist()) for a, b in pairwise(begin.tolist())]

    def _tail(self, arc: int) -> list[int]:
        return self.arcs.tail[self.arcs.tail_begin[arc] : self.arcs.tail_begin[arc + 1]].tolist()

    def _trees(self, k: int, arcs: Array) -> list[tuple[float, list[int]]]:
        """Return the k best trees by these arcs only."""
        tails = {a: self._tail(a) for a in arcs.tolist()}
        by_head: dict[int, list[int]] = {}
        for arc, head in zip(arcs.tolist(), self.arcs.head[arcs].tolist(), strict=True):
            by_head.setdefault(head, []).append(arc)
        # The best tree of an item has arcs that rank no lower than any arc above it, so none is missing.
        items = sorted({*by_head, *(i for tail in tails.values() for i in tail)})
        scores = dict(zip(items, self.arcs.inside[items].tolist(), strict=True))
        gain = {a: float(self.arcs.score[a]) - sum(scores[i] for i in tail) for a, tail in tails.items()}
        weight = {i: 0.0 if i in by_head else scores[i] for i in items}
        order = [i for i in items if i <= self.goal]
        return list(k_best(order, k, lambda item: by_head.get(item, []), tails.__getitem__, gain, weight))

    def _edges(self, arcs: list[int]) -> list[int]:
        return [edge for edge in self.edge[arcs].tolist() if edge >= 0]

    def _best_tree(self) -> list[int]:
        """Return the arcs of the best tree, from its root, left to right."""
        best = np.full(len(self.arcs.inside), -1, np.int64)
        top = np.flatnonzero(self.arcs.score >= self.arcs.inside[self.arcs.head])[::-1]
        best[self.arcs.head[top]] = top
        arcs, stack = [], [self.goal]
        while stack:
            arc = int(best[stack.pop()])
            if arc >= 0:
                arcs.append(arc)
                stack.extend(self._tail(arc)[::-1])
        return arcs


@part
def arcs_by_head(arcs: Arcs) -> tuple[Array, Array]:
    """Return `first` and `arc`: those of item i are `arc[first[i] : first[i + 1]]`, in ascending order."""
    first = np.zeros(len(arcs.inside) + 2, np.int64)
    for head in arcs.head:
        first[head + 2] += 1
    first = np.cumsum(first)
    result = np.empty(len(arcs.head), np.int64)
    for a in range(len(arcs.head)):
        result[first[arcs.head[a] + 1]] = a
        first[arcs.head[a] + 1] += 1
    return first, result


@part
def arc_shares(arcs: Arcs, first: Array, by_head: Array, sharpness: float) -> Array:
    """Return for each arc the probability that a tree of its head, drawn ∝ exp(sharpness · score), has it on
    top."""
    inside, share = np.empty(len(arcs.inside)), np.empty(len(arcs.head))
    for i in range(len(inside)):
        if first[i] == first[i + 1]:
            inside[i] = sharpness * arcs.inside[i]
            continue
        top = -np.inf
        for a in by_head[first[i] : first[i + 1]]:
            share[a] = sharpness * arcs.score[a]
            for t in arcs.tail[arcs.tail_begin[a] : arcs.tail_begin[a + 1]]:
                share[a] += inside[t] - sharpness * arcs.inside[t]
            top = max(top, share[a])
        total = 0.0
        for a in by_head[first[i] : first[i + 1]]:
            share[a] = np.exp(share[a] - top)
            total += share[a]
        for a in by_head[first[i] : first[i + 1]]:
            share[a] /= total
        inside[i] = top + np.log(total)
    return share


@kernel
def sampled_trees(arcs: Arcs, goal: int, sharpness: float, count: int, seed: int) -> tuple[Array, Array]:
    """Return arcs of `count` trees of the goal, drawn with probability ∝ exp(sharpness · score), each from
    its root, left to right; tree n is `arcs[begin[n] : begin[n + 1]]`.

    Inside sums, then choices from the root down.
    """
    np.random.seed(seed)
    first, by_head = arcs_by_head(arcs)
    share = arc_shares(arcs, first, by_head, sharpness)
    begin = np.zeros(count + 1, np.int64)
    drawn, stack = np.empty(1024, np.int64), np.empty(1024, np.int64)
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
            if size == len(drawn):
                drawn = doubled(drawn)
            drawn[size] = chosen
            size += 1
            for p in range(arcs.tail_begin[chosen + 1] - 1, arcs.tail_begin[chosen] - 1, -1):
                if height == len(stack):
                    stack = doubled(stack)
                stack[height] = arcs.tail[p]
                height += 1
        begin[n + 1] = size
    return drawn[:size], begin
