"""Projected posteriors are the closest that agree: equal to the twin, which proves its own optimum."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.chain import enumerate_chain
from tests.oracles.projection import project
from tests.train.blocks import OnePair, posteriors, random_pair

from dualign.model.emission import Warm
from dualign.train.expectation import KINDS
from dualign.train.projection import Constraint

pytestmark = pytest.mark.kernel

SHAPES = [(1, 1), (1, 3), (2, 2), (3, 2), (2, 4), (3, 3)]
FREE = Constraint(KINDS["none"], 0.0, 0.0, 1, False)


def exactly(slack: float, tolerance: float = 2e-5) -> Constraint:
    return Constraint(KINDS["symmetric"], slack, tolerance, 500, False)


def norm(outcome) -> float:
    return float(np.linalg.norm(outcome.target_chooses.astype(float) - outcome.source_chooses))


def test_without_projection_the_pair_has_its_chains_posteriors():
    for seed, (I, J) in enumerate(SHAPES):
        pair = random_pair(seed, I, J)
        there, back = (enumerate_chain(*direction) for direction in pair.directions)
        outcome = posteriors(pair, FREE)
        np.testing.assert_allclose(outcome.target_chooses, there.posterior.T, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(outcome.source_chooses, back.posterior, rtol=1e-4, atol=1e-6)
        assert outcome.likelihood == pytest.approx(there.likelihood + back.likelihood, rel=1e-5)


def assert_equals_twin(I: int, J: int, slack: float, atol: float) -> None:
    for seed in range(3):
        pair = random_pair(10 * seed + I + 3 * J, I, J)
        twin = project(*pair.directions, slack)
        assert abs(twin.gap) < 1e-8
        assert twin.violation <= slack + 1e-8
        outcome = posteriors(pair, exactly(slack))
        assert norm(outcome) <= slack + 3e-5
        np.testing.assert_allclose(outcome.target_chooses, twin.target_chooses, rtol=0, atol=atol)
        np.testing.assert_allclose(outcome.source_chooses, twin.source_chooses, rtol=0, atol=atol)


@pytest.mark.parametrize(("I", "J"), SHAPES)
def test_projected_posteriors_equal_the_twin(I, J):
    assert_equals_twin(I, J, 0.0, atol=1e-4)


@pytest.mark.parametrize(("I", "J"), SHAPES)
@pytest.mark.parametrize("slack", [0.001, 0.05, 0.2])
def test_with_slack_the_posteriors_are_close_to_the_twin(I, J, slack):
    # The search ends at the first point that satisfies the constraint, which may lie within it.
    assert_equals_twin(I, J, slack, atol=slack)


@pytest.mark.parametrize("slack", [0.05, 0.2])
def test_with_slack_the_posteriors_are_the_closest_that_satisfy_it(slack):
    assert_equals_twin(2, 2, slack, atol=5e-4)


@pytest.mark.parametrize(("slack", "tolerance"), [(0.0, 1e-3), (0.001, 0.001), (0.1, 0.03)])
@pytest.mark.parametrize(("I", "J"), [(1, 5), (6, 6), (12, 9), (30, 25)])
def test_the_violation_is_at_most_slack_and_tolerance(I, J, slack, tolerance):
    for seed in range(4):
        pair = random_pair(seed, I, J)
        assert norm(posteriors(pair, FREE)) > slack + tolerance
        outcome = posteriors(pair, exactly(slack, tolerance))
        assert norm(outcome) <= slack + tolerance + 1e-5
        assert outcome.evaluations < 500


def room(size: int) -> Warm:
    begin, used = np.array([0, size]), np.zeros(1, np.int32)
    return Warm(begin, used, np.zeros(size, np.int32), np.zeros(size, np.float32))


@pytest.mark.parametrize("kind", ["symmetric", "bijective"])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_a_second_projection_starts_where_the_first_ended_and_ends_at_the_same_point(kind, size):
    rules = exactly(0.01, 1e-4)._replace(how=KINDS[kind])
    saved = 0.0
    for seed in range(6):
        pair = random_pair(seed, 7, 9)
        warm = room(size)
        cold = posteriors(pair, rules)
        first = posteriors(pair, rules, warm=warm)
        assert first.evaluations == cold.evaluations
        assert 0 <= warm.used[0] <= size
        second = posteriors(pair, rules, warm=warm)
        np.testing.assert_allclose(second.target_chooses, cold.target_chooses, rtol=0, atol=2e-3)
        np.testing.assert_allclose(second.source_chooses, cold.source_chooses, rtol=0, atol=2e-3)
        saved += cold.evaluations - second.evaluations
    if size == 1000:
        assert saved > 0


def test_multipliers_of_another_pair_lead_nowhere_wrong():
    for seed in range(6):
        warm = room(60)
        posteriors(random_pair(seed, 5, 6), exactly(0.0), warm=warm)
        other = random_pair(seed + 100, 5, 6)
        misled, cold = posteriors(other, exactly(0.0), warm=warm), posteriors(other, exactly(0.0))
        np.testing.assert_allclose(misled.target_chooses, cold.target_chooses, rtol=0, atol=2e-4)


def test_a_pair_that_is_symmetric_already_costs_one_evaluation():
    pair = random_pair(1, 4, 4)
    # The same chain both ways, over a matrix equal to its transpose: both directions' posteriors are one
    # another's transpose. Uniform emissions make them symmetric themselves only for one word a side.
    weights = np.stack([pair.weights[0], pair.weights[0]])
    null = np.full(4, 0.1, np.float32)
    emission = pair.emission[:, :, :1] + pair.emission[:, :, :1].transpose(1, 0, 2)
    mirrored = OnePair(np.concatenate([emission, emission], axis=2), null, null, weights)
    free = posteriors(mirrored, FREE)
    np.testing.assert_allclose(free.target_chooses, free.source_chooses.T, rtol=1e-5, atol=0)
    single = OnePair(np.full((1, 1, 2), 0.3, np.float32), null[:1], null[:1], weights)
    outcome = posteriors(single, exactly(0.0, 1e-6))
    assert outcome.evaluations == 1
    assert outcome.target_chooses == outcome.source_chooses == posteriors(single, FREE).target_chooses


def test_a_pair_within_the_slack_stays_as_it_is():
    pair = random_pair(2, 3, 4)
    free = posteriors(pair, FREE)
    outcome = posteriors(pair, exactly(norm(free) + 1e-4))
    assert outcome.evaluations == 1
    np.testing.assert_array_equal(outcome.target_chooses, free.target_chooses)
    np.testing.assert_array_equal(outcome.source_chooses, free.source_chooses)


def test_evaluations_stop_at_the_limit():
    pair = random_pair(3, 10, 10)
    for limit in (1, 2, 5):
        rules = Constraint(KINDS["symmetric"], 0.0, 0.0, limit, False)
        assert posteriors(pair, rules).evaluations == limit


def test_the_gradient_of_the_dual_is_the_difference_of_the_posteriors():
    # Of log Z0(λ) + log Z1(λ), by central differences in each multiplier.
    pair = random_pair(4, 3, 4)
    random = np.random.default_rng(0)
    at = 0.5 * random.standard_normal((3, 4))
    here = posteriors(pair, FREE, at)
    step = 0.03
    for i in range(3):
        for j in range(4):
            move = np.zeros((3, 4))
            move[i, j] = step
            up, down = (posteriors(pair, FREE, at + sign * move).likelihood for sign in (1, -1))
            slope = here.source_chooses[i, j] - here.target_chooses[i, j]
            assert (up - down) / (2 * step) == pytest.approx(slope, abs=5e-4)


def test_a_pair_whose_directions_contradict_each_other_comes_to_agree():
    I = J = 8
    emission = np.full((I, J, 2), 1e-3, np.float32)
    emission[np.arange(I), np.arange(J), 0] = 0.9
    emission[np.arange(I), np.arange(J)[::-1], 1] = 0.9
    pair = random_pair(5, I, J)._replace(emission=emission)
    outcome = posteriors(pair, exactly(0.0, 1e-3))
    assert norm(outcome) <= 1e-3 + 1e-5
    for side in (outcome.target_chooses, outcome.source_chooses):
        assert np.isfinite(side).all()
        assert side.min() >= 0
    assert outcome.target_chooses.sum(axis=0).max() <= 1 + 1e-4
    assert outcome.source_chooses.sum(axis=1).max() <= 1 + 1e-4
