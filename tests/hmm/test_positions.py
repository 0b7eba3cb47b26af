"""Fertilities and the limits that follow from them; words that choose by tables of positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.blocks import expectations, random_pair

from dualign import Aligner
from dualign.hmm.jumps import FLOOR, NULL_FLOOR
from dualign.hmm.positions import MOST_LINKS, WORD_PRIOR, Fertilities
from dualign.hmm.posteriors import constraint_of
from dualign.options import Options

# 1,000 occurrences of each word, so that the average word hardly counts.
COUNTS = np.array(
    [[100, 900, 0, 0, 0, 0], [950, 50, 0, 0, 0, 0], [0, 500, 400, 100, 0, 0], [0, 0, 0, 0, 0, 1000]],
    np.float32,
)
FERTILITIES = Fertilities(COUNTS, COUNTS[::-1].copy())


@pytest.mark.parametrize(
    ("quantile", "expected"), [(0.8, [1, 0, 2, 5]), (0.95, [1, 1, 3, 5]), (0.3, [1, 0, 1, 5])]
)
def test_a_limit_is_the_least_number_of_links_that_is_enough_so_often(quantile, expected):
    tokens = np.arange(4, dtype=np.int32)
    assert FERTILITIES.limits(0, tokens, quantile).tolist() == expected
    assert FERTILITIES.limits(1, tokens, quantile).tolist() == expected[::-1]


def test_limits_rise_with_the_quantile_and_stop_at_five():
    random = np.random.default_rng(1)
    counts = random.integers(0, 20, (50, MOST_LINKS + 1)).astype(np.float32)
    tokens = np.arange(50)
    before = np.zeros(50)
    for quantile in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        limits = Fertilities(counts, counts).limits(0, tokens, quantile)
        assert (limits >= before).all()
        assert limits.max() <= MOST_LINKS
        before = limits


def test_probabilities_are_those_of_the_counts_and_a_little_of_the_average_word():
    found = FERTILITIES.at_most(0)
    assert found.shape == (5, MOST_LINKS + 1)
    average = COUNTS.sum(axis=0) / COUNTS.sum()
    for row, counts in zip(found, COUNTS, strict=False):
        smoothed = counts + WORD_PRIOR * average
        np.testing.assert_allclose(row, np.cumsum(smoothed) / smoothed.sum(), rtol=1e-6)
    np.testing.assert_allclose(found[-1], np.cumsum(average), rtol=1e-6)


def test_words_never_seen_are_like_the_average_word():
    tokens = np.array([4, 5, 99])
    limits = FERTILITIES.limits(0, tokens, 0.6)
    average = np.cumsum(COUNTS.sum(axis=0)) / COUNTS.sum()
    assert limits.tolist() == [int((average[:MOST_LINKS] <= 0.6).sum())] * 3


def test_no_words_have_no_limits():
    nothing = Fertilities(*(np.zeros((0, MOST_LINKS + 1), np.float32) for _ in range(2)))
    assert nothing.limits(0, np.zeros(0, np.int32), 0.5).shape == (0,)


@pytest.mark.kernel
def test_counts_of_the_wrong_shape_kind_or_sign_do_not_fit():
    aligner = Aligner(threads=1, rounds=0).fit([(["a", "b"], ["c", "d", "e"])])
    source, target = (np.ones((words, MOST_LINKS + 1), np.float32) for words in (2, 3))
    replace(aligner.model, fertilities=Fertilities(source, target)).check()
    for wrong in (
        (target, source),
        (source[:, :5], target),
        (source.astype(np.float64), target),
        (source, -target),
        (source, target * np.float32(np.nan)),
        (source, target * np.float32(np.inf)),
    ):
        with pytest.raises(ValueError):
            replace(aligner.model, fertilities=Fertilities(*wrong)).check()


@pytest.mark.kernel
@given(seed=st.integers(0, 2**32 - 1), I=st.integers(1, 6), J=st.integers(1, 6))
def test_words_choose_by_their_tables_and_by_nothing_else(seed, I, J):
    random, pair = np.random.default_rng(seed), random_pair(seed, I, J)
    tables = [random.dirichlet(np.ones(S + 1), R).astype(np.float32) for R, S in ((J, I), (I, J))]
    prior = np.concatenate([table.ravel() for table in tables])
    block = pair.block()._replace(prior=prior, prior_begin=np.zeros(1, np.int64))
    posterior = np.full((I * J, 2), np.nan, np.float32)
    sums = expectations(block, constraint_of(Options(), "none"), posterior)
    likelihood = 0.0
    for d, (table, nulls) in enumerate(zip(tables, (pair.null_target, pair.null_source), strict=True)):
        emission = pair.emission[:, :, d] + pair.weights[d, FLOOR]
        chosen = table[:, 1:] * (emission.T if d == 0 else emission).astype(float)
        whole = chosen.sum(axis=1) + table[:, 0] * (nulls + pair.weights[d, NULL_FLOOR]).astype(float)
        likelihood += np.log(whole).sum()
        found = posterior[:, d].reshape(I, J)
        np.testing.assert_allclose(found.T if d == 0 else found, chosen / whole[:, None], rtol=1e-4)
    assert sums.totals[:3] == pytest.approx([likelihood, 1, 1], rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(block.likelihood.sum(), likelihood, rtol=1e-4, atol=1e-4)
