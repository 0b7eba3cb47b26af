"""Lagrangian relaxation with paths between leaves (Rush & Collins 2011, §4-5), for n-grams of any length.

Every leaf of the derivation chooses, by itself, the n − 1 leaves before it *and the paths between them*.
Multipliers ask that the choices agree with the derivation: for each place k of an n-gram, a leaf v is
chosen there as often as it is used (`λ^k_v`), and each state s lies on chosen paths between places k and k
+ 1 as often as the derivation has it (`u^k_s`). For any multipliers

    L = max over derivations of  Σ_v [ θ_v + Σ_k λ^k_v + α_v ] + Σ_e [ θ_e + Σ_{s∈S(e)} Σ_k u^k_s ]
    α_v = max over leaves v_1..v_{n−1} before v of  log p − Σ_k λ^k_{v_k} − Σ_k (path from v_k to v_{k+1})

is an upper bound (Figure 3 as corrected: λ belongs to place 2, γ to place 1). L is made small by
subgradient steps; each derivation met on the way is scored in full. For a bigram model and a forest in
which the order of any two leaves is fixed the paths say nothing that the leaves do not, and this is the
simple algorithm of Figure 1.

Where there are too many n-grams of leaves, shorter ones are enumerated, and bounded over all that is longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import Stage
from dualign._core.jit import kernel
from dualign._core.progress import Clock
from dualign._search.dual import BOUND, CLOSED, ROUNDS, Record, StepRule, descent, new_record, run
from dualign._search.inside import inside
from dualign.translate.lm.trie import Automaton, find, follow
from dualign.translate.search.baselines.leaf_paths import LeafPairs, Paths, best_path, best_paths
from dualign.translate.search.derivations import Incumbents
from dualign.translate.search.intersection import cut
from dualign.translate.search.multipliers import first_bound
from dualign.translate.search.problem import ForestProblem

MOST_PAIRS = 300_000
MOST_GRAMS = 3_000_000
MOST_ROUNDS = 300


def relax(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage]
) -> tuple[float, bool]:
    """Fill `incumbents`; returns a bound, and whether they are proved to be the best (only ever one)."""
    bound, relaxation = prepared(problem, incumbents, clock, trace)
    if relaxation is not None:
        bound = relaxation.descend(relaxation.relaxed_bound, MOST_ROUNDS, incumbents, clock, trace, bound)
    return bound, relaxation is not None and incumbents.k == 1 and incumbents.meet(bound, 10)


def prepared(
    problem: ForestProblem, incumbents: Incumbents, clock: Clock, trace: list[Stage]
) -> tuple[float, PathRelaxation | None]:
    """Return a first derivation and a first bound; and the relaxation, unless there is nothing to relax, or
    too much."""
    bound = first_bound(problem, incumbents, max(10, 2 * incumbents.k), clock)
    trace.append(("multipliers", bound, incumbents.score, clock.seconds))
    paths = Paths.of(problem, problem.order - 1, MOST_PAIRS) if problem.order > 1 else None
    relaxation = None if paths is None else PathRelaxation(problem, paths)
    return bound, relaxation if relaxation is not None and relaxation.length > 1 else None


class Choice(NamedTuple):
    """What maximises the Lagrangian: its value, a derivation's edges, its leaves from left to right, `<s>`
    and `</s>` among them, and the n-gram that each leaf has chosen (−1: none). Where a search was cut off,
    the value is a bound and there are no leaves."""

    value: float
    edges: list[int]
    leaves: list[int]
    grams: list[int]


class PathRelaxation:
    """The n-grams of leaves, and the best `multipliers` float64 (places, V + states), of leaves and states.

    Grams of length k + 1 are `grams[k]`, the last leaf of each; `parents[k]`, the gram without it;
    `pairs[k]`, the pair of its last two leaves.
    """

    def __init__(self, problem: ForestProblem, paths: Paths) -> None:
        self.paths = paths
        self.grams = [np.arange(len(paths.leaf), dtype=np.int32)]
        self.parents: list[Array] = [np.empty(0, np.int32)]
        self.pairs: list[Array] = [np.empty(0, np.int32)]
        lm = problem.automaton
        states, self.score = lm.state[1 + paths.leaf], np.zeros(0)
        for length in range(2, problem.order + 1):
            count = int(np.diff(paths.pairs.begin)[self.grams[-1]].sum())
            if count > MOST_GRAMS:
                break
            parent, pair, last, states, self.score = extend(
                lm, length - 1, self.grams[-1], states, paths.leaf, paths.pairs, count
            )
            self.parents.append(parent)
            self.pairs.append(pair)
            self.grams.append(last)
        self.length = len(self.grams)
        self.free = np.tile(_constrained(paths), (self.length - 1, 1))
        self.multipliers = np.zeros(self.free.shape)

    def of_leaves(self, multipliers: Array) -> Array:
        """Return those of the leaves, (places, V)."""
        return multipliers[:, : len(self.paths.leaf)]

    def of_states(self, multipliers: Array) -> Array:
        """Return those of the states, (places, states)."""
        return multipliers[:, len(self.paths.leaf) :]

    def descend(
        self,
        evaluate: Callable[[Array], Choice],
        rounds: int,
        incumbents: Incumbents,
        clock: Clock,
        trace: list[Stage],
        bound: float,
        what: Callable[[], str] = lambda: "relaxation",
    ) -> float:
        """Subgradient steps of Polyak's length from the multipliers on, until bound and score meet, or
        nothing moves; keeps the multipliers with the least value, and returns the bound."""
        record = new_record(score=incumbents.score)
        state = _Descent(self, evaluate, incumbents, self.multipliers)

        def advance(rounds: int) -> int:
            nonlocal bound
            with np.errstate(invalid="ignore"):  # of a bound that is infinite, as in a compiled loop
                status = descend(state, record, rounds, -np.inf)
            bound = min(bound, float(record.numbers[BOUND]))
            trace.append((what(), bound, incumbents.score, clock.seconds))
            return CLOSED if incumbents.meet(bound) else status

        run(advance, record, rounds, 1, clock)
        return bound

    def gram_values(self, multipliers: Array) -> Array:
        """Return for each n-gram of full length its score less the multipliers of its leaves and paths."""
        paths, leaf, state = self.paths, self.of_leaves(multipliers), self.of_states(multipliers)
        routes = np.empty((self.length - 1, len(paths.pairs.before)))
        for k in range(self.length - 1):
            best_paths(paths.pairs, paths.walk, state[k], routes[k])
        value = -leaf[0]
        for k in range(1, self.length - 1):
            value = value[self.parents[k]] + routes[k - 1][self.pairs[k]] - leaf[k][self.grams[k]]
        return value[self.parents[-1]] + routes[-1][self.pairs[-1]] + self.score

    def restrict(self, kept: Array) -> None:
        """Leave no other n-grams of full length to choose from than those of `kept`, bool."""
        for arrays in (self.grams, self.parents, self.pairs):
            arrays[-1] = arrays[-1][kept]
        self.score = self.score[kept]

    def gains(self, multipliers: Array) -> tuple[Array, Array]:
        """Return what multipliers add to each leaf and, by its states, to each edge; float64 (V), (E)."""
        leaf, state = (
            part.sum(axis=0) for part in (self.of_leaves(multipliers), self.of_states(multipliers))
        )
        return leaf, np.add.reduceat(state[self.paths.states], self.paths.state_begin[:-1])

    def relaxed_bound(self, multipliers: Array) -> Choice:
        """Return L, and what attains it."""
        paths, graph = self.paths, self.paths.graph
        alpha, chosen = np.zeros(len(paths.leaf)), np.full(len(paths.leaf), -1, np.int64)
        choose(self.gram_values(multipliers), self.grams[-1], alpha, chosen)
        leaf, gain = self.gains(multipliers)
        vertex, edge = graph.vertex_weight + alpha + leaf, graph.edge_weight + gain
        within = np.full(len(paths.leaf), -np.inf)
        inside(graph.weighted._replace(vertex_weight=vertex, edge_weight=edge), True, within)
        edges, leaves = paths.derivation(edge + np.add.reduceat(within[graph.tail], graph.tail_begin[:-1]))
        return Choice(float(within[graph.root]), edges, leaves, chosen[leaves].tolist())

    def before(self, gram: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Return the leaves before leaf `last` in an n-gram that ends in it, the nearest first: place, the
        leaf, and the leaf after it."""
        for k in range(self.length - 1, 0, -1):
            leaf = int(self.paths.pairs.before[self.pairs[k][gram]])
            yield k - 1, leaf, last
            gram, last = int(self.parents[k][gram]), leaf

    def gradient(self, choice: Choice, multipliers: Array) -> Array:
        """Return the subgradient: how often leaves and states are used, less how often they were chosen."""
        paths, gradient = self.paths, np.zeros_like(multipliers)
        leaf, state, cost = self.of_leaves(gradient), self.of_states(gradient), self.of_states(multipliers)
        for v, gram in zip(choice.leaves, choice.grams, strict=True):
            leaf[:, v] += 1.0
            for k, chosen, last in self.before(gram, v) if gram >= 0 else ():
                leaf[k, chosen] -= 1.0
                best_path(chosen, last, paths.walk, cost[k], state[k])
        for e in choice.edges:
            state[:, paths.states[paths.state_begin[e] : paths.state_begin[e + 1]]] += 1.0
        return gradient * self.free


