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
from dualign._search.certificate import have_met
from dualign._search.dual import BOUND, CLOSED, ROUNDS, Record, StepRule, descent, new_record, run
from dualign._search.inside import inside
from dualign.translate.lm.trie import Automaton, find, follow
from dualign.translate.search.baselines.leaf_paths import LeafPairs, Paths, best_path, best_paths
from dualign.translate.search.derivations import Incumbents, rounding
from dualign.translate.search.intersection import cut
from dualign.translate.search.passes import first_bound
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
    return bound, relaxation is not None and met(bound, incumbents)


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


def met(bound: float, incumbents: Incumbents) -> bool:
    """Return whether the bound proves the one derivation that is wanted."""
    # Sums of thousands of terms, in another order than the score's.
    return incumbents.k == 1 and have_met(incumbents.score, bound, 10 * rounding(bound))


class Choice(NamedTuple):
    """What maximises the Lagrangian: its value, a derivation's edges, its leaves from left to right, `<s>`
    and `</s>` among them, and the n-gram that each leaf has chosen (−1: none). Where a search was cut off,
    the value is a bound and there are no leaves."""

    value: float
    edges: list[int]
    leaves: list[int]
    grams: list[int]


class PathRelaxation:
    """The n-grams of leaves, and multipliers: `leaf` float64 (places, V), `state` float64 (places, states).

    Grams of length k + 1 are `grams[k]`, the last leaf of each; `parents[k]`, the gram without it;
    `pairs[k]`, the pair of its last two leaves.
    """

    def __init__(self, problem: ForestProblem, paths: Paths) -> None:
        self.problem = problem
        self.paths = paths
        V = len(paths.leaf)
        self.grams = [np.arange(V, dtype=np.int32)]  # last leaf of each gram, for lengths 1, 2, …
        self.parents: list[Array] = [np.empty(0, np.int32)]
        self.pairs: list[Array] = [np.empty(0, np.int32)]
        lm = problem.automaton
        states = word_states(lm, problem.order - 1, paths.leaf)
        score = np.zeros(0)
        for length in range(2, problem.order + 1):
            count = int(np.diff(paths.pairs.begin)[self.grams[-1]].sum())
            if count > MOST_GRAMS:
                break
            parent, pair, last, states, score = extend(
                lm, length - 1, self.grams[-1], states, paths.leaf, paths.pairs, count
            )
            self.parents.append(parent)
            self.pairs.append(pair)
            self.grams.append(last)
        self.length = len(self.grams)
        self.score = score
        self.free_leaf, self.free_state = self._free()
        self.edge_of = paths.edge_numbers(problem)
        self.leaf = np.zeros((self.length - 1, V))
        self.state = np.zeros((self.length - 1, len(paths.walk.tail_of)))

    def _free(self) -> tuple[Array, Array]:
        """Return which leaves, at each place, and which states have a constraint: not those at the ends of
        the sentence."""
        paths, n = self.paths, self.length
        leaf = np.tile(paths.leaf >= 0, (n - 1, 1))
        leaf[:, paths.starts], leaf[:, paths.ends] = False, False
        state = np.ones(len(paths.walk.tail_of), np.bool_)
        V = len(paths.leaf)
        outer = {*paths.starts, *paths.ends, V - 1}
        inner = [v for v in range(V) if v not in outer]
        root_only = np.zeros(2 * V, np.bool_)
        root_only[inner] = True
        root_only[[2 * V - 1 - v for v in inner]] = True
        state &= root_only[paths.walk.tail_of] & root_only[paths.walk.head_of]
        return leaf, state

    def descend(
        self,
        evaluate: Callable[[Array, Array], Choice],
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
        state = _Descent(self, evaluate, incumbents, self.leaf, self.state)

        def advance(rounds: int) -> int:
            nonlocal bound
            with np.errstate(invalid="ignore"):  # of a bound that is infinite, as in a compiled loop
                status = descend(state, record, rounds, -np.inf)
            bound = min(bound, float(record.numbers[BOUND]))
            score = incumbents.score
            trace.append((what(), bound, score, clock.seconds))
            return CLOSED if have_met(score, bound, rounding(score)) else status

        run(advance, record, rounds, 1, clock)
        return bound

    def gram_values(self, leaf: Array, state: Array) -> Array:
        """Return for each n-gram of full length its score less the multipliers of its leaves and paths."""
        paths = self.paths
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

    def edge_gains(self, state: Array) -> Array:
        """Return what the multipliers of its states add to each edge; float64 (E)."""
        return np.add.reduceat(state.sum(axis=0)[self.paths.states], self.paths.state_begin[:-1])

    def relaxed_bound(self, leaf: Array, state: Array) -> Choice:
        """Return L, and what attains it."""
        paths = self.paths
        V = len(paths.leaf)
        alpha, chosen = np.zeros(V), np.full(V, -1, np.int64)
        choose(self.gram_values(leaf, state), self.grams[-1], alpha, chosen)
        weight = paths.graph.vertex_weight + alpha + leaf.sum(axis=0)
        edge_weight = paths.graph.edge_weight + self.edge_gains(state)
        within = np.full(V, -np.inf)
        inside(paths.graph._replace(vertex_weight=weight, edge_weight=edge_weight), True, within)
        edges, leaves = self._trace(within, edge_weight)
        return Choice(float(within[V - 1]), edges, leaves, chosen[leaves].tolist())

    def before(self, gram: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Return the leaves before leaf `last` in an n-gram that ends in it, the nearest first: place, the
        leaf, and the leaf after it."""
        for k in range(self.length - 1, 0, -1):
            leaf = int(self.paths.pairs.before[self.pairs[k][gram]])
            yield k - 1, leaf, last
            gram, last = int(self.parents[k][gram]), leaf

    def gradient(self, choice: Choice, state: Array) -> tuple[Array, Array]:
        """Return subgradients for leaves and states: how often they are used, less how often they were
        chosen."""
        paths = self.paths
        leaf_gradient, state_gradient = np.zeros_like(self.leaf), np.zeros_like(state)
        for v, gram in zip(choice.leaves, choice.grams, strict=True):
            leaf_gradient[:, v] += 1.0
            for k, leaf, last in self.before(gram, v) if gram >= 0 else ():
                leaf_gradient[k, leaf] -= 1.0
                best_path(leaf, last, paths.walk, state[k], state_gradient[k])
        for e in choice.edges:
            state_gradient[:, paths.states[paths.state_begin[e] : paths.state_begin[e + 1]]] += 1.0
        return leaf_gradient * self.free_leaf, state_gradient * self.free_state

    def _trace(self, within: Array, edge_weight: Array) -> tuple[list[int], list[int]]:
        paths = self.paths
        edges, leaves, stack = [], [], [len(paths.leaf) - 1]
        while stack:
            v = stack.pop()
            if paths.leaf[v] >= 0:
                leaves.append(v)
                continue
            best, top = -1, -np.inf
            for e in paths.edges_of(v).tolist():
                value = edge_weight[e] + within[paths.tail(e)].sum()
                if value > top:
                    best, top = e, value
            edges.append(best)
            stack.extend(paths.tail(best)[::-1])
        return edges, leaves


@dataclass
class _Descent:
    """The state of a descent: multipliers now, what was chosen there, and subgradients for leaves and
    states."""

    relaxation: PathRelaxation
    choose: Callable[[Array, Array], Choice]
    incumbents: Incumbents
    leaf: Array
    state: Array
    choice: Choice = field(init=False)
    gradient: tuple[Array, Array] = field(init=False)

    def evaluate(self) -> tuple[float, float]:
        """Return the value, and ‖g‖²: 0, which ends the descent, where the search was cut off."""
        self.choice = self.choose(self.leaf, self.state)
        if not self.choice.leaves:
            return self.choice.value, 0.0
        self.gradient = self.relaxation.gradient(self.choice, self.state)
        leaf, state = self.gradient
        return self.choice.value, float((leaf**2).sum() + (state**2).sum())

    def improve(self, record: Record, t: int, norm: float) -> float:
        """Offer the derivation; of a list of k, only now and then."""
        if self.choice.leaves and (self.incumbents.k == 1 or record.numbers[ROUNDS] % 10 == 0):
            edges = self.relaxation.edge_of[self.choice.edges]
            self.incumbents.offer([[int(e) for e in edges if e >= 0]])
        return self.incumbents.score

    def keep(self) -> None:
        self.relaxation.leaf, self.relaxation.state = self.leaf.copy(), self.state.copy()

    def restore(self) -> bool:
        self.leaf, self.state = self.relaxation.leaf.copy(), self.relaxation.state.copy()
        return True

    def move(self, step: float) -> None:
        self.leaf = self.leaf - step * self.gradient[0]
        self.state = self.state - step * self.gradient[1]


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
def word_states(lm: Automaton, K: int, words: Array) -> Array:
    """Return `intersection.cut` of each word by itself; 0 for −1."""
    states = np.zeros(len(words), np.int32)
    for i in range(len(words)):
        if words[i] >= 0:
            states[i] = cut(lm, K, 1 + words[i])
    return states


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
