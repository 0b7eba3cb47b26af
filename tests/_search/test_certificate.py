"""Certificates claim what is proved and no more."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.progress import Clock
from dualign._search.certificate import certify, have_met

scores = st.one_of(st.floats(-1e6, 1e6), st.just(-inf))
bounds = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([-inf, inf]))


@given(score=scores, bound=bounds, tolerance=st.floats(0, 10))
def test_an_answer_is_certified_only_if_it_has_a_score_close_to_the_bound(score, bound, tolerance):
    found = certify("solution", score, bound, tolerance, "method", Clock(), 3, ((bound, score),))
    assert found.bound >= found.score == score
    assert found.bound in (bound, score)
    if found.certified:
        assert score > -inf
        assert abs(bound - score) <= max(tolerance, 1e-9 * max(1, abs(score))) or bound == score
    elif score > -inf:
        assert abs(bound - score) > tolerance
    assert (found.solution, found.method, found.iterations) == ("solution", "method", 3)
    assert found.seconds >= 0


@pytest.mark.parametrize("bound", [-inf, 0.0, inf])
def test_without_a_score_nothing_is_certified(bound):
    assert not certify(None, -inf, bound, inf, "method", Clock()).certified


def test_a_bound_far_below_the_score_of_a_solution_is_wrong_and_proves_nothing():
    assert not certify("solution", 1.0, -inf, 1e-6, "method", Clock()).certified
    assert not certify("solution", 1.0, 0.9, 1e-6, "method", Clock()).certified
    assert certify("solution", 1.0, 1.0 - 1e-12, 0.0, "method", Clock()).certified


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0])
def test_numbers_of_numpy_make_plain_answers(bound):
    found = certify("solution", np.float64(1), np.float64(bound), np.float64(0.1), "method", Clock())
    assert [type(value) for value in (found.score, found.bound, found.certified)] == [float, float, bool]


def test_numbers_that_are_none_certify_nothing():
    assert not have_met(nan, 1.0, 1.0)
    assert not have_met(1.0, nan, 1.0)
