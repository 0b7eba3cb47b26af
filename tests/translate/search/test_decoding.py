"""Every decoder against full enumeration."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from math import inf

import pytest
from tests.oracles.translation import derivations
from tests.translate.forests import random_forest, random_model

import dualign
from dualign.translate import Hypergraph, LanguageModel, decode
from dualign.translate.search.decoding import METHODS, decode_different

pytestmark = pytest.mark.kernel


def problems(count, orders=(1, 2, 3, 4, 5), begin=0):
    """Forest, model, and all derivations with their scores by the twin of the model."""
    for seed in range(begin, begin + count):
        rng = random.Random(seed)
        order = orders[seed % len(orders)]
        vertices, edges = random_forest(rng)
        model, twin = random_model(rng, order)
        found = derivations(vertices, edges, 0)
        if found:
            scores = {e: (weight + twin.sentence(words), words) for e, words, weight in found}
            yield seed, order, Hypergraph(vertices, edges, 0), model, scores


def check(result, scores, seed):
    """What must hold of any answer: a derivation, its own score, an honest bound and certificate."""
    best = max(score for score, _ in scores.values())
    score, words = scores[result.solution.edges]
    assert result.solution.words == words, seed
    assert result.score == pytest.approx(score, abs=1e-8), seed
    assert result.bound >= best - 1e-7, seed
    assert result.bound >= result.score - 1e-9, seed
    if result.certified:
        assert result.score == pytest.approx(best, abs=1e-5), seed


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "exhaustive"])
def test_exact_methods_find_the_best_and_say_so(method):
    for seed, order, graph, model, scores in problems(900):
        result = decode(graph, model, method=method, order=order)
        check(result, scores, seed)
        assert result.certified, seed
        assert result.gap <= 1e-6 * (1 + abs(result.score)), seed


@pytest.mark.slow
@pytest.mark.parametrize(("method", "count"), [("cube", 900), ("relax", 40), ("ilp", 60), ("lp", 60)])
def test_other_methods_are_honest(method, count):
    certified = 0
    for seed, order, graph, model, scores in problems(count):
        result = decode(graph, model, method=method, order=order, beam=3)
        check(result, scores, seed)
        certified += result.certified
        if method == "ilp":
            assert result.certified, seed
    assert certified > 0


@pytest.mark.parametrize("method", ["exact", "exhaustive"])
def test_k_best_is_exact(method):
    for seed, order, graph, model, scores in problems(250, begin=5000):
        results = decode(graph, model, method=method, order=order, k=6)
        wanted = sorted((score for score, _ in scores.values()), reverse=True)[:6]
        assert [r.score for r in results] == pytest.approx(wanted, abs=1e-7), seed
        assert len({r.solution.edges for r in results}) == len(results)
        assert all(r.certified for r in results), seed
        for r in results:
            assert r.score == pytest.approx(scores[r.solution.edges][0], abs=1e-8)


def test_different_sentences_each_come_with_their_best_derivation():
    for seed, order, graph, model, scores in problems(120, begin=8000):
        best: dict[tuple[str, ...], float] = {}
        for score, words in scores.values():
            best[words] = max(score, best.get(words, score))
        results = decode_different(graph, model, 4, order=order)
        wanted = sorted(best.values(), reverse=True)[:4]
        assert [r.score for r in results] == pytest.approx(wanted, abs=1e-7), seed
        assert len({r.solution.words for r in results}) == len(results)


@pytest.mark.parametrize("method", ["cube", "relax", "tighten", "ilp", "lp"])
def test_k_best_of_the_others_is_honest(method):
    for seed, order, graph, model, scores in problems(12, begin=5000):
        results = decode(graph, model, method=method, order=order, k=4, beam=8)
        assert isinstance(results, list)
        check(results[0], scores, seed)
        ranked = sorted((score for score, _ in scores.values()), reverse=True)
        for rank, r in enumerate(results):
            assert r.score <= ranked[rank] + 1e-8
            assert not r.certified or r.score == pytest.approx(ranked[rank], abs=1e-5)


def test_a_lower_order_than_the_models_forgets_what_is_longer():
    rng = random.Random(3)
    for _ in range(40):
        vertices, edges = random_forest(rng)
        model, twin = random_model(rng, 4)
        found = derivations(vertices, edges, 0)
        if not found:
            continue
        twin.order = 2
        best = max(weight + twin.sentence(words) for _, words, weight in found)
        assert decode(Hypergraph(vertices, edges, 0), model, order=2).score == pytest.approx(best, abs=1e-7)


def test_a_scaled_model_counts_as_much_as_its_weight():
    rng = random.Random(4)
    for weight in (0.3, 2.0, -0.5):
        vertices, edges = random_forest(rng)
        model, twin = random_model(rng, 3)
        found = derivations(vertices, edges, 0)
        best = max(w + weight * twin.sentence(words) for _, words, w in found)
        result = decode(Hypergraph(vertices, edges, 0), model.scaled(weight))
        assert result.score == pytest.approx(best, abs=1e-7)
        assert result.certified


def test_wide_edges_and_many_words():
    """A tail of forty words, forty alternatives for one of them: vocabulary in several blocks of bits."""
    words = [f"w{n}" for n in range(150)]
    model = LanguageModel.train([words, words[::-1], words[::3]], 3)
    vertices = [(None, 0.0), *((w, 0.0) for w in words), (None, 0.0)]
    edges = [(0, [*range(1, 40), 151, *range(42, 60)], 0.0), *((151, [n], 0.0) for n in range(60, 150))]
    edges.append((151, [40, 41], 0.0))
    graph = Hypergraph(vertices, edges, 0)
    result = decode(graph, model)
    assert result.certified
    assert result.solution.words == tuple(words[:59])
    assert decode(graph, model, method="cube", beam=200).score == pytest.approx(result.score)


def test_a_time_limit_returns_something_honest():
    rng = random.Random(0)
    vertices, edges = random_forest(rng, inner=25, edges=6)
    model, _ = random_model(rng, 3)
    graph = Hypergraph(vertices, edges, 0)
    quick = decode(graph, model, time_limit=1e-6)
    full = decode(graph, model)
    assert quick.bound >= full.score - 1e-6
    assert quick.score <= full.bound + 1e-6
    assert full.certified


def test_bounds_hold_at_every_stage_and_never_rise():
    for seed, order, graph, model, scores in problems(200, orders=(3, 4, 5), begin=20_000):
        best = max(score for score, _ in scores.values())
        bounds = [stage[1] for stage in decode(graph, model, order=order).trace]
        assert all(bound >= best - 1e-7 for bound in bounds), seed
        assert bounds == sorted(bounds, reverse=True), seed


def test_a_gap_ends_the_search_early_with_an_honest_bound():
    graph, model = reordering(random.Random(2), 12)
    full = decode(graph, model)
    rough = decode(graph, model, gap=4.0)
    assert full.certified
    assert not rough.certified
    assert full.score - 1e-6 <= rough.bound <= rough.score + 4.0 + 1e-6
    assert len(rough.trace) < len(full.trace)


def reordering(rng, words):
    """A forest with ten translations for each word and any order within four, and a trigram model."""
    vocabulary = [f"t{n}" for n in range(150)]
    model = LanguageModel.train([[rng.choice(vocabulary[:60]) for _ in range(12)] for _ in range(600)], 3)
    vertices, edges, span = [], [], {}
    for i in range(words):
        vertices += [(None, 0.0), *((w, 0.0) for w in rng.sample(vocabulary[:100], 10))]
        span[i, i + 1] = len(vertices) - 11
        edges += [(span[i, i + 1], [len(vertices) - n], rng.uniform(-3, 0)) for n in range(1, 11)]
    for length in range(2, words + 1):
        for i in range(words - length + 1) if length <= 4 else [0]:
            vertices.append((None, 0.0))
            span[i, i + length] = len(vertices) - 1
            for m in range(i + 1, i + length):
                if (i, m) in span and (m, i + length) in span:
                    parts = [span[i, m], span[m, i + length]]
                    edges += [(span[i, i + length], parts, rng.uniform(-1, 0))]
                    edges += [(span[i, i + length], parts[::-1], rng.uniform(-1, 0))] if length <= 4 else []
    used = {v for _, tail, _ in edges for v in tail} | {span[0, words]}
    assert len(used) == len(vertices)
    return Hypergraph(vertices, edges, span[0, words]), model


@pytest.mark.slow
def test_forests_with_free_reordering_are_proved_and_cube_pruning_is_never_better():
    for seed in range(4):
        graph, model = reordering(random.Random(seed), 5)
        result = decode(graph, model, time_limit=60)
        assert result.certified, seed
        whole = decode(graph, model, method="exhaustive")
        assert whole.certified, seed
        assert result.score == pytest.approx(whole.score, abs=1e-6)
        for beam in (5, 50, 500):
            assert decode(graph, model, method="cube", beam=beam).score <= result.score + 1e-9


@pytest.mark.parametrize("limit", [inf, 1e10])
@pytest.mark.parametrize("method", METHODS)
def test_an_endless_time_limit_is_none(method, limit):
    _, order, graph, model, _ = next(problems(1))
    free = decode(graph, model, method=method, order=order)
    result = decode(graph, model, method=method, order=order, time_limit=limit)
    assert (result.solution, result.bound) == (free.solution, free.bound)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_said_of_forests_that_the_user_has_not_made(method, caplog):
    # Both 1 and 2 lead to 3, so the integer program puts a copy in the place of 2.
    vertices = [(None, 0.0), (None, 0.0), (None, 0.0), (None, 0.0), ("a", 0.0), ("b", 0.0)]
    edges = [(0, [1, 2], 0.0), (1, [3], 0.0), (2, [3], 0.0), (3, [4, 5], 0.0), (3, [5, 4], -0.5)]
    decode(Hypergraph(vertices, edges, 0), LanguageModel.train([["a", "b"]], 2), method=method)
    assert caplog.text == ""


def test_a_time_limit_is_kept_where_a_search_takes_longer():
    graph, model = reordering(random.Random(0), 30)
    result = decode(graph, model, time_limit=0.3)
    assert result.seconds < 0.3 + 5  # a busy machine may take some seconds, the whole search over a minute
    assert result.bound > result.score


COMPILED = """
import gc, random
from numba.core.dispatcher import Dispatcher
from tests.translate.search.test_decoding import reordering
from dualign.translate import decode
from dualign.translate.search.decoding import compile_method

