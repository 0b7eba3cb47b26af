from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.strategies import evaluations

from dualign._core.errors import DataError, UsageError
from dualign.measure import bootstrap
from dualign.measure.bootstrap import compare, confidence_interval, signature
from dualign.measure.links import evaluate
from dualign.text.links import Alignment

# Eight right answers and eight wrong ones of one link each: AER of a resample is its share of wrong
# sentences, Binomial(16, 1/2) / 16. P(≤ 3) = 697/65536 = 0.011 and P(≤ 4) = 2517/65536 = 0.038, so
# the quantile of 2.5% is 4/16, and by symmetry that of 97.5% is 12/16.
HALF_RIGHT = ["0-0"] * 8 + ["1-1"] * 8
GOLD = ["0-0"] * 16


def test_interval_of_a_known_distribution():
    interval = confidence_interval(HALF_RIGHT, GOLD, samples=5000)
    assert (interval.aer, interval.low, interval.high) == (0.5, 0.25, 0.75)


def test_the_level_sets_the_width():
    wide, narrow = (confidence_interval(HALF_RIGHT, GOLD, level=level) for level in (0.99, 0.5))
    assert wide.low < narrow.low <= narrow.high < wide.high


def test_the_seed_decides_the_answer():
    links = ["0-0"] * 37 + ["0-0 1-1 2-2"] * 30 + ["1-1"] * 34
    gold = ["0-0 1-1"] * 101
    first, again, other = (confidence_interval(links, gold, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.low, first.high) != (other.low, other.high)


def test_blocks_do_not_change_the_answer(monkeypatch):
    whole = confidence_interval(HALF_RIGHT, GOLD, samples=100)
    monkeypatch.setattr(bootstrap, "_BLOCK", 16 * 7)
    assert confidence_interval(HALF_RIGHT, GOLD, samples=100) == whole


@settings(max_examples=30, deadline=None)
@given(evaluations(min_pairs=1))
def test_equals_resampling_sentence_by_sentence(data):
    answers, sure, possible = data
    gold = [Alignment.of(s, p) for s, p in zip(sure, possible, strict=True)]
    pairs, samples = len(gold), 20
    drawn = np.random.default_rng(5).multinomial(pairs, np.full(pairs, 1 / pairs), size=samples)
    slow = []
    for times in drawn:
        chosen = np.repeat(np.arange(pairs), times)
        assert len(chosen) == pairs
        slow.append(evaluate([answers[n] for n in chosen], [gold[n] for n in chosen]).aer)
    interval = confidence_interval(answers, gold, samples=samples, level=0.8, seed=5)
    assert interval.aer == evaluate(answers, gold).aer
    np.testing.assert_allclose(
        [interval.low, interval.high], np.quantile(slow, [0.1, 0.9]), rtol=0, atol=1e-12
    )


def test_a_system_that_is_better_everywhere_always_wins():
    result = compare(["0-0"] * 16, HALF_RIGHT[::-1], GOLD)
    # A resample without any wrong sentence, where both tie, has probability 2^-16.
    assert (result.first_aer, result.second_aer) == (0, 0.5)
    assert result.first_better > 0.99
    assert result.second_better == 0


def test_systems_that_are_right_on_opposite_halves_win_equally_often():
    result = compare(HALF_RIGHT, HALF_RIGHT[::-1], GOLD, samples=5000)
    # They tie if a resample holds 8 of each half: C(16, 8) / 2^16 = 0.196, which leaves 0.402 for each.
    assert result.tied == pytest.approx(0.196, abs=0.02)
    assert result.first_better == pytest.approx(0.402, abs=0.02)
    assert result.first_better + result.second_better + result.tied == pytest.approx(1, abs=1e-12)


def test_comparison_is_antisymmetric_and_a_system_ties_with_itself():
    there, back = compare(HALF_RIGHT, ["0-0 1-1"] * 16, GOLD), compare(["0-0 1-1"] * 16, HALF_RIGHT, GOLD)
    assert (there.first_better, there.second_better) == (back.second_better, back.first_better)
    assert compare(HALF_RIGHT, HALF_RIGHT, GOLD).tied == 1


def test_gold_may_be_an_iterator_in_a_comparison():
    assert compare(HALF_RIGHT, HALF_RIGHT, iter(GOLD)).tied == 1


@pytest.mark.parametrize("level", [0, 1, -0.1, 95])
def test_level_outside_its_range(level):
    with pytest.raises(UsageError, match=r"level=.* must be over 0 and below 1"):
        confidence_interval(HALF_RIGHT, GOLD, level=level)


def test_no_samples_and_no_sentences():
    with pytest.raises(UsageError, match="samples=0 must be at least 1"):
        confidence_interval(HALF_RIGHT, GOLD, samples=0)
    with pytest.raises(DataError, match="no sentence pairs"):
        compare([], [], [])


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_difference_interval_and_p_are_those_of_the_resamples(seed, pairs):
    random = np.random.default_rng(seed)
    gold, first, second = (
        [
            [(int(i), int(j)) for i, j in random.integers(0, 3, (random.integers(1, 4), 2))]
            for _ in range(pairs)
        ]
        for _ in range(3)
    )
    found = compare(first, second, gold, samples=40, seed=7)
    again = np.random.default_rng(7).multinomial(pairs, np.full(pairs, 1 / pairs), size=40)
    differences = []
    for times in again:
        drawn = [n for n in range(pairs) for _ in range(times[n])]
        scores = [
            evaluate([system[n] for n in drawn], [gold[n] for n in drawn]).aer for system in (first, second)
        ]
        differences.append(scores[1] - scores[0])
    difference = evaluate(second, gold).aer - evaluate(first, gold).aer
    assert found.difference == pytest.approx(difference, abs=1e-12)
    low, high = np.quantile(differences, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    against = sum(1 for d in differences if d * np.sign(difference) <= 1e-15)
    assert found.p == pytest.approx(min(1, 2 * (1 + against) / 41))


FEW_LINKS, FEW_GOLD = ["0-0 1-1", "0-1", ""], ["0-0 1?2", "0-1 1-1", "0-0"]


def test_a_signature_has_counts_and_version():
    assert (
        signature(evaluate(FEW_LINKS, FEW_GOLD))
        == f"aer|pairs:3|sure:4|possible:5|links:3|v:{version('dualign')}"
    )


def test_a_signature_names_resampling_with_its_seed():
    interval = confidence_interval(FEW_LINKS, FEW_GOLD, samples=200, level=0.9, seed=7)
    line = signature(evaluate(FEW_LINKS, FEW_GOLD), interval)
    assert line.endswith(f"|links:3|boot:200|level:0.9|seed:7|v:{version('dualign')}")
