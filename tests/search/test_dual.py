"""The dual-record engine: its record, its steps, its stopping, on a dual small enough to see through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.search.dual import (
    BOUND,
    FACTOR,
    FAILURES,
    ROUNDS,
    SCORE,
    decaying_step,
    new_record,
    observe,
    polyak_step,
    run,
    settled,
    trace_of,
)

pytestmark = pytest.mark.kernel

values = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


@given(bounds=values, scores=values)
def test_the_record_is_that_of_the_best(bounds, scores):
    rounds = min(len(bounds), len(scores))
    record = new_record(rounds)
    for t in range(rounds):
        before = record.numbers[BOUND]
        better = observe(record, bounds[t], scores[t], 3, 0.5)
        assert not better or bounds[t] < before
    assert record.numbers[BOUND] == min(bounds[:rounds])
    assert record.numbers[SCORE] == max(scores[:rounds])
    assert record.numbers[ROUNDS] == rounds
    assert trace_of(record) == tuple((min(bounds[: t + 1]), max(scores[: t + 1])) for t in range(rounds))


def test_the_trace_stops_where_its_room_ends():
    record = new_record(2)
    for bound in (3.0, 2.0, 1.0):
        observe(record, bound, 0.0, 3, 0.5)
    assert trace_of(record) == ((3.0, 0.0), (2.0, 0.0))
    assert record.numbers[BOUND] == 1.0
    assert trace_of(new_record()) == ()


def test_the_factor_shrinks_only_when_the_bound_stalls():
    record = new_record()
    for bound in (5.0, 4.0, 4.0, 4.5):
        observe(record, bound, 0.0, 3, 0.5)
    assert record.numbers[FACTOR] == 1.0
    observe(record, 4.0 - 1e-12, 0.0, 3, 0.5)  # no progress to speak of
    assert record.numbers[FACTOR] == 0.5
    for bound in (3.0, 3.0, 3.0):
        observe(record, bound, 0.0, 3, 0.5)
    assert record.numbers[FACTOR] == 0.5
    assert record.numbers[FAILURES] == 5


def test_steps_are_as_long_as_the_rules_say():
    record = new_record()
    assert polyak_step(record, 10.0, 4.0, 2.0) == 2.0
    assert polyak_step(record, 1.0, 4.0, 2.0) == 0.0
    record.numbers[FACTOR] = 0.25
    assert polyak_step(record, 10.0, 4.0, 2.0) == 0.5
    assert decaying_step(record, 0.95) == 1.0
    record.numbers[FAILURES] = 2
    assert decaying_step(record, 0.95) == pytest.approx(0.9025)


def test_a_search_is_settled_when_bound_and_score_have_met():
    assert not settled(new_record(), 1e-6)
    assert not settled(new_record(0, 1.0, 1.1), 1e-6)
    assert settled(new_record(0, 1.0, 1.1), 0.2)
    assert settled(new_record(0, 1.0, 1.0), 0.0)


@pytest.mark.parametrize("rule", ["polyak", "decaying"])
def test_both_rules_find_the_least_of_a_dual(rule):
    # Three affine pieces in two multipliers, of mean 1 everywhere: the maximum is least where they meet.
    slopes = np.array([[1.0, 0.5], [-1.0, 0.5], [0.0, -1.0]])
    offsets = np.array([1.5, 0.5, 1.0])
    record, point = new_record(2000, score=1.0), np.zeros(2)
    for _ in range(2000):
        pieces = slopes @ point + offsets
        g = slopes[pieces.argmax()]
        observe(record, pieces.max(), 1.0, 5, 0.9)
        step = (
            polyak_step(record, pieces.max(), g @ g, 1.0) if rule == "polyak" else decaying_step(record, 0.99)
        )
        point -= step * g
    assert record.numbers[BOUND] == pytest.approx(1.0, abs=1e-3)
    bounds = [bound for bound, _ in trace_of(record)]
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds) >= 1.0


def test_a_run_ends_by_itself_or_after_its_rounds_or_in_time():
    asked = []

    def advance(rounds: int) -> int:
        asked.append(rounds)
        for _ in range(rounds):
            observe(record, 1.0, 0.0, 3, 0.5)
        return 7 if len(asked) == ends else 0

    record, ends = new_record(), 0
    assert run(advance, record, 10, 4, np.inf) == 0
    assert asked == [4, 4, 2]
    record, ends, asked = new_record(), 2, []
    assert run(advance, record, 10, 4, np.inf) == 7
    assert asked == [4, 4]
    record, ends, asked = new_record(), 0, []
    assert run(advance, record, 10, 4, -np.inf) == 0
    assert asked == [4]
