"""Who wants to know what is being compiled: it takes seconds, in which nothing else happens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[int, int, str], None]
"""Called as `tell(done, expected, name)` when the compilation of a function begins, `done` after others;
`expected` is about how many there will be in all, or 0 if nobody knows."""

_watchers: list[Tell] = []
_counts = {"done": 0, "expected": 0}


@contextmanager
def watched(tell: Tell) -> Iterator[None]:
    """Tell about functions that are compiled meanwhile."""
    _watchers.append(tell)
    try:
        yield
    finally:
        _watchers.remove(tell)


@contextmanager
def expecting(functions: int) -> Iterator[None]:
    """Meanwhile, about this many functions will be compiled."""
    _counts.update(done=0, expected=functions)
    try:
        yield
    finally:
        _counts.update(done=0, expected=0)


def announce(name: str) -> None:
    """Say that a function is being compiled, here or by another process."""
    for tell in _watchers:
        tell(_counts["done"], _counts["expected"], name)
    _counts["done"] += 1
