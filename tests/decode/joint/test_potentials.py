"""θ and ω are the logarithms of the model's probabilities."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.blocks import Direction, random_pair
from tests.oracles.chain import log_probability

from dualign.decode.joint.model import potentials

pytestmark = pytest.mark.kernel


def assert_scores(scores: np.ndarray, direction: Direction, path: np.ndarray) -> None:
    """Of a path without nulls, of a null anywhere, and of what follows a null."""
    parameters, emission, null = direction
    rows, states = emission.shape
    before = np.concatenate(([0], path[:-1] + 1))
    sequence = tuple((int(i), True) for i in path)
    assert scores[np.arange(rows), before, path + 1].sum() == pytest.approx(
        log_probability(sequence, parameters, emission, null), rel=1e-5, abs=1e-4
    )
    for r in range(rows):
        after = np.array([parameters.after(r, i, rows, states) for i in range(states)])
        nothing = log(parameters.p0 * null[r] * after.mean())
        np.testing.assert_allclose(scores[r, :, 0], nothing, rtol=1e-5, atol=1e-5)
        if r > 0:
            anywhere = np.log((1 - parameters.p0) / states * emission[r] * after)
            np.testing.assert_allclose(scores[r, 0, 1:], anywhere, rtol=1e-5, atol=1e-5)


@given(seed=st.integers(0, 2**32 - 1), I=st.integers(1, 15), J=st.integers(1, 15))
def test_scores_are_those_of_the_model(seed, I, J):
    pair = random_pair(seed, I, J)
    theta, omega = potentials(0, pair.block())
    there, back = pair.directions
    random = np.random.default_rng(seed)
    # A block adds the floors of the options to all emissions; here there are none.
    assert_scores(omega, there, random.integers(0, I, J))
    assert_scores(theta, back, random.integers(0, J, I))
