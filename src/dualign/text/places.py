"""Which files a command reads and writes: none that it has read is written, and none is written twice.

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

__all__ = ["kept_apart", "reading", "refuse_inputs", "writing"]


@dataclass(frozen=True, slots=True)
class _Places:
    """Files that were read, by device and inode (links lead to the same one), and final names written."""

    read: set[tuple[int, int]] = field(default_factory=set)
    written: set[str] = field(default_factory=set)


_places: _Places | None = None


@contextmanager
def kept_apart() -> Iterator[None]:
    """Within it, a file that was read cannot be written, nor one that was written."""
    global _places
    before, _places = _places, _Places()
    try:
        yield
    finally:
        _places = before


def reading(status: os.stat_result) -> None:
    """A file is being read."""
    if _places is not None and stat.S_ISREG(status.st_mode):
        _places.read.add((status.st_dev, status.st_ino))


def writing(path: str, final: str) -> None:
    """A regular file, `path` after all links are followed, is about to be written."""
    if _places is None:
        return
    with suppress(FileNotFoundError):
        status = os.stat(final)
        if (status.st_dev, status.st_ino) in _places.read:
            raise UsageError(f"{path} is read by the same command and would be lost; name another output")
    if final in _places.written:
        raise UsageError(f"two outputs have the same place, {path}; give each its own")
    _places.written.add(final)


def refuse_inputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """The same refusal before the work, for a command that knows its files."""
    for output in outputs:
        for other in inputs:
            if output is not None and other is not None and _same_file(output, other):
                raise UsageError(f"{output} is an input, too, and would be lost; name another output")


def _same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other) and os.path.isfile(other)
    except (OSError, ValueError):
        return False
