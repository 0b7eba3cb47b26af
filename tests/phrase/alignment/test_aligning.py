"""The best phrase alignment, by every method, against enumeration."""

from __future__ import annotations

import math
import random
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from tests.oracles import phrase as oracle
from tests.phrase.pairs import filled, random_pair, weighted_pairs

from dualign import DataError, Infeasible, UsageError, phrase
from dualign.phrase.aligning import METHODS, align, align_pair, decide
from dualign.phrase.climbing import _monotone
from dualign.phrase.coverage import links_of
from dualign.phrase.weights import weighted_pair

pytestmark = pytest.mark.kernel


def check(result, weights, I, J, best):
    """What must hold of every answer, whatever the method."""
    assert result.bound >= best - 1e-9
    if result.solution is None:
        assert result.score == -math.inf
        assert not result.certified
    else:
        assert oracle.is_alignment(result.solution, I, J)
        assert result.score == pytest.approx(oracle.score(weights, result.solution), rel=1e-12, abs=1e-12)
        assert result.score <= result.bound
        assert result.solution == tuple(sorted(result.solution))
    if result.certified:
        assert result.score == pytest.approx(best, rel=0, abs=1e-6)


@given(weighted_pairs())
def test_every_method_agrees_with_enumeration(drawn):
    weights, I, J = drawn
    found = oracle.answers(weights, I, J)
    for method in METHODS:
        if found is None:
            try:
                result = align(weights, I, J, method=method)
            except Infeasible:
                continue
            assert method == "greedy"
            assert result.solution is None
        else:
            result = align(weights, I, J, method=method)
            check(result, weights, I, J, found[0])
            assert result.certified or method == "greedy"


@pytest.mark.parametrize("states", [1, 2])
def test_branching_closes_what_a_narrow_search_leaves_open(states):
    for seed in range(150):
        weights, I, J = random_pair(seed)
        found = oracle.answers(weights, I, J)
        if found is None:
            with pytest.raises(Infeasible):
                align_pair(weighted_pair(weights, I, J), states=states)
        else:
            result = align_pair(weighted_pair(weights, I, J), states=states)
            check(result, weights, I, J, found[0])
            assert result.certified


def test_more_than_64_words_on_the_shorter_side():
    draw = random.Random(3)
    weights = {(n, n + 1, n, n + 1): -1.0 for n in range(150)} | filled(draw, 12, 12, 0.3, 3)
    result = align(weights, 150, 150)
    assert result.certified
    assert result.score == pytest.approx(align(weights, 150, 150, method="ilp").score, abs=1e-6)


def test_transposing_a_pair_changes_no_score():
    for seed in range(100):
        weights, I, J = random_pair(seed)
        swapped = {(k, l, i, j): weight for (i, j, k, l), weight in weights.items()}
        try:
            there = align(weights, I, J).score
        except Infeasible:
            with pytest.raises(Infeasible):
                align(swapped, J, I)
        else:
            assert align(swapped, J, I).score == pytest.approx(there, abs=1e-9)


def test_decide_is_problem_d():
    for seed in range(200):
        weights, I, J = random_pair(seed)
        found = oracle.answers(weights, I, J)
        for threshold in (-20.0, -5.0, -1.0, 0.0):
            assert decide(weights, I, J, threshold) == (found is not None and found[0] >= threshold - 1e-9)
        assert decide(weights, I, J, -math.inf) == (found is not None)
        assert not decide(weights, I, J, math.inf)
        if found is not None:
            assert decide(weights, I, J, found[0])
            assert not decide(weights, I, J, found[0] + 0.001)


def test_time_limit_keeps_the_bound_honest():
    draw = random.Random(1)
    weights = filled(draw, 20, 20, 0.2, 3)
    result = align(weights, 20, 20, time_limit=1e-9)
    assert result.bound >= align(weights, 20, 20).score


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [math.inf, 1e10])
def test_an_endless_time_limit_is_none(method, limit):
    weights = filled(random.Random(1), 5, 5, 0.2, 3)
    free = align(weights, 5, 5, method=method)
    result = align(weights, 5, 5, method=method, time_limit=limit)
    assert (result.solution, result.bound) == (free.solution, free.bound)
    assert decide(weights, 5, 5, free.score - 1, time_limit=limit)


def dense(length, most, seed=1):
    spans = [(i, j) for i in range(length) for j in range(i + 1, min(length, i + most) + 1)]
    weights = np.log(np.random.default_rng(seed).random((len(spans), len(spans)))).tolist()
    return {(*spans[a], *spans[b]): weights[a][b] for a in range(len(spans)) for b in range(len(spans))}


