"""Sums and expectations against enumeration, and the sampler against the exact walk."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from tests.oracles import phrase as oracle
from tests.phrase.pairs import filled, weighted_pairs

from dualign import Infeasible, UsageError
from dualign.phrase import expectations, sums, total

pytestmark = pytest.mark.kernel


def agrees(weights, I, J):
    found = oracle.answers(weights, I, J)
    if found is None:
        for function in (total, expectations):
            with pytest.raises(Infeasible, match="proved"):
                function(weights, I, J)
        return
    _, whole, shares = found
    result = sums(weights, I, J)
    assert result.exact
    assert result.standard_error == 0
    assert result.log_total == pytest.approx(math.log(whole), rel=1e-10, abs=1e-10)
    assert set(result.expectations) == set(weights)
    assert result.expectations == pytest.approx(shares, rel=1e-9, abs=1e-12)


@given(weighted_pairs())
def test_sums_equal_enumeration(drawn):
    agrees(*drawn)


def test_sampler_is_within_its_standard_error():
    errors = []
    for seed in range(40):
        weights = filled(random.Random(seed), 7, 7, 0.4, 3)
        exact = sums(weights, 7, 7)
        sampled = sums(weights, 7, 7, states=24, runs=64, seed=seed)
        assert exact.exact
        assert not sampled.exact
        errors.append((math.exp(sampled.log_total - exact.log_total) - 1) / sampled.standard_error)
        for link, expected in exact.expectations.items():
            assert abs(sampled.expectations[link] - expected) <= 6 * sampled.expectation_errors[link] + 0.05
    # Of forty standardised errors: the mean near 0, no more than a few beyond two, none absurd.
    assert abs(sum(errors) / len(errors)) < 0.6
    assert sum(abs(error) > 2 for error in errors) <= 6
    assert max(map(abs, errors)) < 6


def test_sampler_repeats_itself_by_seed():
    weights = filled(random.Random(5), 7, 7, 0.4, 3)
    options = {"states": 16, "runs": 8}
    assert sums(weights, 7, 7, seed=3, **options) == sums(weights, 7, 7, seed=3, **options)
    assert sums(weights, 7, 7, seed=3, **options) != sums(weights, 7, 7, seed=4, **options)


def test_infeasible_is_proved_even_where_states_are_thinned():
    # A complete graph but for one target word that nothing covers except with another.
    weights = {(i, i + 1, k, k + 1): 0.0 for i in range(8) for k in range(7)} | {(0, 1, 6, 8): 0.0}
    with pytest.raises(Infeasible):
        total(weights, 8, 8, states=4)


def test_very_unlikely_alignments_do_not_underflow():
    weights = {(n, n + 1, n, n + 1): -500.0 for n in range(10)}
    assert total(weights, 10, 10) == pytest.approx(-5000.0, rel=1e-12)


def test_empty_pair_has_the_empty_alignment():
    assert total({}, 0, 0) == 0.0
    assert expectations({}, 0, 0) == {}


@pytest.mark.parametrize("option", [{"states": 0}, {"runs": 1}, {"seed": -1}])
def test_wrong_options_are_named(option):
    with pytest.raises(UsageError, match=next(iter(option))):
        total({}, 1, 1, **option)
