"""Which files a command reads and writes: none that it reads is written, and none by two outputs at once.

`dualign align a b -o b` would put links where the text was. The command line keeps its files inside
`kept_apart()`; elsewhere, as in a program that reads a file, changes it and writes it back, all is allowed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from dualign.core.errors import UsageError

File = tuple[int, int]
"""Device and inode: whatever links lead to a file, they are the same."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Files that were read; final names of what is being written, and the files there until then."""

    read: set[File | None] = field(default_factory=set)
    written: dict[str, File | None] = field(default_factory=dict)


_places: _Places | None = None


@contextmanager
def kept_apart() -> Iterator[None]:
    """Within it, a file that is read cannot be written, nor one by two outputs at once."""
    global _places
    before, _places = _places, _Places()
    try:
        yield
    finally:
        _places = before


@contextmanager
def in_place() -> Iterator[None]:
    """Within it, all is allowed: for a command that means to replace what it reads."""
    global _places
    before, _places = _places, None
    try:
        yield
    finally:
        _places = before


def reading(path: str, status: os.stat_result) -> None:
    """A file is being read."""
    if _places is not None and stat.S_ISREG(status.st_mode):
        file = status.st_dev, status.st_ino
        if file in _places.written.values():
            raise _lost(path)
        _places.read.add(file)


def writing(path: str, final: str) -> None:
    """A regular file, `path` after all links are followed, will be written; `written` says when it is."""
    if _places is None:
        return
    replaced = _file(final)
    if replaced in _places.read:
        raise _lost(path)
    if final in _places.written:
        raise UsageError(f"two outputs have the same place, {path}; give each its own")
    _places.written[final] = replaced


def written(final: str) -> None:
    """It is in its place; what it has replaced is gone, and its number may come again."""
    if _places is not None:
        _places.written.pop(final, None)


def _file(path: str) -> File | None:
    with suppress(OSError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def _lost(path: str) -> UsageError:
    return UsageError(f"{path} is both read and written, and would be lost; name another output")


def refuse_inputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """The same refusal before the work, for a command that knows its files."""
    for output in outputs:
        for other in inputs:
            if output is not None and other is not None and _same_file(output, other):
                raise _lost(output)


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other) and os.path.isfile(other)
    except (OSError, ValueError):
        return False
