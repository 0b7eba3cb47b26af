"""The tightened relaxation against enumeration: values under any partition, answers, limits."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.translation import derivations, restricted_value
from tests.translate.forests import random_forest, random_model
from tests.translate.search.test_decoding import check, problems

from dualign._core.progress import Clock
from dualign.translate import Hypergraph, LanguageModel, decode
from dualign.translate.search import multipliers
from dualign.translate.search.baselines import partitions as module
from dualign.translate.search.baselines import relax as relaxing
from dualign.translate.search.baselines.partitions import coloured, partitions
from dualign.translate.search.derivations import Incumbents
from dualign.translate.search.problem import ForestProblem

pytestmark = pytest.mark.kernel


@pytest.mark.slow
def test_the_best_derivation_is_found_and_proved():
    """Shared parts, vertices used twice, both orders of the same leaves: there is always a proof."""
    needed = set()
    for seed, order, graph, model, scores in problems(1000, begin=20_000):
        result = decode(graph, model, method="tighten", order=order)
        check(result, scores, seed)
        assert result.certified or order == 1, seed
        needed.add(partitions(result.trace))
    assert 1 in needed
    assert len(needed) > 3


@pytest.mark.slow
def test_what_is_dropped_is_in_no_better_derivation(monkeypatch):
    """From any first derivation, and without the rounds of the relaxation that might find the best one."""
    monkeypatch.setattr(module, "ROUNDS", 0)
    for seed, order, graph, model, scores in problems(200, orders=(2, 3), begin=25_000):
        ranked = sorted(scores, key=lambda edges: -scores[edges][0])
        for first in ranked[1:4]:
            monkeypatch.setattr(multipliers, "cube", lambda problem, beam, k, first=first: [first])
            result = decode(graph, model, method="tighten", order=order)
            check(result, scores, seed)
            assert result.certified, seed


class Priced:
    """A forest with random multipliers, for the relaxation and for its twin."""

    def __init__(self, seed, order):
        rng = random.Random(seed)
        self.forest = random_forest(rng, inner=4)
        model, self.twin = random_model(rng, order)
        problem = ForestProblem(Hypergraph(*self.forest, 0), model, order)
        incumbents = Incumbents(problem, 1)
        _, self.relaxation = relaxing.prepared(problem, incumbents, Clock(), [])
        self.tightened = module._Tightened(self.relaxation, incumbents, Clock())
        paths = self.relaxation.paths
        V = len(paths.leaf)
        self.leaves = [v for v in range(V) if paths.leaf[v] >= 0]
        self.name = [*problem.hypergraph.order.tolist(), *paths.starts, *paths.ends, "goal"]
        for i, (start, end) in enumerate(zip(paths.starts, paths.ends, strict=True)):
            self.name[start], self.name[end] = ("<s>", i), ("</s>", i)
        numbers = np.random.default_rng(seed)
        free = self.relaxation.free
        self.multipliers = numbers.normal(size=free.shape) * free
        positions = [(name, "up") for name in self.name] + [(name, "down") for name in self.name[::-1]]
        steps = [
            (positions[a], positions[b]) for a, b in zip(paths.walk.tail_of, paths.walk.head_of, strict=True)
        ]
        self.prices = [{self.name[v]: row[v] for v in self.leaves} for row in self.multipliers.tolist()]
        self.step_prices = [dict(zip(steps, row, strict=True)) for row in self.multipliers[:, V:].tolist()]

    def wanted(self, classes):
        named = {self.name[v]: int(classes[v]) for v in self.leaves}
        return restricted_value(*self.forest, 0, self.twin, self.prices, self.step_prices, named)


def attained(priced):
    """The value of what the relaxation says attains its bound, added up from its parts."""
    relaxation, multipliers = priced.relaxation, priced.multipliers
    graph, choice = relaxation.paths.graph, relaxation.relaxed_bound(multipliers)
    leaf, edge = relaxation.gains(multipliers)
    inner = (graph.edge_weight + edge + graph.vertex_weight[graph.head])[choice.edges].sum()
    chosen = relaxation.gram_values(multipliers)[[gram for gram in choice.grams if gram >= 0]].sum()
    return inner + (graph.vertex_weight + leaf)[choice.leaves].sum() + chosen


@pytest.mark.parametrize("order", [2, 3])
def test_values_under_any_partition_and_multipliers(order):
    """The search under a partition maximises what the definition says; one class is the relaxation."""
    restricted = 0
    for seed in range(60):
        if not derivations(*random_forest(random.Random(seed), inner=4), 0):
            continue
        priced = Priced(seed, order)
        tightened = priced.tightened
        V = len(priced.name)
        loose = priced.wanted(np.zeros(V))
        assert priced.relaxation.relaxed_bound(priced.multipliers).value == pytest.approx(loose), seed
        assert attained(priced) == pytest.approx(loose), seed
        pairs = list(combinations(priced.leaves, 2))
        for share in (0.0, 0.05, 0.3, 1.0):
            chosen = set(random.Random(seed).sample(pairs, int(share * len(pairs))))
            tightened.conflicts, tightened.separated, tightened.kept = chosen.copy(), -1, None
            choice = tightened.tightened_bound(priced.multipliers)
            value = priced.wanted(tightened.classes)
            assert choice.value == pytest.approx(value, rel=1e-9), (seed, share)
            assert all(tightened.classes[a] != tightened.classes[b] for a, b in chosen)
            restricted += value < loose - 1e-6
    assert restricted > 20


PAIRS = st.sets(st.tuples(st.integers(0, 14), st.integers(0, 14)).filter(lambda p: p[0] < p[1]))


@given(PAIRS, PAIRS)
def test_no_pair_shares_a_class(pairs, more):
    classes = coloured(np.zeros(15, np.int64), pairs)
    assert all(classes[a] != classes[b] for a, b in pairs)
    degree = np.bincount([v for pair in pairs for v in pair], minlength=15)
    assert set(classes.tolist()) == set(range(int(classes.max()) + 1))
    assert classes.max() <= degree.max()
    assert not classes[degree == 0].any()
    assert coloured(classes, pairs).tolist() == classes.tolist()
    again = coloured(classes, pairs | more)
    assert all(again[a] != again[b] for a, b in pairs | more)
    assert set(again.tolist()) == set(range(int(again.max()) + 1))


@pytest.mark.parametrize(
    ("place", "limit", "value"),
    [(module, "MOST_JOINS", 40), (module, "MOST_CELLS", 1), (relaxing, "MOST_GRAMS", 60)],
)
def test_limits_leave_an_honest_bound(monkeypatch, place, limit, value):
    monkeypatch.setattr(place, limit, value)
    certified = []
    for seed, order, graph, model, scores in problems(60, orders=(3, 4), begin=30_000):
        result = decode(graph, model, method="tighten", order=order)
        check(result, scores, seed)
        certified.append(result.certified)
    assert not all(certified)
    assert any(certified)


def test_a_time_limit_is_kept_and_leaves_an_honest_bound():
    rng = random.Random(0)
    vertices, edges = random_forest(rng, inner=14, edges=4)
    model, _ = random_model(rng, 3)
    graph = Hypergraph(vertices, edges, 0)
    best = decode(graph, model).score
    quick = decode(graph, model, method="tighten", time_limit=1e-6)
    assert quick.bound >= best - 1e-6
    assert quick.score <= best + 1e-6


def test_one_word_and_one_derivation():
    model = LanguageModel.train([["a", "b"], ["b", "a"]], 3)
    for graph in (
        Hypergraph([("a", -0.5)], [], 0),
        Hypergraph([(None, 0.0), ("a", 0.0)], [(0, [1, 1, 1], 0.0)], 0),
    ):
        result = decode(graph, model, method="tighten")
        assert result.certified
        assert result.score == pytest.approx(decode(graph, model).score)
