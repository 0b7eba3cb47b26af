"""Clocks run, run out, and start again."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from dualign import UsageError
from dualign._core import progress as clocks
from dualign._core.progress import Alarm, Clock, Pace, check_time_limit


@pytest.fixture
def time(monkeypatch):
    """A list whose one number is the time."""
    now = [100.0]
    monkeypatch.setattr(clocks, "perf_counter", lambda: now[0])
    return now


def test_a_clock_counts_from_its_start_and_runs_out(time):
    clock = Clock(5.0)
    time[0] += 3
    assert (clock.seconds, clock.left, clock.is_over) == (3.0, 2.0, False)
    time[0] += 2
    assert clock.is_over
    time[0] += 1
    assert clock.left == -1.0


def test_a_clock_without_a_limit_never_runs_out(time):
    clock = Clock()
    time[0] += 1e9
    assert clock.left == inf
    assert not clock.is_over


def test_a_clock_that_starts_again_counts_from_there(time):
    clock = Clock(5.0)
    time[0] += 4
    assert clock.restart() == 4.0
    time[0] += 3
    assert clock.seconds == 3.0
    assert not clock.is_over


@pytest.mark.parametrize("limit", [inf, 1e10, np.float32(1e30), 10**400])
def test_a_limit_of_more_than_a_life_is_none(limit):
    check_time_limit(limit)
    clock = Clock(limit)
    assert clock.left == inf
    with Alarm(clock).set() as alarm:
        assert not alarm.flag.any()


@pytest.mark.parametrize("limit", [0, -1.0, nan, "1", [1.0], 1j])
def test_a_limit_must_be_over_0(limit):
    with pytest.raises(UsageError, match="time_limit="):
        check_time_limit(limit)
    check_time_limit(None)
    check_time_limit(0.1)


def rounds_taken(time, limit, seconds_of, guess=0.0):
    """The rounds that a pace asks for, one call after the other; round n takes `seconds_of(n)`."""
    pace, taken = Pace(Clock(limit), 25), []
    pace.each = guess

    while (rounds := pace.rounds(25)) is not None and sum(taken) < 1000:
        for number in range(sum(taken), sum(taken) + rounds):
            time[0] += seconds_of(number)
        taken.append(rounds)
        pace.done(rounds)
    return taken


def test_rounds_that_slow_down_to_half_their_pace_end_in_time(time):
    began = time[0]
    taken = rounds_taken(time, 1.0, lambda n: 0.01 if n < 10 else 0.02)
    assert taken[0] == 1
    assert 0.9 < time[0] - began <= 1.0


def test_a_guess_of_the_pace_is_used_for_one_round_only(time):
    began = time[0]
    taken = rounds_taken(time, 1.0, lambda _: 0.1, guess=0.001)
    assert taken[:2] == [1, 4]
    assert time[0] - began <= 1.0 + 1e-9
    assert rounds_taken(time, 1.0, lambda _: 0.1, guess=2.0) == []


def test_without_a_limit_each_call_takes_as_many_rounds(time):
    assert rounds_taken(time, None, lambda n: 0.1 * n) == [25] * 40
