"""Time: how long something took, and how much of a limit is left. The only place that reads the clock."""

from __future__ import annotations

from math import inf
from threading import Timer
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING

from dualign.core.errors import UsageError

if TYPE_CHECKING:
    from dualign.core.arrays import Array


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


class Alarm:
    """`flag`, an int64 array of one element: 0 until the clock's limit passes. Kernels can look at it.

    It rings only once it is `set`: that takes a thread, too much for what is over in milliseconds.
    """

    def __init__(self, clock: Clock) -> None:
        import numpy as np

        self.flag: Array = np.zeros(1, np.int64)
        self._clock = clock
        self._timer: Timer | None = None

    def set(self) -> None:
        """Ring at the limit, if there is one."""
        if self._timer is None and self._clock.limit is not None:
            self._timer = Timer(max(self._clock.left, 0.0), self.flag.__setitem__, (0, 1))
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Alarm:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


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
