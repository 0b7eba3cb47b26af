"""`Run`: how a job runs, whatever it does, and who hears about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dualign.core.errors import UsageError

if TYPE_CHECKING:
    from dualign.learn.training import Progress

Item = TypeVar("Item")


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Run:
    """Settings that every job has. The last three are functions to call, and do nothing unless given."""

    threads: int | None = None
    """Threads to compute with, all processors if None; the result is the same."""
    errors: str = "strict"
    """Bytes that are not UTF-8: `strict` refuses them, `replace` reads U+FFFD."""
    note: Callable[[str], None] = _ignore
    """Called with a sentence that a person may want to read."""
    progress: Callable[[int, str], None] = _ignore
    """Called as `progress(done, what)` when so many lines are done, with 0 when the work begins."""
    round: Callable[[Progress], None] = _ignore
    """Called after each round of training."""

    def counted(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Pass `items` on, and report how many are done."""
        self.progress(0, what)
        for number, item in enumerate(items, 1):
            yield item
            self.progress(number, what)


SILENT = Run()
"""The usual settings, and nobody who hears anything."""


def one_standard_input(*paths: str | None) -> None:
    """Refuse to read two files from standard input."""
    if paths.count("-") > 1:
        raise UsageError("only one file can be standard input (-); name the others")


def separate_outputs(*paths: str | None) -> None:
    """Refuse to write two outputs to one place."""
    given = [path for path in paths if path is not None]
    places = [path if path == "-" else os.path.realpath(path) for path in given]
    for path, place in zip(given, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"two outputs have the same place, {path}; give each its own")