@pytest.mark.parametrize("method", ["exact", "ilp", "greedy"])
def test_time_limit_holds_with_an_answer_and_a_bound(method):
    align(dense(3, 2), 3, 3, method=method, time_limit=9)
    pair = weighted_pair(dense(30, 5), 30, 30)
    greedy = align_pair(pair, "greedy", 0.05)
    began = process_time()
    result = align_pair(pair, method, 0.2)
    # A busy machine may take a multiple of the limit; without one, `exact` takes half a minute and more.
    assert process_time() - began < 0.2 + 2
    assert result.solution is not None
    assert greedy.score <= result.score <= result.bound < 0
    assert oracle.is_alignment(result.solution, 30, 30)


def test_monotone_alignment_is_the_best_of_its_kind():
    for seed in range(20):
        draw = random.Random(seed)
        I, J = draw.randint(1, 5), draw.randint(1, 5)
        weights = filled(draw, I, J, 0.4, 3)
        pair = weighted_pair(weights, I, J)
        scores = [-math.inf]

        def extend(i, k, score, I=I, J=J, weights=weights, scores=scores):
            if (i, k) == (I, J):
                scores.append(score)
            for (a, b, c, d), weight in weights.items():
                if (a, c) == (i, k):
                    extend(b, d, score + weight)

        extend(0, 0, 0.0)
        found = _monotone(links_of(pair, longer_side=False))
        assert (pair.weights[found].sum() if len(found) else -math.inf) == pytest.approx(max(scores))


def test_greedy_looks_at_the_clock_between_changes(monkeypatch):
    weights, I, J = filled(random.Random(3), 12, 12, 0.3, 3), 12, 12
    whole = align(weights, I, J, method="greedy")
    monkeypatch.setattr("dualign.phrase.climbing._WORK", 1)
    cut = align(weights, I, J, method="greedy", time_limit=1e-9)
    assert cut.iterations <= 1 < whole.iterations
    assert cut.bound >= whole.bound
    assert align(weights, I, J, method="greedy").solution == whole.solution


def test_large_weights_are_compared_with_a_tolerance_of_their_size():
    weights = {(n, n + 1, m, m + 1): -1e9 * ((n * 7 + m * 3) % 5 + 1) for n in range(5) for m in range(5)}
    best, _, _ = oracle.answers({link: w / 1e9 for link, w in weights.items()}, 5, 5)
    result = align(weights, 5, 5)
    assert result.certified
    assert result.score == pytest.approx(best * 1e9, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [1e-6, 1e-9, 1e-12])
def test_tiny_weights_are_compared_with_a_tolerance_of_their_size(method, scale):
    for seed in range(30):
        weights, I, J = random_pair(seed, 5)
        if (found := oracle.answers(weights, I, J)) is None:
            continue
        result = align({link: w * scale for link, w in weights.items()}, I, J, method=method)
        assert result.bound >= (found[0] - 1e-6) * scale
        if result.certified:
            assert result.score >= (found[0] - 1e-3) * scale


def test_empty_sentences():
    assert align({}, 0, 0).solution == ()
    assert align({}, 0, 0).certified
    for lengths in ((0, 3), (3, 0), (2, 2)):
        for method in METHODS:
            with pytest.raises(Infeasible, match="proved"):
                align({}, *lengths, method=method)


def test_numpy_integers_will_do():
    weights = {tuple(np.array([0, 1, 0, 1])): np.float32(-0.5)}
    assert align(weights, np.int64(1), np.int32(1)).solution == ((0, 1, 0, 1),)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({(0, 3, 0, 1): 0.0}, r"\(0, 3, 0, 1\).*outside"),
        ({(0, 1, 0, 3): 0.0}, "outside"),
        ({(-1, 1, 0, 1): 0.0}, "outside"),
        ({(1, 1, 0, 1): 0.0}, "empty span"),
        ({(0, 1, 2, 1): 0.0}, "empty span"),
        ({(0, 1, 0, 1): math.nan}, "weight nan"),
        ({(0, 1, 0, 1): math.inf}, "weight inf"),
        ({(0, 1, 0): 0.0}, "expected"),
        ({(0, 1, 0, 1): "much"}, "expected"),
        ({"ab": 0.0}, "expected"),
        ({(0, 1.5, 0, 1): 0.0}, "expected"),
        ([((0, 1, 0, 1), 0.0)], "dictionary"),
    ],
)
def test_wrong_weights_are_named(weights, message):
    for function in (phrase.align, phrase.total, phrase.expectations):
        with pytest.raises(DataError, match=message):
            function(weights, 2, 2)


def test_wrong_options_are_named():
    with pytest.raises(UsageError, match="beam"):
        align({}, 1, 1, method="beam")
    with pytest.raises(UsageError, match="time_limit"):
        align({}, 1, 1, time_limit=0)
    with pytest.raises(UsageError, match="source_length=-1 must be at least 0"):
        align({}, -1, 1)
    with pytest.raises(UsageError, match="source_length"):
        align({}, 1.5, 1)
    with pytest.raises(UsageError, match="threshold"):
        decide({}, 1, 1, math.nan)
    with pytest.raises(UsageError, match="time_limit"):
        decide({}, 1, 1, time_limit=math.nan)
