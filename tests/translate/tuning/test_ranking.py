"""Ranking: the gradient against finite differences, a minimum with nothing lower near it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.measure.translation import bleu_of_counts
from dualign.translate.mert import NBestFeatures
from dualign.translate.tuning import minimise, objective, rank_weights


@given(st.integers(0, 10**6))
def test_gradient_and_hessian_are_those_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    x, w, start = rng.normal(size=(6, 3)), rng.normal(size=3), rng.normal(size=3)
    _, gradient, hessian = objective(x, w, start)
    for n, unit in enumerate(1e-5 * np.eye(3)):
        above, below = objective(x, w + unit, start), objective(x, w - unit, start)
        assert gradient[n] == pytest.approx((above[0] - below[0]) / 2e-5, abs=1e-7)
        assert hessian[n] == pytest.approx((above[1] - below[1]) / 2e-5, abs=1e-7)


@given(st.integers(0, 10**6))
def test_nothing_near_the_minimum_is_lower(seed):
    rng = np.random.default_rng(seed)
    x, start = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-2, 3), rng.normal(size=3)
    w = minimise(x, start)
    value, gradient, _ = objective(x, w, start)
    assert np.abs(gradient).max() < 1e-5
    assert value <= objective(x, start, start)[0]
    for step in rng.normal(size=(20, 3)):
        assert objective(x, w + 0.1 * step, start)[0] >= value - 1e-12


def lists_of(truth: np.ndarray, seed: int) -> list[NBestFeatures]:
    """Candidates with as many matches as `truth` says."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(30):
        entry = NBestFeatures()
        for n, row in enumerate(rng.normal(size=(20, len(truth)))):
            hits = float(np.clip(np.round(5.0 + 1.5 * row @ truth), 1, 10))
            entry.add((str(n),), row, np.array([hits] * 4 + [10.0] * 4 + [10.0, 10.0]))
        lists.append(entry)
    return lists


def chosen(lists: list[NBestFeatures], weights: np.ndarray) -> float:
    best = [entry.counts[int(np.argmax(np.array(entry.features) @ weights))] for entry in lists]
    return float(bleu_of_counts(np.sum(best, axis=0), smooth=1.0))


def test_the_direction_behind_the_matches_is_found_for_any_seed():
    truth, start = np.array([1.0, -0.5, 0.25]), np.array([0.1, 0.1, 0.1])
    lists = lists_of(truth, 3)
    found = [rank_weights(lists, start, seed=seed) for seed in range(5)]
    for weights in found:
        assert weights @ truth / np.linalg.norm(weights) / np.linalg.norm(truth) > 0.98
        assert np.abs(weights).sum() == pytest.approx(0.3)
        assert chosen(lists, weights) > chosen(lists, start)
    assert np.ptp(found, axis=0).max() < 0.05
    assert (rank_weights(lists, start, seed=1) == found[1]).all()


def test_what_tells_no_candidates_apart_stays():
    start = np.array([0.5, 0.5, -3.0])
    lists = lists_of(np.array([1.0, -1.0, 0.0]), 4)
    for entry in lists:
        entry.features = [np.array([*row[:2], 7.0]) for row in entry.features]
    assert rank_weights(lists, start)[2] == -3.0
    same = NBestFeatures()
    for n in range(3):
        same.add((str(n),), np.array([n, 0.0, 0.0]), np.array([5.0] * 4 + [10.0] * 6))
    assert (rank_weights([same, NBestFeatures()], start) == start).all()
