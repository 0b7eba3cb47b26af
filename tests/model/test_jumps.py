"""The update of the jump and start weights raises the likelihood that its docstring states."""

from __future__ import annotations

import numpy as np
import pytest

from dualign.model.chain import FAR, FLOOR, NULL, NULL_FLOOR, REACH, START, STARTS
from dualign.model.jumps import initial_weights, update_weights

LONGEST = 18


def available(states: int, position: int) -> np.ndarray:
    """How many landing places each jump of −5..5, and far ones together, have from a position."""
    near = [float(0 <= position + d < states) for d in range(-REACH, REACH + 1)]
    return np.array([*near, states - sum(near)])


def places_to_start(states: int) -> np.ndarray:
    near = [float(i < states) for i in range(STARTS)]
    return np.array([*near, states - sum(near)])


def jump_objective(weights: np.ndarray, counts: np.ndarray, departures: np.ndarray) -> float:
    """Σ n_d log w(d) − Σ m(S, i') log Z(S, i'), in plain loops."""
    w = weights[: FAR + 1].astype(float)
    value = float(counts @ np.log(w))
    for states in range(1, len(departures)):
        for position in range(states):
            value -= departures[states, position] * np.log(available(states, position) @ w)
    return value


def start_objective(weights: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> float:
    w = weights[START : START + STARTS + 1].astype(float)
    return float(counts @ np.log(w)) - sum(np.log(places_to_start(states) @ w) for states in lengths)


class Statistics:
    """Departures and lengths at random; choices as often as the weights `truth` would make them."""

    def __init__(self, seed: int, noise: float = 0.0) -> None:
        random = np.random.default_rng(seed)
        self.truth = np.exp(random.standard_normal((2, FAR + 1)))
        self.start_truth = np.exp(random.standard_normal((2, STARTS + 1)))
        self.departures = np.zeros((2, LONGEST + 1, LONGEST))
        self.counts = np.zeros((2, FAR + 1))
        self.starts = np.zeros((2, STARTS + 1))
        self.lengths = tuple(random.integers(1, LONGEST + 1, size=3000) for _ in range(2))
        for d in range(2):
            for states in range(1, LONGEST + 1):
                for position in range(states):
                    leaving = 100 * random.random()
                    share = available(states, position) * self.truth[d]
                    share *= np.exp(noise * random.standard_normal(len(share)))
                    self.departures[d, states, position] = leaving
                    self.counts[d] += leaving * share / share.sum()
            for states in self.lengths[d]:
                share = places_to_start(states) * self.start_truth[d]
                share *= np.exp(noise * random.standard_normal(len(share)))
                self.starts[d] += share / share.sum()

    def update(self, weights: np.ndarray) -> np.ndarray:
        return update_weights(weights, self.counts[:, :FAR], self.departures, self.starts, self.lengths)

    def objectives(self, weights: np.ndarray) -> np.ndarray:
        return np.array(
            [jump_objective(weights[d], self.counts[d], self.departures[d]) for d in range(2)]
            + [start_objective(weights[d], self.starts[d], self.lengths[d]) for d in range(2)]
        )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_an_update_never_lowers_the_likelihood(seed, noise):
    statistics = Statistics(seed, noise)
    weights = initial_weights(0.2, 1e-8)
    values = [statistics.objectives(weights)]
    for _ in range(6):
        weights = statistics.update(weights)
        values.append(statistics.objectives(weights))
    steps = np.diff(values, axis=0)
    # Weights are float32, and each choice is counted 0.001 more often than it was taken.
    assert steps.min() > -0.02
    assert steps[0].min() > 1


@pytest.mark.parametrize("seed", range(3))
def test_one_update_comes_near_the_optimum(seed):
    # Choices as the true weights make them are most likely under the true weights.
    statistics = Statistics(seed)
    truth = initial_weights(0.2, 1e-8)
    truth[:, : FAR + 1] = statistics.truth
    truth[:, START : START + STARTS + 1] = statistics.start_truth
    best = statistics.objectives(truth)
    before = initial_weights(0.2, 1e-8)
    after = statistics.update(before)
    missing = best - statistics.objectives(after)
    assert missing.min() > -0.02
    assert (missing / (best - statistics.objectives(before))).max() < 0.01
    for _ in range(10):
        after = statistics.update(after)
    for d in range(2):
        jumps, starts = after[d, : FAR + 1], after[d, START : START + STARTS + 1]
        np.testing.assert_allclose(
            jumps / jumps.sum(), statistics.truth[d] / statistics.truth[d].sum(), rtol=0.01, atol=1e-4
        )
        np.testing.assert_allclose(
            starts / starts.sum(),
            statistics.start_truth[d] / statistics.start_truth[d].sum(),
            rtol=0.01,
            atol=1e-4,
        )


def test_null_and_floors_are_left_alone_and_so_is_the_argument():
    statistics = Statistics(0)
    weights = initial_weights(0.2, 1e-8)
    before = weights.copy()
    after = statistics.update(weights)
    np.testing.assert_array_equal(weights, before)
    np.testing.assert_array_equal(after[:, [NULL, FLOOR, NULL_FLOOR]], before[:, [NULL, FLOOR, NULL_FLOOR]])
    assert after.dtype == np.float32


def test_what_was_never_available_or_never_taken_stays_possible():
    # One-word sentences: no jump but 0, no start but the first.
    departures = np.zeros((2, 3, 2))
    departures[:, 1, 0] = 50
    jumps = np.zeros((2, FAR))
    jumps[:, REACH] = 50
    starts = np.zeros((2, STARTS + 1))
    starts[:, 0] = 50
    after = update_weights(
        initial_weights(0.2, 1e-8), jumps, departures, starts, (np.ones(50, int), np.ones(50, int))
    )
    assert np.isfinite(after).all()
    assert (after > 0).all()


@pytest.mark.parametrize("rare", [1e-2, 1e-4, 1e-8])
def test_a_jump_that_hardly_anyone_could_take_does_not_swallow_the_others(rare):
    # Sentences of four words, hardly ever left from their last: a jump of −3 is possible from there alone.
    departures = np.zeros((2, 5, 4))
    departures[:, 4] = [100, 100, 100, rare]
    jumps = np.zeros((2, FAR))
    jumps[:, REACH + 1] = 300
    jumps[:, REACH] = rare
    starts = np.zeros((2, STARTS + 1))
    starts[:, 0] = 100
    weights = initial_weights(0.2, 1e-8)
    lengths = np.full(100, 4), np.full(100, 4)
    for _ in range(4):
        weights = update_weights(weights, jumps, departures, starts, lengths)
    assert np.isfinite(weights).all()
    assert (weights[:, : FAR + 1] > 0).all()
    assert (weights[:, REACH + 1] > 0.1 * weights[:, : FAR + 1].sum(axis=1)).all()


def test_initial_weights_prefer_one_step_forward_and_no_start():
    weights = initial_weights(0.3, 1e-6)
    assert weights.shape == (2, NULL_FLOOR + 1)
    assert (np.argmax(weights[:, : FAR + 1], axis=1) == REACH + 1).all()
    assert (weights[:, START : START + STARTS + 1] == 1).all()
    np.testing.assert_array_equal(weights[:, NULL], np.float32(0.3))
    np.testing.assert_array_equal(weights[:, [FLOOR, NULL_FLOOR]], np.float32(1e-6))
