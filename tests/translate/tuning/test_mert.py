"""Tuning: envelopes and line searches against many values of t, draws against enumeration, weights that do
better."""

from __future__ import annotations

import random
from collections import Counter
from math import exp

import numpy as np
import pytest
from tests.oracles.translation import derivations
from tests.translate.forests import random_forest, random_model

from dualign.translate import Grammar, Hypergraph, LanguageModel, decode
from dualign.translate.forest.builder import parse
from dualign.translate.mert import NBestFeatures, envelopes, tune_weights
from dualign.translate.rules.grammar import parse_rule
from dualign.translate.search.passes import cube_trees
from dualign.translate.search.problem import ForestProblem
from dualign.translate.tuning import METHODS, Example, WeightTuning, tuned

pytestmark = pytest.mark.kernel


def test_envelopes_have_the_highest_line_everywhere():
    rng = np.random.default_rng(0)
    for _ in range(200):
        begin = np.concatenate(([0], np.cumsum(rng.integers(1, 8, 3))))
        slope = rng.integers(-3, 4, begin[-1]).astype(float)
        height = rng.integers(-5, 6, begin[-1]).astype(float)
        first, at, before, after = envelopes(slope, height, begin)
        for n in range(3):
            mine = slice(begin[n], begin[n + 1])
            inside = (before >= begin[n]) & (before < begin[n + 1])
            corners = at[inside]
            chain = [first[n], *after[inside]]
            assert list(before[inside]) == chain[:-1]
            assert (np.diff(corners) > 0).all()
            places = np.concatenate(([-100.0], corners, [100.0]))
            for line, t in zip(chain, (places[:-1] + places[1:]) / 2, strict=True):
                assert begin[n] <= line < begin[n + 1]
                assert (slope[mine] * t + height[mine]).max() == pytest.approx(slope[line] * t + height[line])


