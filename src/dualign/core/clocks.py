"""Time: how long something took, and how much of a limit is left. The only place that reads the clock."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from numbers import Real
from time import perf_counter, process_time, thread_time
from typing import TypeVar

from dualign.core.errors import UsageError

R = TypeVar("R")

FOREVER = 1e9
"""Seconds, some thirty years: a limit of as many is none, for threads cannot wait that much longer."""


class Clock:
    """Runs from the moment it is made; with a limit in seconds, below `FOREVER`, it also runs out."""

    __slots__ = ("began", "limit")

    def __init__(self, limit: float | None = None) -> None:
        self.began = perf_counter()
        self.limit = None if limit is None or limit >= FOREVER else limit

    @property
    def seconds(self) -> float:
        """Since the start."""
        return perf_counter() - self.began

    @property
    def left(self) -> float:
        """Seconds that remain, below 0 once the limit has passed; infinite without a limit."""
        return inf if self.limit is None else self.limit - self.seconds

    @property
    def is_over(self) -> bool:
        """Whether the limit has passed."""
        return self.limit is not None and self.left <= 0

    def restart(self) -> float:
        """Seconds since the start; from now on the clock counts anew."""
        seconds = self.seconds
        self.began += seconds
        return seconds


class Pace:
    """How many rounds of some work, all of about the same length, fit into what is left of a limit.

    Without a limit it is always the same number. With one, the first round is taken alone: in any case, or if
    it fits, where `each` says how long one may take. Later ones fill half of the time left, so that they may
    be twice as long as those before without running past the limit. When there is no time for another, the
    clock is over.
    """

    __slots__ = ("chunk", "clock", "each", "measured")

    def __init__(self, clock: Clock, chunk: int) -> None:
        self.clock, self.chunk = clock, chunk
        self.each, self.measured = 0.0, False

    def take(self, work: Callable[[int], tuple[R, int]], most: int) -> R | None:
        """What `work(rounds)` returns, with the number of rounds that it took; None if there is no time."""
        if self.clock.limit is None:
            return work(min(self.chunk, most))[0]
        fitting = self.clock.left / self.each if self.each > 0 else 1.0
        if fitting < 1:
            self.clock.limit = min(self.clock.limit, self.clock.seconds)
            return None
        began = self.clock.seconds
        result, taken = work(min(self.chunk, most, max(1, int(fitting / 2))) if self.measured else 1)
        self.each, self.measured = (self.clock.seconds - began) / max(taken, 1), True
        return result


def in_words(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s` or `2 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def processor_seconds() -> float:
    """Processor time that the calling thread has used."""
    return thread_time()


def all_processor_seconds() -> float:
    """Processor time that all threads of this process have used."""
    return process_time()


def check_time_limit(time_limit: float | None) -> None:
    """Refuse a limit that is not a number of seconds over 0; None and infinity stand for no limit."""
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise UsageError("{time_limit=} must be a number of seconds over 0, or None", time_limit=time_limit)
