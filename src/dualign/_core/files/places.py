"""Which files a command reads and writes: it must not write what it reads, nor one file by two outputs.

`dualign align a b -o b` would replace the text by links. Jobs open their files inside `kept_apart()`; other
programs may read a file, change it and write it back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import product

from dualign._core.errors import UsageError

File = tuple[int, int]
"""Device and inode, which are the same for all links to a file."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Files that were read; final names of what is being written, and the files there until then."""

    read: set[File | None] = field(default_factory=set)
    written: dict[str, File | None] = field(default_factory=dict)


# Of this thread: jobs may run at the same time, and each reads and writes its files on its caller's thread.
_current: ContextVar[_Places | None] = ContextVar("_current", default=None)


@contextmanager
def kept_apart(apart: bool = True) -> Iterator[None]:
    """Inside, a file that is read cannot be written, nor one file by two outputs at once.

    A block inside another knows what was read there.
    """
    before = _current.set((_current.get() or _Places()) if apart else None)
    try:
        yield
    finally:
        _current.reset(before)


def in_place() -> AbstractContextManager[None]:
    """Inside, everything is allowed: for a command that is meant to replace what it reads."""
    return kept_apart(apart=False)


def reading(path: str, status: os.stat_result) -> None:
    """A file is being read."""
    if (places := _current.get()) is not None and stat.S_ISREG(status.st_mode):
        file = status.st_dev, status.st_ino
        if file in places.written.values():
            raise _lost(path)
        places.read.add(file)


def writing(path: str, final: str) -> None:
    """A regular file, `path` with all links followed, will be written; `written` is called when it is."""
    places = _current.get()
    if places is None:
        return
    replaced = _file(final)
    if replaced in places.read:
        raise _lost(path)
    if final in places.written:
        raise UsageError(f"two outputs are written to the same place, {path}; give each its own")
    places.written[final] = replaced


def written(final: str) -> None:
    """The file is in place; the inode of the one it has replaced may be used again."""
    if (places := _current.get()) is not None:
        places.written.pop(final, None)


def _file(path: str) -> File | None:
    with suppress(OSError, ValueError):  # the latter of a name that no file can have
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def _lost(path: str) -> UsageError:
    return UsageError(f"{path} is both read and written, and would be lost; name another output")


def refuse_inputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """The same check before the work, for a command that knows its files; some may have been read already."""
    places = _current.get()
    for output in filter(None, outputs):
        if places is not None and _file(output) in places.read:
            raise _lost(output)
    for output, other in product(filter(None, outputs), filter(None, inputs)):
        same = False
        with suppress(OSError, ValueError):
            same = os.path.samefile(output, other) and os.path.isfile(other)
        if same:
            raise _lost(output)
