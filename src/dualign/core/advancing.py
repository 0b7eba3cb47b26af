"""How far a long step has come, told to whoever watches this process. Nothing happens where nobody does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Watcher(Protocol):
    """Hears, on the thread that does the work, what begins and how much of it is done."""

    def begin(self, stage: str, rounds: int) -> None:
        """A stage of `rounds` rounds begins, or goes on."""

    def advance(self, share: float) -> None:
        """So much of the present round, from 0 to 1, is done; or of the work, where it has no rounds."""


_watcher: Watcher | None = None
_unwatched = local()


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
    """Tell nobody what this thread does until the end of the block."""
    _unwatched.here = True
    try:
        yield
    finally:
        _unwatched.here = False


def _listener() -> Watcher | None:
    return None if getattr(_unwatched, "here", False) else _watcher


def begin(stage: str, rounds: int) -> None:
    """A stage of `rounds` rounds begins."""
    if (watcher := _listener()) is not None:
        watcher.begin(stage, rounds)


def advance(share: float) -> None:
    """So much is done."""
    if (watcher := _listener()) is not None:
        watcher.advance(min(share, 1.0))


def advancing(items: Iterable[Item], total: int) -> Iterator[Item]:
    """Pass items on, and tell after each how many of them are done."""
    for number, item in enumerate(items, 1):
        yield item
        advance(number / total)
