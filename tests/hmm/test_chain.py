"""Forward-backward equals the sum over all sequences of states, and stays finite where that is long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.chains import Chain, random_chain, random_gains, run_forward_backward
from tests.oracles.chain import dense_chain, enumerate_chain

from dualign.hmm.jumps import LEAST, LEAST_CHOSEN, NEAR

pytestmark = pytest.mark.kernel

# Rows and states: all small ones, and chains wider than the window of ±5 on either side.
SHAPES = [(R, S) for R in range(1, 5) for S in range(1, 6)]
WIDE = [(2, S) for S in range(6, 15)] + [(3, 7), (3, 11), (3, 14)]


def assert_equals_twin(chain: Chain) -> None:
    twin = enumerate_chain(*chain.twin)
    states = chain.emission.shape[1]
    answer = run_forward_backward(chain)
    assert answer.likelihood == pytest.approx(twin.likelihood, rel=1e-5, abs=1e-5)
    np.testing.assert_allclose(answer.posterior, twin.posterior, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(1 - answer.posterior.sum(axis=1), twin.null, rtol=0, atol=2e-6)
    twin_visits = twin.starts, twin.visits, twin.ends
    np.testing.assert_allclose(answer.visits, twin_visits, rtol=1e-4, atol=1e-6)
    jumps, openings = np.split(answer.expected, 2, axis=1)
    np.testing.assert_allclose(jumps, twin.jumps[:-1], rtol=1e-4, atol=2e-6)
    np.testing.assert_allclose(openings, twin.openings[:-1], rtol=1e-4, atol=2e-6 * states)
    np.testing.assert_allclose(answer.close, twin.close, rtol=1e-4, atol=4e-6)


@pytest.mark.parametrize(("rows", "states"), SHAPES)
def test_all_it_computes_equals_enumeration(rows, states):
    assert_equals_twin(random_chain(100 * rows + states, rows, states))


@pytest.mark.parametrize(("rows", "states"), WIDE)
def test_jumps_beyond_the_window_equal_enumeration(rows, states):
    assert_equals_twin(random_chain(100 * rows + states, rows, states))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 3), states=st.integers(1, 6))
def test_uneven_weights_equal_enumeration(seed, rows, states):
    chain = random_chain(seed, rows, states, spread=1.7)
    # A near jump that weighs far less than a far one is a small difference of large numbers.
    assert_equals_twin(chain._replace(jumps=np.maximum(chain.jumps, np.float32(0.1))))


@pytest.mark.parametrize("states", [1, 2, 4, 6, 15])
def test_the_least_weights_there_are_stay_harmless(states):
    for seed in range(10):
        chain = random_chain(seed, 30, states)
        chain.jumps[:] = LEAST
        chain.gain[:] = 0
        if least_pull := seed % 2:
            chain.gain[:] = np.where(
                random_gains(np.random.default_rng(seed), states), LEAST_CHOSEN**2 - 1, 0
            )
        likelihood, posterior, *_ = run_forward_backward(chain)
        expected, twin, _ = dense_chain(*chain.twin)
        # A product of both leaves two digits of 32 bits.
        assert likelihood == pytest.approx(expected, rel=1e-3, abs=0.2 if least_pull else 1e-6)
        assert posterior.min() >= 0
        np.testing.assert_allclose(posterior, twin, rtol=0, atol=0.05 if least_pull else 2e-3)


def test_a_chain_of_one_row_is_its_start_times_its_emission_and_its_end():
    chain = random_chain(3, 1, 4)
    parameters, emission, null = chain.twin
    there = np.array([parameters.start(i, 4) * parameters.after(0, i, 1, 4) for i in range(4)])
    joint = there * (1 - parameters.p0) * emission[0]
    total = joint.sum() + there.sum() * parameters.p0 * null[0]
    likelihood, posterior, *_ = run_forward_backward(chain)
    assert likelihood == pytest.approx(np.log(total), rel=1e-5)
    np.testing.assert_allclose(posterior[0, :4], joint / total, rtol=1e-5, atol=0)


@given(
    seed=st.integers(0, 2**32 - 1),
    shapes=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 14)), min_size=2, max_size=8),
)
def test_a_chain_does_not_notice_its_company(seed, shapes):
    first, *others = (random_chain(seed + n, *shape) for n, shape in enumerate(shapes))
    alone = run_forward_backward(first)
    others = [other._replace(weights=first.weights) for other in others]
    for mine, among in zip(alone, run_forward_backward(first, company=others), strict=True):
        np.testing.assert_array_equal(mine, among)


@pytest.mark.parametrize("states", [1, 2, 7, 33, 100])
def test_posteriors_and_expected_jumps_add_up(states):
    chain = random_chain(states, 50, states)
    _, posterior, expected, visits, _ = run_forward_backward(chain)
    sums = posterior.sum(axis=1, dtype=float)
    assert posterior.min() >= 0
    assert sums.max() <= 1 + 1e-5
    # Every word after the first row departs from somewhere; the chain starts once, and stops once.
    np.testing.assert_allclose(expected[:, : NEAR + 1].sum(axis=1), sums[1:], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(visits.sum(axis=1), [1, 50, 1], rtol=1e-4)


def test_not_collecting_changes_no_answer():
    chain = random_chain(5, 12, 30)
    with_statistics, without = run_forward_backward(chain), run_forward_backward(chain, collect=False)
    assert with_statistics[0] == without[0]
    np.testing.assert_array_equal(with_statistics[1], without[1])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0])
def test_long_chains_neither_underflow_nor_overflow(scale):
    chain = random_chain(11, 300, 300, scale=scale)
    likelihood, posterior, *_ = run_forward_backward(chain)
    expected, twin, _ = dense_chain(*chain.twin)
    assert likelihood == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(posterior[:, :300], twin, rtol=1e-3, atol=1e-6)


def test_emissions_above_one_do_not_overflow_the_likelihood():
    # The projection multiplies emissions by exp(λ), so that nothing keeps them below 1.
    chain = random_chain(12, 300, 20, scale=1e3)
    likelihood, posterior, *_ = run_forward_backward(chain)
    expected, twin, _ = dense_chain(*chain.twin)
    assert likelihood == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(posterior[:, :20], twin, rtol=1e-3, atol=1e-6)


def test_rows_that_only_a_floor_or_a_null_explains_are_survived():
    chain = random_chain(13, 40, 25, scale=1e-2)
    chain.emission[10:20] = 1e-8
    chain.null[10:20] = 1e-8
    chain.emission[25] = 0
    likelihood, posterior, *_ = run_forward_backward(chain)
    expected, twin, _ = dense_chain(*chain.twin)
    assert likelihood == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(posterior[:, :25], twin, rtol=1e-3, atol=1e-6)
    assert not posterior[25].any()
