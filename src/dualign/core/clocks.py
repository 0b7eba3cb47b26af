"""Time: how long something took, and how much of a limit is left. The only place that reads the clock."""

from __future__ import annotations

from math import inf
from time import perf_counter, process_time, thread_time

from dualign.core.errors import UsageError


class Clock:
    """Runs from the moment it is made; with a limit in seconds, it also runs out."""

    __slots__ = ("began", "limit")

    def __init__(self, limit: float | None = None) -> None:
        self.began = perf_counter()
        self.limit = limit

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


def processor_seconds() -> float:
    """Processor time that the calling thread has used."""
    return thread_time()


def all_processor_seconds() -> float:
    """Processor time that all threads of this process have used."""
    return process_time()


def check_time_limit(time_limit: float | None) -> None:
    """Refuse a limit that is not a number of seconds over 0; None stands for no limit."""
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit={time_limit} must be a number of seconds over 0, or None")
