"""Time and progress: clocks, how far a long step has come, and where the processor time goes.

This is the only module that reads the clock. What is going on is told to whoever watches this process; phases
are measured, over all threads, where `measuring()` is in force. Otherwise both cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from numbers import Real
from threading import Lock, Timer, local
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING, TypeVar

from dualign._core.errors import UsageError

if TYPE_CHECKING:
    from dualign._core.arrays import Array

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


def never() -> Array:
    """Return a flag that is not raised."""
    from numpy import uint8, zeros

    return zeros(1, uint8)


class Alarm:
    """`flag`, uint8 (1), is 1 once the limit of a clock has passed, for kernels, which cannot read clocks.

    A kernel looks at it now and then, and ends early with what it has. It is raised only after `set`: that
    takes a thread, too much for what is over in milliseconds.
    """

    def __init__(self, clock: Clock) -> None:
        self.flag = never()
        self._clock = clock
        self._timer: Timer | None = None

    def set(self) -> Alarm:
        """Raise the flag at the limit, if there is one."""
        if self._timer is None and self._clock.limit is not None:
            self._timer = Timer(max(0.0, self._clock.left), self.flag.fill, (1,))
            self._timer.daemon = True
            self._timer.start()
        return self

    def __enter__(self) -> Alarm:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Pace:
    """How many rounds of some work, all of about the same length, fit into what is left of a limit.

    Without a limit it is always the same number. With one, the first round is taken alone: in any case, or if
    it fits, where `each` says how long one may take. Later ones fill half of the time left, so that they may
    be twice as long as those before without running past the limit. When there is no time for another, the
    clock is over.
    """

    __slots__ = ("began", "chunk", "clock", "each", "measured")

    def __init__(self, clock: Clock, chunk: int) -> None:
        self.clock, self.chunk = clock, chunk
        self.each, self.began, self.measured = 0.0, 0.0, False

    def rounds(self, most: int) -> int | None:
        """How many to do now, at most that many; None if there is no time for another."""
        if self.clock.limit is None:
            return min(self.chunk, most)
        fitting = self.clock.left / self.each if self.each > 0 else 1.0
        if fitting < 1:
            self.clock.limit = min(self.clock.limit, self.clock.seconds)
            return None
        self.began = self.clock.seconds
        return min(self.chunk, most, max(1, int(fitting / 2))) if self.measured else 1

    def done(self, rounds: int) -> None:
        """Take note of the time that so many rounds have taken."""
        if self.clock.limit is not None:
            self.each, self.measured = (self.clock.seconds - self.began) / max(rounds, 1), True


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


class Watcher:
    """Hears what begins and how much of it is done, on the thread that does it, and what is compiled."""

    def begin(self, stage: str, rounds: int) -> None:
        """A stage of `rounds` rounds begins, or goes on."""

    def advance(self, share: float) -> None:
        """So much of the present round, from 0 to 1, is done; or of the work, where it has no rounds."""

    def compiling(self, done: int, expected: int, name: str) -> None:
        """The compilation of a function begins, `done` after others: seconds in which nothing else happens.

        `expected` is about how many there will be in all, or 0 if nobody knows.
        """


_watcher = _nobody = Watcher()
_unwatched = local()
_compiled = {"done": 0, "expected": 0}


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell the watcher until the end of the block."""
    global _watcher
    before, _watcher = _watcher, watcher
    try:
        yield
    finally:
        _watcher = before


@contextmanager
def unwatched() -> Iterator[None]:
    """Tell nobody what this thread does, but for what it compiles, until the end of the block."""
    _unwatched.here = True
    try:
        yield
    finally:
        _unwatched.here = False


def _listener() -> Watcher:
    return _nobody if getattr(_unwatched, "here", False) else _watcher


def begin(stage: str, rounds: int) -> None:
    """A stage of `rounds` rounds begins."""
    _listener().begin(stage, rounds)


def advance(share: float) -> None:
    """So much is done."""
    _listener().advance(min(share, 1.0))


@contextmanager
def expecting(functions: int) -> Iterator[None]:
    """Meanwhile, about this many functions will be compiled."""
    _compiled.update(done=0, expected=functions)
    try:
        yield
    finally:
        _compiled.update(done=0, expected=0)


def announce(name: str) -> None:
    """Say that a function is being compiled, here or by another process."""
    _watcher.compiling(_compiled["done"], _compiled["expected"], name)
    _compiled["done"] += 1


@dataclass(slots=True)
class Phase:
    """Seconds by the clock, added up over threads, and of processor time; and the number of calls."""

    seconds: float = 0.0
    processor: float = 0.0
    calls: int = 0


class Phases(dict[str, Phase]):
    """The phases that have been measured, by name, in the order in which they first ended."""

    def add(self, name: str, seconds: float, processor: float) -> None:
        """Count a call."""
        with _adding:
            phase = self.setdefault(name, Phase())
            phase.seconds += seconds
            phase.processor += processor
            phase.calls += 1


_adding = Lock()
_active: Phases | None = None
_inside = local()


@contextmanager
def measuring() -> Iterator[Phases]:
    """Measure all phases of this process, in all its threads, until the end of the block."""
    global _active
    before, _active = _active, Phases()
    try:
        yield _active
    finally:
        _active = before


@contextmanager
def phase(name: str) -> Iterator[None]:
    """A part of the work, on this thread alone. Of phases within each other only the outermost counts."""
    phases = _active
    if phases is None or getattr(_inside, "a_phase", False):
        yield
        return
    clock, used = Clock(), processor_seconds()
    _inside.a_phase = True
    try:
        yield
    finally:
        _inside.a_phase = False
        phases.add(name, clock.seconds, processor_seconds() - used)


@contextmanager
def unmeasured() -> Iterator[None]:
    """Phases of this thread do not count."""
    _inside.a_phase = True
    try:
        yield
    finally:
        _inside.a_phase = False


def timed(name: str, function: Callable[..., R]) -> Callable[..., R]:
    """The function as a phase: itself, if nothing is measured."""
    return function if _active is None else partial(_timed, name, function)


def _timed(name: str, function: Callable[..., R], *args: object) -> R:
    with phase(name):
        return function(*args)
