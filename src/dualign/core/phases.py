"""Where the time goes: processor time by phase of the work, over all threads.

Nothing is measured, and calls cost nothing, unless `measuring()` is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, local
from typing import TypeVar

from dualign.core.clocks import Clock, processor_seconds

R = TypeVar("R")


@dataclass(slots=True)
class Phase:
    """Seconds by the clock, added up over threads, and of processor time; and the number of calls."""

    seconds: float = 0.0
    processor: float = 0.0
    calls: int = 0


@dataclass(slots=True)
class Phases:
    """The phases that have been measured, in the order in which they first ended."""

    by_name: dict[str, Phase] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def add(self, name: str, seconds: float, processor: float) -> None:
        """Count a call."""
        with self._lock:
            phase = self.by_name.setdefault(name, Phase())
            phase.seconds += seconds
            phase.processor += processor
            phase.calls += 1


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