def _constrained(paths: Paths) -> Array:
    """Return which leaves and states have multipliers, bool (V + states): not those at the ends of the
    sentence."""
    V, outer = len(paths.leaf), [*paths.starts, *paths.ends, paths.graph.root]
    inner = np.ones(V, np.bool_)
    inner[outer] = False
    position = np.concatenate((inner, inner[::-1]))
    state = position[paths.walk.tail_of] & position[paths.walk.head_of]
    return np.concatenate((inner & (paths.leaf >= 0), state))


@dataclass
class _Descent:
    """The state of a descent: multipliers now, what was chosen there, and the subgradient."""

    relaxation: PathRelaxation
    choose: Callable[[Array], Choice]
    incumbents: Incumbents
    now: Array
    choice: Choice = field(init=False)
    gradient: Array = field(init=False)

    def evaluate(self) -> tuple[float, float]:
        """Return the value, and ‖g‖²: 0, which ends the descent, where the search was cut off."""
        self.choice = self.choose(self.now)
        if not self.choice.leaves:
            return self.choice.value, 0.0
        self.gradient = self.relaxation.gradient(self.choice, self.now)
        return self.choice.value, float((self.gradient**2).sum())

    def improve(self, record: Record, t: int, norm: float) -> float:
        """Offer the derivation; of a list of k, only now and then."""
        if self.choice.leaves and (self.incumbents.k == 1 or record.numbers[ROUNDS] % 10 == 0):
            edges = self.relaxation.paths.edge[self.choice.edges].tolist()
            self.incumbents.offer([[e for e in edges if e >= 0]])
        return self.incumbents.score

    def keep(self) -> None:
        self.relaxation.multipliers = self.now

    def restore(self) -> bool:
        self.now = self.relaxation.multipliers
        return True

    def move(self, step: float) -> None:
        self.now = self.now - step * self.gradient