def lists_of(truth: np.ndarray, seed: int) -> list[NBestFeatures]:
    """Candidates of which the one that `truth` prefers has most matches."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(30):
        entry = NBestFeatures()
        features = rng.normal(size=(20, len(truth)))
        best = int(np.argmax(features @ truth))
        for n, row in enumerate(features):
            hits = 10.0 if n == best else float(rng.integers(3, 7))
            entry.add((str(n),), row, np.array([hits] * 4 + [10.0] * 4 + [10.0, 10.0]))
        lists.append(entry)
    return lists


def test_tuning_finds_weights_that_choose_the_good_translations():
    lists = lists_of(np.array([1.0, -2.0, 0.5]), 1)
    weights, reached = tune_weights(lists, np.array([1.0, 1.0, 1.0]))
    assert reached > 85
    assert np.abs(weights).sum() == pytest.approx(3.0)
    again, _ = tune_weights(lists, np.array([1.0, 1.0, 1.0]))
    assert np.array_equal(weights, again)


def value(lists: list[NBestFeatures], weights: np.ndarray) -> float:
    """BLEU, with one added to matches and n-grams longer than 1, of what the weights choose."""
    chosen = [entry.counts[int(np.argmax(np.array(entry.features) @ weights))] for entry in lists]
    hits = sum(counts[0] for counts in chosen)
    return 100 * (hits / 300) ** 0.25 * ((hits + 1) / 301) ** 0.75


def test_tuning_is_never_worse_than_where_it_starts_and_keeps_its_promise():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lists = lists_of(rng.normal(size=4), seed)
        one, other = rng.normal(size=4), rng.normal(size=4)
        weights, promised = tune_weights(lists, one, starts=[other], restarts=1)
        assert promised == pytest.approx(value(lists, weights))
        assert promised >= max(value(lists, one), value(lists, other)) - 1e-9


def test_the_weight_of_a_feature_that_never_differs_stays():
    lists = lists_of(np.array([1.0, -2.0, 0.5]), 2)
    for number, entry in enumerate(lists):
        entry.features = [np.append(row, float(number % 3)) for row in entry.features]
    weights, _ = tune_weights(lists, np.array([1.0, 1.0, 1.0, -3.0]))
    assert weights[3] == -3.0
    assert np.abs(weights[:3]).sum() == pytest.approx(3.0)


@pytest.mark.parametrize("sharpness", [0.5, 1.0, 3.0])
def test_draws_follow_the_scores_of_all_derivations(sharpness):
    tried = 0
    for seed in range(40):
        rng = random.Random(seed)
        vertices, edges = random_forest(rng, inner=4, edges=2)
        model, twin = random_model(rng, 2)
        found = derivations(vertices, edges, 0, limit=40)
        if not found or len(found) < 3:
            continue
        tried += 1
        weight = {e: exp(sharpness * (score + twin.sentence(words))) for e, words, score in found}
        total = sum(weight.values())
        trees = cube_trees(ForestProblem(Hypergraph(vertices, edges, 0), model, 2), 1000)
        drawn = Counter(map(tuple, trees.samples(3000, sharpness, seed)))
        assert set(drawn) <= set(weight)
        distance = sum(abs(drawn[e] / 3000 - w / total) for e, w in weight.items()) / 2
        assert distance < 0.06, seed
    assert tried > 10


TEXT = ["the green house", "a green house", "the house is small", "a small house"]
RULES = [
    "[X] ||| la [X,1] verde ||| the green [X,1] ||| good=-1 bad=0",
    "[X] ||| la [X,1] verde ||| the [X,1] green ||| good=-3 bad=1",
    "[X] ||| la [X,1] verde ||| a green [X,1] ||| good=-2 bad=2",
    "[X] ||| casa ||| house ||| good=-1 bad=0",
    "[X] ||| casa ||| small house ||| good=-4 bad=2",
]


def examples():
    weights = {"good": 0.1, "bad": 1.0, "Words": 0.1, "Copy": -5.0, "LanguageModel": 0.1}
    grammar = Grammar(map(parse_rule, RULES))
    model = LanguageModel.train([line.split() for line in TEXT], 3)
    forest = parse(["la", "casa", "verde"], grammar, weights)
    return weights, model, [(forest, ["the", "green", "house"])] * 3


def test_candidates_have_the_features_that_decoding_adds_up():
    weights, model, dev = examples()
    names = list(weights)
    vector = np.array(list(weights.values()))
    scaled = model.scaled(weights["LanguageModel"])
    example = Example.of(dev[0][0], model, 3, names, dev[0][1])
    found = example.candidates(vector, scaled, names.index("LanguageModel"), 1)
    assert len({words for words, _, _ in found}) > 3
    scores = {r.solution.words: r.score for r in reversed(decode(dev[0][0].hypergraph, scaled, k=50))}
    best = decode(dev[0][0].hypergraph, scaled)
    assert found[0][0] == best.solution.words
    for words, features, _ in found:
        assert features @ vector <= scores[words] + 1e-6
    assert found[0][1] @ vector == pytest.approx(best.score)


@pytest.mark.parametrize("method", METHODS)
def test_rounds_end_with_the_reference_and_threads_change_nothing(method):
    weights, model, dev = examples()
    said: list[str] = []
    kept: list[dict[str, float]] = []
    result = tuned(dev, model, 3, weights, WeightTuning(3, 1, said.append, kept.append, method, 1))
    assert said[-1] == "best: BLEU 100.00"
    assert float(said[0].split()[3]) < 100
    assert result["Copy"] == -5.0
    assert result == tuned(dev, model, 3, weights, WeightTuning(3, 2, method=method, seed=1))
    assert kept[-1] == result
    scaled = model.scaled(result["LanguageModel"])
    forest = parse(["la", "casa", "verde"], Grammar(map(parse_rule, RULES)), result).hypergraph
    assert str(decode(forest, scaled).solution) == "the green house"


def test_rounds_never_give_weights_that_did_worse():
    weights, model, dev = examples()
    good = {**weights, "good": 1.0, "bad": -1.0}
    said: list[str] = []
    assert tuned(dev, model, 3, good, WeightTuning(2, 1, said.append)) == good
    assert "BLEU 100.00" in said[0]