def count():
    return sum(len(one.signatures) for one in gc.get_objects() if isinstance(one, Dispatcher))

graph, model = reordering(random.Random(0), 8)
compile_method("exact")
before = count()
assert decode(graph, model, time_limit=60).certified
assert decode(graph, model, order=2, time_limit=60).certified
print(count() - before)
"""


@pytest.mark.slow
def test_no_kernel_is_compiled_after_the_clock_has_started():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout == "0\n", done.stderr


def test_the_same_input_gives_the_same_answer():
    for _, order, graph, model, _ in problems(10):
        for method in ("exact", "cube", "relax", "tighten"):
            once, twice = (decode(graph, model, method=method, order=order) for _ in range(2))
            assert once.solution == twice.solution
            assert (once.score, once.bound) == (twice.score, twice.bound)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "is not one of exact"),
        ({"order": 0}, "order=0"),
        ({"order": 2.5}, "order=2.5"),
        ({"k": 0}, "k=0"),
        ({"beam": -1}, "beam=-1"),
        ({"time_limit": 0}, "time_limit=0"),
        ({"gap": -1.0}, "gap=-1.0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    graph = Hypergraph([("a", 0.0)], [], 0)
    model, _ = random_model(random.Random(0), 2)
    with pytest.raises(dualign.UsageError, match=message):
        decode(graph, model, **options)


def test_wrong_arguments_are_refused():
    model, _ = random_model(random.Random(0), 2)
    with pytest.raises(dualign.UsageError, match="hypergraph is a list"):
        decode([], model)
    with pytest.raises(dualign.UsageError, match="lm is a str"):
        decode(Hypergraph([("a", 0.0)], [], 0), "lm.arpa")


def test_programs_say_whether_their_solution_is_whole():
    said = {"lp": set(), "ilp": set()}
    for seed, order, graph, model, _ in problems(60):
        for method, seen in said.items():
            result = decode(graph, model, method=method, order=order)
            what = result.trace[-1][0]
            seen.add(what)
            assert result.certified or what != "whole", seed
    assert said == {"lp": {"whole", "fractional"}, "ilp": {"whole"}}
    cut = decode(graph, model, method="lp", order=order, time_limit=1e-9)
    assert not cut.trace or cut.trace[-1][0] == "cut off"
