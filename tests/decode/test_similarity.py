"""Decoders of similarities equal their definitions, written cell by cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from tests.oracles import similarity as twin

from dualign.decode.similarity import argmax, itermax, over_threshold, softmax

SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)
# Few different values: ties are where definitions differ.
SCORES = arrays(np.float64, SHAPES, elements=st.sampled_from([-0.5, -0.1, 0.0, 0.1, 0.4, 0.45, 0.5, 0.9]))


def links(chosen: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.argwhere(chosen)}


@given(SCORES, st.sampled_from([-1.0, 0.0, 0.4]))
def test_argmax_is_best_of_both(scores, threshold):
    expected = {(i, j) for i, j in twin.argmax(scores.tolist()) if scores[i, j] > threshold}
    assert links(argmax(scores, threshold)) == expected


@given(SCORES, st.integers(1, 4))
def test_itermax_goes_on_with_the_words_that_are_left(scores, rounds):
    assert links(itermax(scores, -1.0, rounds)) == twin.itermax(scores.tolist(), rounds)


@given(SCORES)
def test_itermax_begins_with_argmax(scores):
    assert links(argmax(scores)) <= links(itermax(scores))


@given(SCORES, st.sampled_from([0.1, 0.3, 0.001]))
def test_softmax_is_over_the_threshold_both_ways(scores, threshold):
    assert links(softmax(scores, threshold)) == twin.softmax(scores.tolist(), threshold)


@pytest.mark.parametrize("choose", [argmax, itermax, softmax, over_threshold])
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_no_words_no_links(choose, shape):
    assert links(choose(np.zeros(shape))) == set()


def test_softmax_survives_large_scores():
    assert links(softmax(np.array([[1000.0, 0.0], [0.0, 900.0]]))) == {(0, 0), (1, 1)}
