"""The Viterbi path is the best of all, and its score is its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hmm.chains import random_chain, run_viterbi
from tests.oracles.chain import dense_chain, enumerate_chain, path_score

pytestmark = pytest.mark.kernel

SHAPES = [(R, S) for R in range(1, 5) for S in range(1, 6)]
WIDE = [(2, S) for S in range(6, 15)] + [(3, 7), (3, 11), (3, 14)]


def assert_best(chain):
    twin = enumerate_chain(*chain.twin)
    score, path = run_viterbi(chain)
    assert score == pytest.approx(twin.best, rel=1e-5, abs=1e-5)
    assert path_score(path, *chain.twin) == pytest.approx(twin.best, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("rows", "states"), SHAPES + WIDE)
@pytest.mark.parametrize("seed", [0, 1])
def test_path_is_the_best_of_all(rows, states, seed):
    assert_best(random_chain(1000 * seed + 100 * rows + states, rows, states))


@pytest.mark.slow
@pytest.mark.parametrize("far", [1e-3, 30.0])
def test_far_jumps_are_taken_when_they_pay(far):
    for seed in range(5):
        chain = random_chain(seed, 3, 13)
        assert_best(chain._replace(jumps=chain.jumps / np.float32(far)))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 3), states=st.integers(1, 6))
def test_uneven_weights_do_not_mislead_it(seed, rows, states):
    assert_best(random_chain(seed, rows, states, spread=3.0))


def test_nulls_at_the_beginning_and_in_between_keep_the_position():
    chain = random_chain(2, 4, 3)
    chain.emission[[0, 2]] = 1e-6
    chain.null[[0, 2]] = 1
    score, path = run_viterbi(chain)
    assert path[0] == path[2] == -1
    assert min(path[1], path[3]) >= 0
    assert score == pytest.approx(enumerate_chain(*chain.twin).best, rel=1e-5)


def test_a_word_that_no_position_emits_is_null():
    chain = random_chain(4, 5, 4)
    chain.emission[3] = 0
    score, path = run_viterbi(chain)
    assert path[3] == -1
    assert np.isfinite(score)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(300, 300), (1000, 3), (3, 1000)])
def test_long_chains_give_the_score_of_the_dense_twin(shape):
    chain = random_chain(5, *shape, scale=1e-3)
    score, path = run_viterbi(chain)
    _, _, best = dense_chain(*chain.twin)
    assert score == pytest.approx(best, rel=1e-5)
    assert path_score(path, *chain.twin) == pytest.approx(best, rel=1e-5)
