"""The relaxation, tightened by partitions of the leaves (Rush & Collins 2011, §6).

In the relaxation (`relax`) each leaf of a derivation chooses the n − 1 leaves before it, and multipliers
only make it likely that these are the ones that stand there. Where its bound stays above the best score, the
choice is restricted: for a partition π of the leaves into q classes,

    π(leaf chosen at a place before v) = π(leaf that stands there)        for every leaf v and place

For any multipliers the value under this restriction still is a bound. It is found by `astar`, whose contexts
are the classes of n − 1 leaves, with the outside scores of the unrestricted relaxation for its heuristic.
q = 1 is the relaxation itself.

The partition comes from the search: leaves a and b of every disagreement so far, a chosen where b stands,
must be in different classes, and a greedy colouring of these pairs is the next partition, in every round of
the subgradient method. If the bound is not met and no new pair was seen, it is paths that disagree, and their
multipliers go back to 0, where no path costs anything: then a derivation whose leaves agree has its own
score for its value, which is a proof, and any other shows a new pair. There are finitely many pairs of
leaves; so this ends in a proof, unless time, joins, room for contexts or the length of n-grams (`relax`) set
a limit.

On the way, n-grams are dropped that no derivation as good as the best one known can have, by the same outside
scores. All bounds are then on such derivations only, which is all that counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import Stage
from dualign._core.progress import Clock
from dualign._search.certificate import PRECISION
from dualign.translate.search.baselines.astar import AStarQueue, AStarTables, best_first, uses_of
from dualign.translate.search.baselines.relax import Choice, PathRelaxation, choose, prepared
from dualign.translate.search.derivations import Incumbents
from dualign.translate.search.multipliers import compiled_outside_bounds
from dualign.translate.search.passes import affordable
from dualign.translate.search.problem import Forest, ForestProblem, binary

ROUNDS = 100
"""Of the relaxation alone: with more, q would be less and the time longer."""

STAGE = 100
"""Rounds before steps have their full length again."""

MOST_CELLS = 1 << 24
"""Nodes times contexts."""

MOST_JOINS = 10_000_000
"""Of one search."""

PARTITIONS = "partitions"


def tighten(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage]
) -> tuple[float, bool]:
    """Fill `incumbents`; returns a bound, and whether they are proved to be the best (only ever one)."""
    bound, relaxation = prepared(problem, incumbents, clock, trace)
    if relaxation is None:
        return bound, False
    bound = relaxation.descend(relaxation.relaxed_bound, ROUNDS, incumbents, clock, trace, bound)
    search = _Tightened(relaxation, incumbents, clock)
    without_paths = False
    while not (incumbents.meet(bound) or clock.is_over or search.ended):
        known = len(search.conflicts)
        bound = relaxation.descend(
            search.tightened_bound, STAGE, incumbents, clock, trace, bound, lambda: f"{PARTITIONS} {search.q}"
        )
        if len(search.conflicts) > known:
            without_paths = False
        elif without_paths:
            break
        else:
            relaxation.multipliers, without_paths = relaxation.multipliers.copy(), True
            relaxation.of_states(relaxation.multipliers)[:] = 0.0
    return bound, incumbents.k == 1 and incumbents.meet(bound, 10)


def compile_search(problem: ForestProblem) -> None:
    """Run the search of a small problem once, though it may be solved without."""
    incumbents, clock = Incumbents(problem, 1), Clock()
    _, relaxation = prepared(problem, incumbents, clock, [])
    if relaxation is not None:
        _Tightened(relaxation, incumbents, clock).tightened_bound(relaxation.multipliers)


def partitions(trace: tuple[Any, ...]) -> int:
    """Return the number of partitions, q, that the last stage of a trace had."""
    what = str(trace[-1][0]) if trace else ""
    return int(what.removeprefix(PARTITIONS)) if what.startswith(PARTITIONS) else 1


def coloured(classes: Array, pairs: set[tuple[int, int]]) -> Array:
    """Return classes 0, 1, … of leaves, int64, such that no pair is in one class, and most are as in
    `classes`.

    Greedy: the leaves with the most pairs come first. Each stays in its class, if that is free, or takes the
    first one that is.
    """
    neighbours: dict[int, set[int]] = {}
    for a, b in pairs:
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)
    result = classes.copy()
    done: set[int] = set()
    for v in sorted(neighbours, key=lambda v: (-len(neighbours[v]), v)):
        taken = {int(result[w]) for w in neighbours[v] & done}
        if int(result[v]) in taken:
            result[v] = next(c for c in range(len(taken) + 1) if c not in taken)
        done.add(v)
    return np.unique(result, return_inverse=True)[1]


class _Tightened:
    """The relaxation under a partition; sees who disagrees."""

    def __init__(self, relaxation: PathRelaxation, incumbents: Incumbents, clock: Clock) -> None:
        self.relaxation, self.incumbents, self.clock = relaxation, incumbents, clock
        self.conflicts: set[tuple[int, int]] = set()
        self.classes = np.zeros(len(relaxation.paths.leaf), np.int64)
        self.q = 1
        self.separated = -1
        self.kept: Array | None = None
        self.ended = False
        self.forest = _without_start(relaxation)
        self.uses = uses_of(self.forest)
        leaves = np.flatnonzero(self.forest.word >= 0)
        self.node_of = np.full(len(relaxation.paths.leaf), -1, np.int32)
        self.node_of[self.forest.word[leaves]] = leaves
        # Weights of leaves are added to their scores.
        self.forest = self.forest._replace(weight=np.zeros(len(self.forest.word)))
        self.last_steps = np.flatnonzero(self.forest.edge >= 0)

    def split(self) -> bool:
        """Make the partition that the disagreements ask for; false if it has too many contexts."""
        relaxation = self.relaxation
        if self.kept is not None:
            relaxation.restrict(self.kept)
        self.kept = None
        self.classes = classes = coloured(self.classes, self.conflicts)
        q = int(classes.max()) + 1
        places = relaxation.length - 1
        code = classes
        for k in range(1, places):
            code = code[relaxation.parents[k]] * q + classes[relaxation.grams[k]]
        start = 0
        for v in relaxation.paths.starts[-places:]:
            start = start * q + int(classes[v])
        # A context is a number in base q, of the classes of n − 1 leaves. One that no n-gram begins with is a
        # dead end, after </s> or elsewhere, and all dead ends are the same.
        codes, number = np.unique(np.append(code[relaxation.parents[-1]], start), return_inverse=True)
        dead = len(codes)
        if (dead + 1) * len(self.forest.word) > MOST_CELLS:
            return False
        leaf = relaxation.grams[-1]
        entry, self.entry_of = np.unique(leaf * np.int64(dead) + number[:-1], return_inverse=True)
        self.q, self.start, self.contexts = q, int(number[-1]), dead + 1
        self.leaf_of, self.before = entry // dead, entry % dead
        following = codes[self.before] % q ** (places - 1) * q + classes[self.leaf_of]
        self.after = np.minimum(np.searchsorted(codes, following), dead - 1)
        self.after[codes[self.after] != following] = dead
        self.separated = len(self.conflicts)
        return True

    def tightened_bound(self, multipliers: Array) -> Choice:
        """L under the partition, and what attains it. Disagreements that it has are kept apart from the next
        time on."""
        if len(self.conflicts) != self.separated and not self.split():
            self.ended = True
            return Choice(np.inf, [], [], [])
        relaxation, incumbents = self.relaxation, self.incumbents
        weight, (leaf, edge) = self.forest.step_weight.copy(), relaxation.gains(multipliers)
        weight[self.last_steps] += edge[self.forest.edge[self.last_steps]]
        forest, gain = self.forest._replace(step_weight=weight), relaxation.paths.graph.vertex_weight + leaf
        values = relaxation.gram_values(multipliers)
        alpha, chosen = np.empty(len(self.leaf_of)), np.full(len(self.leaf_of), -1, np.int64)
        choose(values, self.entry_of, alpha, chosen)
        node = self.node_of[self.leaf_of]
        score = np.where(node >= 0, alpha + gain[self.leaf_of], -np.inf)
        most = np.full(len(self.node_of), -np.inf)
        np.maximum.at(most, self.leaf_of, score)
        reach = compiled_outside_bounds(forest, most)
        # A derivation as good as the best known one reaches the threshold, despite rounding.
        threshold = incumbents.score - PRECISION * (1.0 + abs(incumbents.score))
        # N-grams with which even the relaxation stays below the best score are in no better derivation.
        last = relaxation.grams[-1]
        self.kept = values + gain[last] + reach[self.node_of[last]] >= threshold
        key = np.column_stack((node, self.before, self.after)).astype(np.int32)
        back = np.full_like(key, -1)
        back[:, 1] = np.arange(len(key))
        joins = min(affordable(self.clock), MOST_JOINS)
        search = AStarTables(forest, self.uses, reach, self.start, self.contexts, threshold, joins)
        value, steps, entries = best_first(search, AStarQueue(key, back, score))
        self.ended = not entries
        if self.ended:
            return Choice(value, [], [], [])
        starts = relaxation.paths.starts
        choice = Choice(
            value,
            [e for e in forest.edge[steps].tolist() if e >= 0],
            [*starts, *self.leaf_of[entries].tolist()],
            [*(-1 for _ in starts), *chosen[entries].tolist()],
        )
        self._watch(choice)
        return choice

    def _watch(self, choice: Choice) -> None:
        """Take note of leaves that were chosen where others stand."""
        for at, (v, gram) in enumerate(zip(choice.leaves, choice.grams, strict=True)):
            for back, (_, chosen, _) in enumerate(self.relaxation.before(gram, v) if gram >= 0 else (), 1):
                stands = choice.leaves[at - back]
                if chosen != stands:
                    self.conflicts.add((min(chosen, stands), max(chosen, stands)))


def _without_start(relaxation: PathRelaxation) -> Forest:
    """Return the hypergraph of the paths in binary steps, each leaf its own word, without `<s>`: the search
    begins after it."""
    paths = relaxation.paths
    graph, extra = paths.graph.weighted, len(paths.starts)
    begin, tail = graph.tail_begin.copy(), graph.tail
    begin[-1] -= extra
    tail = np.delete(tail, slice(int(begin[-2]), int(begin[-2]) + extra))
    graph = graph._replace(order=np.delete(graph.order, paths.starts), tail_begin=begin, tail=tail)
    return binary(graph, np.where(paths.leaf >= 0, np.arange(len(paths.leaf)), -1))