descend = descent(
    _Descent.evaluate, _Descent.improve, _Descent.move, StepRule(10, 0.5, 0.02, impossible=-np.inf),
    keep=_Descent.keep, restore=_Descent.restore, compiled=False,
)  # fmt: skip


@kernel
def choose(total: Array, last: Array, alpha: Array, chosen: Array) -> None:
    """For each leaf, or other class of n-grams, the best n-gram; those without one keep what they have."""
    for g in range(len(total)):
        v = last[g]
        if chosen[v] < 0 or total[g] > alpha[v]:
            alpha[v] = total[g]
            chosen[v] = g


@kernel
def extend(
    lm: Automaton, K: int, last: Array, states: Array, leaf: Array, pairs: LeafPairs, count: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Return grams one leaf longer: parent, pair, last leaf, right state, and score of the last word.

    `K` is the length of the grams so far: where the model looks further back, and the gram does not begin
    with <s>, the score is a bound over all that can be before.
    """
    parent, pair = np.empty(count, np.int32), np.empty(count, np.int32)
    new_last, new_states, score = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count)
    at = 0
    for g in range(len(last)):
        v = last[g]
        for p in range(pairs.begin[v], pairs.begin[v + 1]):
            w = leaf[pairs.after[p]]
            parent[at], pair[at], new_last[at] = g, p, pairs.after[p]
            if w == lm.begin:
                new_states[at], score[at] = lm.state[1 + w], 0.0
            elif w == lm.end and leaf[v] == lm.end:
                new_states[at], score[at] = 0, 0.0
            else:
                s = states[g]
                node = find(lm.first, lm.word, s, w)
                longer = lm.depth[s] == K and lm.order - 1 > K
                if longer and node >= 0:
                    score[at] = lm.upper[node]
                else:
                    node, score[at] = follow(lm, s, node, w, lm.close[s] if longer else 0.0)
                new_states[at] = cut(lm, lm.order - 1, node)
            at += 1
    return parent, pair, new_last, new_states, score
