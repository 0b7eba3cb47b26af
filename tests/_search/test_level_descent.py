"""Descent by a level rule, on the upper envelope of a few lines, whose least value is found by trying all."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.jit import kernel, part
from dualign._search.dual import (
    BOUND,
    CLOSED,
    DISTANCE,
    ROUNDS,
    STUCK,
    LevelRule,
    level_descent,
    new_level_record,
)

compiled_new_level_record = kernel(new_level_record)

pytestmark = pytest.mark.kernel


class Envelope(NamedTuple):
    """L(λ) = max_n (heights[n] + slopes[n] λ); `at` is λ, the best λ, and the slope at λ."""

    heights: np.ndarray
    slopes: np.ndarray
    at: np.ndarray


@part
def evaluate(lines):
    n = np.argmax(lines.heights + lines.slopes * lines.at[0])
    lines.at[2] = lines.slopes[n]
    return lines.heights[n] + lines.slopes[n] * lines.at[0], lines.at[2] ** 2


@part
def keep(lines):
    lines.at[1] = lines.at[0]


@part
def move(lines, step):
    lines.at[0] -= step * lines.at[2]


@part
def halted(lines):
    return lines.at[0] > 1e9


descend = kernel(
    level_descent(evaluate, keep, move, halted, LevelRule(patience=6, shrink=0.5, progress=0.05))
)

numbers = st.integers(-20, 20)


@given(
    st.lists(st.tuples(numbers, numbers), max_size=5),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 50),
)
def test_bound_reaches_the_least_value_or_the_score(drawn, up, down, below):
    pairs = [*drawn, (0, up), (0, -down)]
    heights, slopes = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    meets = [(a - c) / (d - b) for (a, b), (c, d) in combinations(pairs, 2) if b != d]
    least = min(float((heights + slopes * x).max()) for x in meets)
    lines = Envelope(heights, slopes, np.array([3.0, 0.0, 0.0]))
    record = compiled_new_level_record(least - below)
    status = descend(lines, record, 5000, 1e-9)
    bound = record.numbers[BOUND]
    assert bound >= least - 1e-9
    assert bound == pytest.approx(least, rel=0, abs=1e-3)
    assert bound == pytest.approx(float((heights + slopes * lines.at[1]).max()), rel=0, abs=1e-12)
    assert record.numbers[ROUNDS] <= 5000
    assert status != CLOSED or bound <= least - below + 1e-9
    assert below == 0 or status != STUCK or record.numbers[DISTANCE] < 1e-9
