"""The update of the jump and start weights raises the likelihood that its docstring states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.hmm.jumps import (
    BESIDE,
    BOLD,
    CLOSE,
    FLOOR,
    INITIAL_STOPS,
    LEAST,
    NEAR,
    NULL,
    NULL_FLOOR,
    REACH,
    SAFE,
    START,
    STARTS,
    STOP,
    STOPS,
    Jumps,
    classes_of,
    initial_jumps,
    initial_weights,
    update_jumps,
    update_starts,
    update_stops,
)
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model, Vocabulary
from dualign.options import Options

LONGEST = 18
CLASSES = 3

NO_PREFERENCE = np.ones((2, 2, CLASSES, CLOSE), np.float32)
NONE_CLOSE = np.zeros((2, 2, 2, CLASSES, CLOSE))
"""No statistics of chosen words: their factors stay 1."""


def available(states: int, position: int) -> np.ndarray:
    """How many landing places each jump of −5..5, and far ones together, have from a position."""
    near = [float(0 <= position + d < states) for d in range(-REACH, REACH + 1)]
    return np.array([*near, states - sum(near)])


def places_to_start(states: int) -> np.ndarray:
    near = [float(i < states) for i in range(STARTS)]
    return np.array([*near, states - sum(near)])


PLACES = np.array([available(states, i) for states in range(1, LONGEST + 1) for i in range(states)])
"""How many places each jump has, from every position of sentences of every length."""

SMALL = 1e-2
"""Rounding of weights to 32 bits, in the likelihood of some thousand jumps."""


def jump_objective(weight: np.ndarray, counts: np.ndarray, departures: np.ndarray) -> float:
    """Σ n_d log w(d) − Σ departures log Z, for one set of weights (NEAR + 1)."""
    return float(counts @ np.log(weight) - departures @ np.log(PLACES @ weight))


def foreseen_by(weight: np.ndarray, departures: np.ndarray) -> np.ndarray:
    """Σ departures · available(d) w(d) / Z: what these weights (NEAR + 1) foresee."""
    return (departures / (PLACES @ weight)) @ PLACES * weight


def product(jumps: Jumps, d: int, c: int, e: int) -> np.ndarray:
    """The weights (NEAR + 1) of the jumps from a word of class c to one of class e."""
    return np.append(jumps.weight[d, c].astype(float) * jumps.factor[d, e], 1)


def start_objective(weights: np.ndarray, counts: np.ndarray, lengths: np.ndarray) -> float:
    w = weights[START : START + STARTS + 1].astype(float)
    return float(counts @ np.log(w)) - sum(np.log(places_to_start(states) @ w) for states in lengths)


def classes(number: int = CLASSES) -> tuple[np.ndarray, np.ndarray]:
    return classes_of(np.ones(5), number - 1), classes_of(np.ones(4), number - 1)


class Statistics:
    """Departures and lengths at random; choices as often as the weights and factors `truth` make them."""

    def __init__(self, seed: int, noise: float = 0.0) -> None:
        random = np.random.default_rng(seed)
        weight, factor = np.exp(random.standard_normal((2, 2, CLASSES, NEAR))).astype(np.float32)
        factor[:, 0] = 1
        self.truth = Jumps(weight, *classes(), factor, NO_PREFERENCE.copy())
        self.start_truth = np.exp(random.standard_normal((2, STARTS + 1)))
        # By direction, class of the word before, and class of the word after.
        self.departures = 30 * random.random((2, CLASSES, CLASSES, len(PLACES)))
        self.counts = np.zeros((2, CLASSES, CLASSES, NEAR + 1))
        self.starts = np.zeros((2, STARTS + 1))
        self.lengths = tuple(random.integers(1, LONGEST + 1, size=3000) for _ in range(2))
        for d, c, e in np.ndindex(2, CLASSES, CLASSES):
            share = PLACES * product(self.truth, d, c, e)
            share *= np.exp(noise * random.standard_normal(share.shape))
            self.counts[d, c, e] = self.departures[d, c, e] @ (share / share.sum(axis=1, keepdims=True))
        for d in range(2):
            for states in self.lengths[d]:
                share = places_to_start(states) * self.start_truth[d]
                share *= np.exp(noise * random.standard_normal(len(share)))
                self.starts[d] += share / share.sum()

    def update(self, jumps: Jumps, strength: float = 1.0, step: float = SAFE) -> Jumps:
        foreseen = np.zeros_like(self.counts)
        for d, c, e in np.ndindex(2, CLASSES, CLASSES):
            foreseen[d, c, e] = foreseen_by(product(jumps, d, c, e), self.departures[d, c, e])
        # The word before has the sums over those after it, and the other way round.
        both = (np.stack([table.sum(axis=2), table.sum(axis=1)], axis=1) for table in (self.counts, foreseen))
        return update_jumps(jumps, *both, NONE_CLOSE, strength, step)

    def objectives(self, jumps: Jumps) -> np.ndarray:
        values = np.zeros(2)
        for d, c, e in np.ndindex(2, CLASSES, CLASSES):
            departures = self.departures[d, c, e]
            values[d] += jump_objective(product(jumps, d, c, e), self.counts[d, c, e], departures)
        return values

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


@given(seed=st.integers(0, 10**6), spread=st.floats(0, 2))
def test_a_safe_step_from_anywhere_never_lowers_the_likelihood(seed, spread):
    # Next words that are always the same as the words before: both parts of a weight see the same evidence.
    statistics, random = Statistics(0, noise=1.0), np.random.default_rng(seed)
    # Class 0 has a prior of its own, and factors that stay: without it the likelihood is all that counts.
    same = np.diag([0, *np.ones(CLASSES - 1)])[None, :, :, None]
    statistics.departures, statistics.counts = statistics.departures * same, statistics.counts * same
    weight, factor = np.exp(spread * random.standard_normal((2, 2, CLASSES, NEAR))).astype(np.float32)
    factor[:, 0] = 1
    jumps = Jumps(weight, *classes(), np.clip(factor, LEAST, 1 / LEAST), NO_PREFERENCE.copy())
    before = statistics.objectives(jumps)
    assert (statistics.objectives(statistics.update(jumps, strength=1e-6)) > before - SMALL).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("step", [SAFE, BOLD])
def test_updates_reach_the_optimum(seed, step):
    # Choices as the true weights make them are most likely under the true weights.
    statistics = Statistics(seed)
    best = statistics.objectives(statistics.truth)
    jumps = initial_jumps(*classes())
    before = statistics.objectives(jumps)
    jumps = statistics.update(jumps, step=step)
    missing = best - statistics.objectives(jumps)
    assert missing.min() > -SMALL
    assert (missing / (best - before)).max() < 0.6, "the first step goes a good part of the way"
    for _ in range(round(160 / step)):
        jumps = statistics.update(jumps, step=step)
    np.testing.assert_allclose(jumps.weight, statistics.truth.weight, rtol=0.02)
    np.testing.assert_allclose(jumps.factor, statistics.truth.factor, rtol=0.02)
    assert (best - statistics.objectives(jumps)).max() < 0.1
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
        apart = np.abs(logarithms[:, 0] - logarithms[:, 1]).mean()
        return float(apart + np.abs(np.log(jumps.factor)).mean())

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
    assert [array.shape for array in new] == [array.shape for array in jumps]
    assert [array.dtype for array in new] == [array.dtype for array in jumps]
    assert all((np.isfinite(x) & (x > 0)).all() for x in (new.weight, new.factor, new.chosen))


def test_what_was_never_available_or_never_taken_stays_possible():
    # One-word sentences: no jump but 0, no start but the first; the words of one class do not occur at all.
    counts, foreseen = np.zeros((2, 2, 2, CLASSES, NEAR + 1))
    counts[:, :, 1:, REACH] = foreseen[:, :, 1:, REACH] = 50
    starts = np.zeros((2, STARTS + 1))
    starts[:, 0] = 50
    jumps = update_jumps(initial_jumps(*classes()), counts, foreseen, NONE_CLOSE, 100)
    after = update_starts(initial_weights(0.2, 1e-8), starts, (np.ones(50, int), np.ones(50, int)))
    for array in (jumps.weight, jumps.factor, jumps.chosen, after):
        assert np.isfinite(array).all()
        assert (array > 0).all()


@pytest.mark.parametrize("rare", [1e-2, 1e-4, 1e-8])
def test_a_jump_that_hardly_anyone_could_take_does_not_swallow_the_others(rare):
    # Sentences of four words, hardly ever left from their last: a jump of −3 is possible from there alone.
    departures = np.zeros(len(PLACES))
    departures[6:10] = [100, 100, 100, rare]
    counts = np.zeros((2, 2, 1, NEAR + 1))
    counts[..., REACH + 1] = 300
    counts[..., REACH] = rare
    jumps = initial_jumps(*classes(1))
    for _ in range(4):
        foreseen = [[[foreseen_by(product(jumps, d, 0, 0), departures)]] * 2 for d in range(2)]
        jumps = update_jumps(jumps, counts, np.array(foreseen), NONE_CLOSE[..., :1, :], 100)
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
    none, one = np.zeros(0, np.float32), [np.ones(words, np.float32) for words in (5, 4)]
    lexicon = Lexicon(np.zeros(5, np.int64), np.zeros(0, np.int32), none.reshape(0, 2), *one)
    words = Vocabulary(list("abcd")), Vocabulary(list("vwxyz"))
    jumps = initial_jumps(*classes())
    model = Model(*words, lexicon, initial_weights(0.2, 1e-8), jumps, Options())
    model.check()
    chosen, factor, weight = jumps.chosen, jumps.factor, jumps.weight
    for wrong in (
        {"by_source": jumps.by_target, "by_target": jumps.by_source},
        {"weight": weight[:, :2]},
        {"weight": weight[:, :0]},
        {"weight": weight[:, :, :3]},
        {"weight": weight.astype(float)},
        {"weight": weight[0, 0]},
        {"weight": -weight},
        {"weight": weight * np.float32(np.nan)},
        {"weight": weight * np.float32(np.inf)},
        {"factor": factor[:, :2]},
        {"factor": 0 * factor},
        {"factor": factor.astype(float)},
        {"chosen": chosen[:, :, :2]},
        {"chosen": -chosen},
        {"chosen": chosen.astype(float)},
        {"by_source": jumps.by_source - 1},
        {"by_target": jumps.by_target.astype(np.int64)},
    ):
        with pytest.raises(ValueError):
            replace(model, jumps=jumps._replace(**wrong)).check()


def test_before_training_one_step_forward_is_preferred_and_no_start():
    jumps, weights = initial_jumps(*classes()), initial_weights(0.3, 1e-6)
    assert (np.argmax(jumps.weight, axis=2) == REACH + 1).all()
    assert weights.shape == (2, STOP + STOPS + 1)
    np.testing.assert_array_equal(weights[:, STOP:], np.tile(INITIAL_STOPS, (2, 1)).astype(np.float32))
    assert (weights[:, START : START + STARTS + 1] == 1).all()
    np.testing.assert_array_equal(weights[:, NULL], np.float32(0.3))
    np.testing.assert_array_equal(weights[:, [FLOOR, NULL_FLOOR]], np.float32(1e-6))


class Journeys:
    """Sentences whose words, of random classes, are chosen; jumps between them as `truth` makes them."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.sentences = [random.integers(0, CLASSES, size=random.integers(2, 9)) for _ in range(60)]
        self.departures = [20 * random.random(len(words)) for words in self.sentences]
        chosen = np.exp(0.5 * random.standard_normal((2, 2, CLASSES, CLOSE))).astype(np.float32)
        chosen[:, :, 0] = 1
        self.truth = initial_jumps(*classes())._replace(chosen=chosen)
        self.counts = [self.shares(self.truth, words) for words in self.sentences]

    @staticmethod
    def weights(jumps: Jumps, words: np.ndarray) -> np.ndarray:
        """Of the jumps from each position to each, in direction 0; the words that choose are of class 0."""
        distance = np.arange(len(words)) - np.arange(len(words))[:, None]
        near = jumps.weight[0, 0].astype(float)[np.clip(distance, -REACH, REACH) + REACH]
        weights = np.where(np.abs(distance) <= REACH, near, 1.0)
        for i, there in np.argwhere(np.abs(distance) <= BESIDE):
            k = there - i + BESIDE
            weights[i, there] *= jumps.chosen[0, 0, words[i], k] * jumps.chosen[0, 1, words[there], k]
        return weights

    def shares(self, jumps: Jumps, words: np.ndarray) -> np.ndarray:
        weights = self.weights(jumps, words)
        return weights / weights.sum(axis=1, keepdims=True)

    def objective(self, jumps: Jumps) -> float:
        return sum(
            float((leave[:, None] * counts * np.log(self.shares(jumps, words))).sum())
            for words, leave, counts in zip(self.sentences, self.departures, self.counts, strict=True)
        )

    def update(self, jumps: Jumps, step: float) -> Jumps:
        totals = np.zeros((2, 2, 2, CLASSES, NEAR + 1))
        close = np.zeros((2, 2, 2, CLASSES, CLOSE))
        for words, leave, counts in zip(self.sentences, self.departures, self.counts, strict=True):
            for what, shares in enumerate((counts, self.shares(jumps, words))):
                for (i, there), share in np.ndenumerate(leave[:, None] * shares):
                    k = there - i
                    totals[what, 0, :, 0, k + REACH if abs(k) <= REACH else NEAR] += share
                    if abs(k) <= BESIDE:
                        close[0, what, 0, words[i], k + BESIDE] += share
                        close[0, what, 1, words[there], k + BESIDE] += share
        return update_jumps(jumps, *totals, close, 1e-9, step)


@pytest.mark.parametrize("seed", range(3))
def test_factors_of_chosen_words_raise_the_likelihood_to_that_of_the_truth(seed):
    journeys = Journeys(seed)
    jumps = initial_jumps(*classes())
    values = [journeys.objective(jumps)]
    for _ in range(60):
        jumps = journeys.update(jumps, SAFE)
        values.append(journeys.objective(jumps))
    assert np.diff(values).min() > -1e-3
    truth = journeys.objective(journeys.truth)
    assert values[0] < truth - 1
    assert values[-1] > truth - 0.05 * (truth - values[0])
    assert (jumps.chosen[:, :, 0] == 1).all()
