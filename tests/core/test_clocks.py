"""Clocks run, run out, and start again."""

from __future__ import annotations

from math import inf, nan

import pytest

from dualign import UsageError
from dualign.core import clocks
from dualign.core.clocks import Clock, check_time_limit


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


@pytest.mark.parametrize("limit", [0, -1.0, nan])
def test_a_limit_must_be_over_0(limit):
    with pytest.raises(UsageError, match="time_limit="):
        check_time_limit(limit)
    check_time_limit(None)
    check_time_limit(0.1)
