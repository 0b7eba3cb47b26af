"""Projected posteriors are the closest that agree: equal to the twin, which proves its own optimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.blocks import OnePair, expectations, posteriors, random_pair
from tests.oracles.chain import enumerate_chain
from tests.oracles.projection import project

from dualign.hmm import posteriors as computing
from dualign.hmm.blocks import Block, Given, PairOffsets, Warm
from dualign.hmm.constraints import ConstraintRule, give
from dualign.hmm.jumps import Jumps
from dualign.hmm.multipliers import Constraint
from dualign.hmm.posteriors import KINDS

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
    weight, factor, chosen = (array[:1].repeat(2, axis=0) for array in (pair.jumps[0], *pair.jumps[3:]))
    jumps = pair.jumps._replace(weight=weight, factor=factor, chosen=chosen)
    mirrored = OnePair(np.concatenate([emission, emission], axis=2), null, null, weights, jumps)
    free = posteriors(mirrored, FREE)
    np.testing.assert_allclose(free.target_chooses, free.source_chooses.T, rtol=1e-5, atol=0)
    jumps = random_pair(1, 1, 1).jumps
    single = OnePair(np.full((1, 1, 2), 0.3, np.float32), null[:1], null[:1], weights, jumps)
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


class Various:
    """A few rules for every pair, more for longer ones; a node is in several."""

    def rules(self, source: Sequence[str], target: Sequence[str]) -> list[ConstraintRule]:
        last = (0, len(source) - 1, len(target) - 1)
        found = [
            ConstraintRule.at_most(0.2, [last]),
            ConstraintRule.at_least(0.7, [(1, i, 0) for i in range(len(source))]),
        ]
        if len(source) > 3:
            found.append(ConstraintRule(((0, 3, 0), last, (1, 0, 0)), (1.0, -0.5, 2.0), 0.3, equality=True))
        return found


def rules_of(pairs: Sequence[OnePair]) -> Given:
    words = [([""] * pair.emission.shape[0], [""] * pair.emission.shape[1]) for pair in pairs]
    return give(Various(), words)


def pairs_together(pairs: Sequence[OnePair]) -> Block:
    """Pairs of the same weights as one block, each with words of its own."""
    blocks = [pair.block() for pair in pairs]
    first = np.concatenate(([0], np.cumsum([b.first[-1] for b in blocks])))
    I, J = (np.array([pair.emission.shape[side] for pair in pairs]) for side in (0, 1))
    source, target = (np.concatenate(([0], np.cumsum(lengths))) for lengths in (I, J))
    members = PairOffsets(
        np.arange(source[-1], dtype=np.int32), source, np.arange(target[-1], dtype=np.int32), target
    )
    classes = np.concatenate(([0], np.cumsum([b.jumps.classes for b in blocks])))
    jumps = Jumps(
        np.concatenate([b.jumps.weight for b in blocks], axis=1),
        *(
            np.concatenate([b.jumps[side] + c for b, c in zip(blocks, classes, strict=False)], dtype=np.int32)
            for side in (1, 2)
        ),
        np.concatenate([b.jumps.factor for b in blocks], axis=1),
        np.concatenate([b.jumps.chosen for b in blocks], axis=2),
    )
    return blocks[0]._replace(
        pairs=members,
        jumps=jumps,
        first=first,
        filled=np.concatenate([b.filled for b in blocks]),
        begin=np.concatenate([b.begin + c for b, c in zip(blocks, first, strict=False)]).astype(np.int32),
        position=np.concatenate([b.position for b in blocks]),
        score=np.concatenate([b.score for b in blocks]),
        null_target=np.concatenate([b.null_target for b in blocks]),
        null_source=np.concatenate([b.null_source for b in blocks]),
        likelihood=np.zeros((len(pairs), 2)),
    )


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("kind", ["none", "symmetric", "mixture", "bijective", "given"])
@given(
    seed=st.integers(0, 2**32 - 1),
    shapes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=19),
)
def test_a_pair_does_not_notice_its_company(kind, ruled, seed, shapes):
    weights = random_pair(seed, 1, 1).weights
    pairs = [random_pair(seed + n, *shape)._replace(weights=weights) for n, shape in enumerate(shapes)]
    rules = rules_by_name(kind)
    block = pairs_together(pairs)
    if ruled:
        block = block._replace(given=rules_of(pairs))
    posterior = np.full((block.first[-1], 2), np.nan, np.float32)
    total = expectations(block, rules, posterior)
    alone = [posteriors(pair, rules, given=rules_of([pair]) if ruled else None) for pair in pairs]
    for n, outcome in enumerate(alone):
        there, back = posterior[block.first[n] : block.first[n + 1]].T
        np.testing.assert_array_equal(there, outcome.target_chooses.ravel())
        np.testing.assert_array_equal(back, outcome.source_chooses.ravel())
    assert total.totals[1] == sum(outcome.evaluations for outcome in alone)
    assert total.totals[2] == len(pairs)


def rules_by_name(kind: str) -> Constraint:
    mixture = kind == "mixture"
    return Constraint(KINDS["symmetric" if mixture else kind], 0.05, 0.01, 7, mixture)


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("kind", ["none", "symmetric", "mixture", "bijective", "given"])
def test_long_pairs_one_at_a_time_have_the_same_posteriors(kind, ruled, monkeypatch):
    rules = rules_by_name(kind)
    for seed in range(4):
        pair = random_pair(seed, 11, 8)
        given = rules_of([pair]) if ruled else None
        in_step = posteriors(pair, rules, given=given)
        monkeypatch.setattr(computing, "LONGEST_IN_STEP", 0)
        alone = posteriors(pair, rules, given=given)
        monkeypatch.undo()
        np.testing.assert_array_equal(alone.target_chooses, in_step.target_chooses)
        np.testing.assert_array_equal(alone.source_chooses, in_step.source_chooses)
        assert alone.evaluations == in_step.evaluations


def test_lanky_pairs_are_not_put_together():
    # Each has few cells; a batch of the three would have as many as all of their longest sides.
    shapes = [(200, 2), (2, 200), (120, 120), (3, 128), (128, 3)]
    weights = random_pair(0, 1, 1).weights
    pairs = [random_pair(n, *shape)._replace(weights=weights) for n, shape in enumerate(shapes)]
    block = pairs_together(pairs)
    for job in computing.jobs_of(block.pairs):
        longest = max(max(shapes[n]) for n in job.pairs)
        assert job.alone == (longest > 128)
    rules = rules_by_name("symmetric")
    posterior = np.full((block.first[-1], 2), np.nan, np.float32)
    expectations(block, rules, posterior)
    for n, pair in enumerate(pairs):
        there, _ = posterior[block.first[n] : block.first[n + 1]].T
        np.testing.assert_array_equal(there, posteriors(pair, rules).target_chooses.ravel())


def test_statistics_and_warm_starts_do_not_notice_company():
    shapes = [(3, 4), (6, 2), (5, 5), (1, 7), (9, 3), (4, 4), (2, 2), (8, 8), (7, 1), (5, 4)]
    weights = random_pair(0, 1, 1).weights
    pairs = [random_pair(n, *shape)._replace(weights=weights) for n, shape in enumerate(shapes)]
    rules = rules_by_name("symmetric")
    begin = np.concatenate(([0], np.cumsum([I * J for I, J in shapes])))
    together = Warm(
        begin, np.zeros(len(pairs), np.int32), np.zeros(begin[-1], np.int32), np.zeros(begin[-1], np.float32)
    )
    alone = [room(I * J) for I, J in shapes]
    for _ in range(2):
        block = pairs_together(pairs)._replace(warm=together)
        posterior = np.full((block.first[-1], 2), np.nan, np.float32)
        total = expectations(block, rules, posterior, collect=True)
        single = []
        for n, (pair, warm) in enumerate(zip(pairs, alone, strict=True)):
            own = np.full((len(pair.emission.reshape(-1, 2)), 2), np.nan, np.float32)
            single.append(expectations(pair.block()._replace(warm=warm), rules, own, collect=True))
            np.testing.assert_array_equal(posterior[block.first[n] : block.first[n + 1]], own)
            used = together.used[n]
            assert used == warm.used[0]
            np.testing.assert_array_equal(together.key[begin[n] : begin[n] + used], warm.key[:used])
            np.testing.assert_array_equal(together.value[begin[n] : begin[n] + used], warm.value[:used])
        # Every word has a class of its own.
        for name in ("jumps", "foreseen"):
            alike = np.concatenate([getattr(sums, name) for sums in single], axis=2)
            np.testing.assert_array_equal(getattr(total, name), alike)
        alike = np.concatenate([sums.chosen for sums in single], axis=3)
        np.testing.assert_array_equal(total.chosen, alike)
        for name in ("starts", "totals"):
            alike = sum(getattr(sums, name) for sums in single)
            np.testing.assert_allclose(getattr(total, name), alike, rtol=1e-12)
    assert together.used.sum() > 0
