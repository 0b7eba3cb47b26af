"""The update of the jump and start weights raises the likelihood that its docstring states."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.learn.jump_updates import update_jumps, update_starts, update_stops
from dualign.model.jumps import (
    FLOOR,
    INITIAL_STOPS,
    NEAR,
    NULL,
    NULL_FLOOR,
    REACH,
    START,
    STARTS,
    STOP,
    STOPS,
    Jumps,
    classes_of,
    initial_jumps,
    initial_weights,
)

LONGEST = 18
CLASSES = 3


def available(states: int, position: int) -> np.ndarray:
    """How many landing places each jump of −5..5, and far ones together, have from a position."""
    near = [float(0 <= position + d < states) for d in range(-REACH, REACH + 1)]
    return np.array([*near, states - sum(near)])


def places_to_start(states: int) -> np.ndarray:
    near = [float(i < states) for i in range(STARTS)]
    return np.array([*near, states - sum(near)])


def jump_objective(weight: np.ndarray, counts: np.ndarray, departures: np.ndarray) -> float:
    """Σ n_d log w(d) − Σ m(S, i') log Z(S, i') of one class, in plain loops."""
    w = np.append(weight, 1).astype(float)
    value = float(counts @ np.log(w))
    for states in range(1, len(departures)):
        for position in range(states):
            value -= departures[states, position] * np.log(available(states, position) @ w)
    return value


def openings_of(weight: np.ndarray, departures: np.ndarray) -> np.ndarray:
    """Σ m(S, i') available(d; S, i') / Z(S, i') of one class."""
    w = np.append(weight, 1).astype(float)
    total = np.zeros(NEAR + 1)
    for states in range(1, len(departures)):
        for position in range(states):
            places = available(states, position)
            total += departures[states, position] * places / (places @ w)
    return total


def start_objective(weights: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> float:
    w = weights[START : START + STARTS + 1].astype(float)
    return float(counts @ np.log(w)) - sum(np.log(places_to_start(states) @ w) for states in lengths)


def classes(number: int = CLASSES) -> tuple[np.ndarray, np.ndarray]:
    return classes_of(np.ones(5), number - 1), classes_of(np.ones(4), number - 1)


class Statistics:
    """Departures and lengths at random; choices as often as the weights `truth` would make them."""

    def __init__(self, seed: int, noise: float = 0.0) -> None:
        random = np.random.default_rng(seed)
        self.truth = np.exp(random.standard_normal((2, CLASSES, NEAR + 1)))
        self.start_truth = np.exp(random.standard_normal((2, STARTS + 1)))
        self.departures = np.zeros((2, CLASSES, LONGEST + 1, LONGEST))
        self.counts = np.zeros((2, CLASSES, NEAR + 1))
        self.starts = np.zeros((2, STARTS + 1))
        self.lengths = tuple(random.integers(1, LONGEST + 1, size=3000) for _ in range(2))
        for d in range(2):
            for c in range(CLASSES):
                for states in range(1, LONGEST + 1):
                    for position in range(states):
                        leaving = 100 * random.random()
                        share = available(states, position) * self.truth[d, c]
                        share *= np.exp(noise * random.standard_normal(len(share)))
                        self.departures[d, c, states, position] = leaving
                        self.counts[d, c] += leaving * share / share.sum()
            for states in self.lengths[d]:
                share = places_to_start(states) * self.start_truth[d]
                share *= np.exp(noise * random.standard_normal(len(share)))
                self.starts[d] += share / share.sum()

    def update(self, jumps: Jumps, strength: float = 1.0) -> Jumps:
        openings = [
            [openings_of(jumps.weight[d, c], self.departures[d, c]) for c in range(CLASSES)] for d in range(2)
        ]
        return update_jumps(jumps, self.counts, np.array(openings), strength)

    def objectives(self, jumps: Jumps) -> np.ndarray:
        return np.array(
            [
                jump_objective(jumps.weight[d, c], self.counts[d, c], self.departures[d, c])
                for d in range(2)
                for c in range(CLASSES)
            ]
        )

    def start_objectives(self, weights: np.ndarray) -> np.ndarray:
        return np.array([start_objective(weights[d], self.starts[d], self.lengths[d]) for d in range(2)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_an_update_never_lowers_the_likelihood(seed, noise):
    statistics = Statistics(seed, noise)
    jumps, weights = initial_jumps(*classes()), initial_weights(0.2, 1e-8)
    values, starts = [statistics.objectives(jumps)], [statistics.start_objectives(weights)]
    for _ in range(6):
        jumps = statistics.update(jumps)
        weights = update_starts(weights, statistics.starts, statistics.lengths)
        values.append(statistics.objectives(jumps))
        starts.append(statistics.start_objectives(weights))
    for steps in (np.diff(values, axis=0), np.diff(starts, axis=0)):
        # Weights are float32, and each set has seen one choice more than was made.
        assert steps.min() > -0.1
        assert steps[0].min() > 1


@pytest.mark.parametrize("seed", range(3))
def test_updates_reach_the_optimum(seed):
    # Choices as the true weights make them are most likely under the true weights.
    statistics = Statistics(seed)
    best = statistics.objectives(
        Jumps((statistics.truth[..., :NEAR] / statistics.truth[..., NEAR:]).astype(np.float32), *classes())
    )
    jumps = initial_jumps(*classes())
    before = statistics.objectives(jumps)
    jumps = statistics.update(jumps)
    missing = best - statistics.objectives(jumps)
    assert missing.min() > -0.02
    assert (missing / (best - before)).max() < 0.2, "the first step goes most of the way"
    for _ in range(60):
        jumps = statistics.update(jumps)
    np.testing.assert_allclose(
        jumps.weight, statistics.truth[..., :NEAR] / statistics.truth[..., NEAR:], rtol=0.01
    )
    weights = initial_weights(0.2, 1e-8)
    for _ in range(10):
        weights = update_starts(weights, statistics.starts, statistics.lengths)
    for d in range(2):
        starts, truth = weights[d, START : START + STARTS + 1], statistics.start_truth[d]
        np.testing.assert_allclose(starts / starts.sum(), truth / truth.sum(), rtol=0.01, atol=1e-4)


def test_stops_are_shares_of_the_rows_and_never_certain():
    weights = initial_weights(0.2, 1e-8)
    rows = np.full((2, STOPS + 1), 1e9)
    ends = np.linspace(0, 1, STOPS + 1) * rows
    after = update_stops(weights, np.stack([rows, ends], axis=1))
    np.testing.assert_allclose(after[:, STOP + 1 : -1], ends[:, 1:-1] / rows[:, 1:-1], rtol=1e-5)
    assert (after[:, STOP:] > 0).all()
    assert (after[:, STOP:] < 1).all()
    np.testing.assert_array_equal(after[:, :STOP], weights[:, :STOP])
    nothing = update_stops(weights, np.zeros((2, 2, STOPS + 1)))
    np.testing.assert_allclose(nothing[:, STOP:], weights[:, STOP:], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_pseudo_counts_draw_words_to_what_is_usual(seed):
    statistics = Statistics(seed)

    def spread(strength: float) -> float:
        jumps = initial_jumps(*classes())
        for _ in range(20):
            jumps = statistics.update(jumps, strength)
        logarithms = np.log(jumps.weight[:, 1:])  # class 0 is what it is
        return float(np.abs(logarithms[:, 0] - logarithms[:, 1]).mean())

    spreads = [spread(strength) for strength in (1, 1e3, 1e5, 1e8)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] > 0.5
    assert spreads[-1] < 1e-2


def test_null_and_floors_are_left_alone_and_so_are_the_arguments():
    statistics = Statistics(0)
    jumps, weights = initial_jumps(*classes()), initial_weights(0.2, 1e-8)
    before = [array.copy() for array in (*jumps, weights)]
    new = statistics.update(jumps)
    after = update_starts(weights, statistics.starts, statistics.lengths)
    for old, now in zip(before, (*jumps, weights), strict=True):
        np.testing.assert_array_equal(old, now)
    fixed = [NULL, FLOOR, NULL_FLOOR]
    np.testing.assert_array_equal(after[:, fixed], weights[:, fixed])
    assert after.dtype == new.weight.dtype == np.float32
    assert new.fit(4, 5)


def test_what_was_never_available_or_never_taken_stays_possible():
    # One-word sentences: no jump but 0, no start but the first; the words of one class do not occur at all.
    counts, openings = np.zeros((2, 2, CLASSES, NEAR + 1))
    counts[:, 1:, REACH] = openings[:, 1:, REACH] = 50
    starts = np.zeros((2, STARTS + 1))
    starts[:, 0] = 50
    jumps = update_jumps(initial_jumps(*classes()), counts, openings, 100)
    after = update_starts(initial_weights(0.2, 1e-8), starts, (np.ones(50, int), np.ones(50, int)))
    for array in (jumps.weight, after):
        assert np.isfinite(array).all()
        assert (array > 0).all()


@pytest.mark.parametrize("rare", [1e-2, 1e-4, 1e-8])
def test_a_jump_that_hardly_anyone_could_take_does_not_swallow_the_others(rare):
    # Sentences of four words, hardly ever left from their last: a jump of −3 is possible from there alone.
    departures = np.zeros((5, 4))
    departures[4] = [100, 100, 100, rare]
    counts = np.zeros((2, 1, NEAR + 1))
    counts[..., REACH + 1] = 300
    counts[..., REACH] = rare
    jumps = initial_jumps(*classes(1))
    for _ in range(4):
        openings = [[openings_of(jumps.weight[d, 0], departures)] for d in range(2)]
        jumps = update_jumps(jumps, counts, np.array(openings), 100)
    assert np.isfinite(jumps.weight).all()
    assert (jumps.weight > 0).all()
    assert (jumps.weight[..., REACH + 1] > 0.1 * (jumps.weight.sum(axis=2) + 1)).all()


@given(frequency=st.lists(st.integers(0, 5), max_size=12), own=st.integers(0, 15))
def test_the_most_frequent_words_have_classes_of_their_own(frequency, own):
    found = classes_of(np.array(frequency, int), own)
    assert found.dtype == np.int32
    chosen = [frequency[v] for v in np.flatnonzero(found)]
    assert len(chosen) == min(own, len(frequency))
    assert sorted(found[found > 0]) == list(range(1, len(chosen) + 1))
    if 0 < own < len(frequency):
        assert min(chosen) >= max(frequency[v] for v in np.flatnonzero(found == 0))


def test_what_does_not_fit_is_noticed():
    jumps = initial_jumps(*classes())
    assert jumps.fit(4, 5)
    assert not jumps.fit(5, 4)
    assert not jumps._replace(weight=jumps.weight[:, :2]).fit(4, 5)
    assert not jumps._replace(weight=jumps.weight[:, :0]).fit(4, 5)
    assert not jumps._replace(weight=jumps.weight[:, :, :3]).fit(4, 5)
    assert not jumps._replace(weight=jumps.weight.astype(float)).fit(4, 5)
    assert not jumps._replace(weight=jumps.weight[0, 0]).fit(4, 5)
    assert not jumps._replace(weight=-jumps.weight).fit(4, 5)
    assert not jumps._replace(weight=jumps.weight * np.float32(np.nan)).fit(4, 5)
    assert not jumps._replace(by_source=jumps.by_source - 1).fit(4, 5)
    assert not jumps._replace(by_target=jumps.by_target.astype(np.int64)).fit(4, 5)


def test_before_training_one_step_forward_is_preferred_and_no_start():
    jumps, weights = initial_jumps(*classes()), initial_weights(0.3, 1e-6)
    assert (np.argmax(jumps.weight, axis=2) == REACH + 1).all()
    assert weights.shape == (2, STOP + STOPS + 1)
    np.testing.assert_array_equal(weights[:, STOP:], np.tile(INITIAL_STOPS, (2, 1)).astype(np.float32))
    assert (weights[:, START : START + STARTS + 1] == 1).all()
    np.testing.assert_array_equal(weights[:, NULL], np.float32(0.3))
    np.testing.assert_array_equal(weights[:, [FLOOR, NULL_FLOOR]], np.float32(1e-6))
