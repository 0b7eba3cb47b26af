"""The dual loop: its record, its steps, its stopping, on duals small enough to enumerate."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign._search.dual import (
    BOUND,
    CLOSED,
    FACTOR,
    MET,
    NEVER,
    OPEN,
    ROUNDS,
    SCORE,
    STUCK,
    StepRule,
    descent,
    new_record,
    observe,
    polyak_step,
    run,
    trace_of,
)

compiled_observe = kernel(observe)
compiled_polyak_step = kernel(polyak_step)

pytestmark = pytest.mark.kernel

values = st.lists(st.floats(-100, 100), min_size=1, max_size=30)


@given(bounds=values, scores=values)
def test_the_record_is_that_of_the_best(bounds, scores):
    rounds = min(len(bounds), len(scores))
    record = new_record(rounds)
    for t in range(rounds):
        before = record.numbers[BOUND]
        better = compiled_observe(record, bounds[t], scores[t], 3, 0.5)
        assert not better or bounds[t] < before
    assert record.numbers[BOUND] == min(bounds[:rounds])
    assert record.numbers[SCORE] == max(scores[:rounds])
    assert record.numbers[ROUNDS] == rounds
    assert trace_of(record) == tuple((min(bounds[: t + 1]), max(scores[: t + 1])) for t in range(rounds))


def test_the_trace_stops_where_its_room_ends():
    record = new_record(2)
    for bound in (3.0, 2.0, 1.0):
        compiled_observe(record, bound, 0.0, 3, 0.5)
    assert trace_of(record) == ((3.0, 0.0), (2.0, 0.0))
    assert record.numbers[BOUND] == 1.0
    assert trace_of(new_record()) == ()


def test_the_factor_shrinks_only_when_the_bound_stalls():
    record = new_record()
    for bound in (5.0, 4.0, 4.0, 4.5):
        compiled_observe(record, bound, 0.0, 3, 0.5)
    assert record.numbers[FACTOR] == 1.0
    compiled_observe(record, 4.0 - 1e-12, 0.0, 3, 0.5)  # too little to count as progress
    assert record.numbers[FACTOR] == 0.5
    for bound in (3.0, 3.0, 3.0):
        compiled_observe(record, bound, 0.0, 3, 0.5)
    assert record.numbers[FACTOR] == 0.5


def test_steps_are_as_long_as_polyak_says():
    record = new_record()
    assert compiled_polyak_step(record, 10.0, 4.0, 2.0) == 2.0
    assert compiled_polyak_step(record, 1.0, 4.0, 2.0) == 0.0
    record.numbers[FACTOR] = 0.25
    assert compiled_polyak_step(record, 10.0, 4.0, 2.0) == 0.5


class Choice(NamedTuple):
    """Choose x ∈ {0, 1}^n to maximise `worth · x` with one constraint, `weight · x ≤ room`, which is relaxed.

    `state` float64 (4): λ, the subgradient, the best score, the best λ so far.
    """

    worth: np.ndarray
    weight: np.ndarray
    room: float
    state: np.ndarray


@part
def evaluate(choice):
    if choice.room < 0:
        return NEVER, 0.0
    value, left = choice.state[0] * choice.room, choice.room
    for k in range(len(choice.worth)):
        gain = choice.worth[k] - choice.state[0] * choice.weight[k]
        if gain > 0:
            value += gain
            left -= choice.weight[k]
    choice.state[1] = left
    # At λ = 0 a constraint that is not tight has no direction to move in.
    return value, 0.0 if choice.state[0] == 0 and left >= 0 else left * left


@part
def improve(choice, record, t, norm):
    if choice.state[1] >= 0:
        score = 0.0
        for k in range(len(choice.worth)):
            if choice.worth[k] - choice.state[0] * choice.weight[k] > 0:
                score += choice.worth[k]
        choice.state[2] = max(choice.state[2], score)
    return choice.state[2]


@part
def move(choice, step):
    choice.state[0] = max(0.0, choice.state[0] - step * choice.state[1])


@part
def keep(choice):
    choice.state[3] = choice.state[0]


@part
def go_back(choice):
    choice.state[0] = choice.state[3]
    return True


descend = descent(evaluate, improve, move, StepRule(3, 0.7))
descend_and_return = descent(evaluate, improve, move, StepRule(3, 0.7, 0.1), keep=keep, restore=go_back)


def choice_of(worth: list[int], weight: list[int], room: float) -> Choice:
    n = min(len(worth), len(weight))
    return Choice(
        np.array(worth[:n], float), np.array(weight[:n], float), float(room), np.array([0, 0, NEVER, 0.0])
    )


def optimum(choice: Choice) -> float:
    sets = (np.array(x) for x in product((0, 1), repeat=len(choice.worth)))
    return max(choice.worth @ x for x in sets if choice.weight @ x <= choice.room)


whole = st.lists(st.integers(1, 9), min_size=1, max_size=7)


@given(worth=whole, weight=whole, room=st.integers(0, 20), returning=st.booleans())
def test_every_round_bounds_the_optimum_and_no_score_exceeds_it(worth, weight, room, returning):
    choice, record = choice_of(worth, weight, room), new_record(200)
    best = optimum(choice)
    status = (descend_and_return if returning else descend)(choice, record, 200, 1e-9)
    trace = trace_of(record)
    assert len(trace) > 0
    assert all(bound >= best - 1e-9 for bound, _ in trace)
    assert all(score <= best + 1e-9 for _, score in trace)
    assert [bound for bound, _ in trace] == sorted((bound for bound, _ in trace), reverse=True)
    if status == CLOSED:
        assert choice.state[2] == pytest.approx(best)
    assert status != STUCK or returning
    assert status in (OPEN, CLOSED, MET, STUCK)


def test_a_dual_without_a_gap_is_closed():
    choice, record = choice_of([5, 4, 3], [1, 1, 1], 2), new_record()
    assert descend(choice, record, 500, 1e-6) == CLOSED
    assert record.numbers[BOUND] == pytest.approx(9.0, abs=1e-6)
    assert choice.state[2] == 9.0


def test_rounds_end_where_nothing_is_possible_and_where_steps_become_too_short():
    record = new_record(0, score=1.0)
    assert descend(choice_of([1], [1], -1), record, 10, 1e-6) == CLOSED
    assert record.numbers[BOUND] == 1.0
    # Weights 3 and 3 in room for 4: the dual cannot get below 5 + 4/3.
    choice, record = choice_of([5, 4], [3, 3], 4), new_record()
    assert descend_and_return(choice, record, 1000, 1e-9) == STUCK
    assert record.numbers[FACTOR] < 0.1
    assert choice.state[0] == choice.state[3]


def test_a_run_ends_by_itself_or_after_its_rounds_or_in_time():
    asked = []

    def advance(rounds: int) -> int:
        asked.append(rounds)
        for _ in range(rounds):
            compiled_observe(record, 1.0, 0.0, 3, 0.5)
        return MET if len(asked) == ends else OPEN

    record, ends = new_record(), 0
    assert run(advance, record, 10, 4, Clock()) == OPEN
    assert asked == [4, 4, 2]
    record, ends, asked = new_record(), 2, []
    assert run(advance, record, 10, 4, Clock()) == MET
    assert asked == [4, 4]
    record, ends, asked = new_record(), 0, []
    assert run(advance, record, 10, 4, Clock(0.0)) == OPEN
    assert asked == [1]
