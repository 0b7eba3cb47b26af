"""Room for large arrays: in memory while a budget lasts, in scratch files beyond it.

An array that is walked through from one end to the other can lie in a file, mapped into memory: the system
keeps of it what fits. Where an array lies changes the time, never a bit of what is computed. A scratch file
has no name from the moment it is opened, so that it vanishes with the process, however that ends.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import tempfile
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dualign.core.arrays import Array
from dualign.core.errors import DataError, UsageError

OWN = 250 << 20
"""What the program takes by itself: Python, its libraries, compiled kernels."""

SHARE = 0.7
"""Of the memory there is, what is used unless a budget is given."""

SMALL = 1 << 20
"""Smaller arrays are always in memory."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)


def as_bytes(size: str) -> int:
    """A size such as `4G`, `500M` or `1.5GiB` in bytes; units are powers of 1024."""
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f"{size!r} is not a size; write it as 4G or 500M")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def in_words(size: float) -> str:
    """A number of bytes for people to read."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def machine_memory() -> int:
    """Bytes that this process may use: what the machine has, or its control group allows."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for place in _group_limits():
        with suppress(OSError, ValueError):
            most = min(most, int(place.read_text()))  # the newer kind says `max` for no limit
    return most


def _group_limits() -> list[Path]:
    """Files with the memory limits of the control groups that we are in, of both kinds."""
    root = Path("/sys/fs/cgroup")
    places = []
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kinds, group = line.split(":", 2)
            if kinds == "":
                base, name = root, "memory.max"
            elif "memory" in kinds.split(","):
                base, name = root / "memory", "memory.limit_in_bytes"
            else:
                continue
            inside = base / group.lstrip("/")
            # In a container the group's own folder may be the root of what is mounted.
            places += [folder / name for folder in (inside, *inside.parents) if folder.is_relative_to(base)]
    return places


class Workspace:
    """Hands out arrays. `memory`: the budget of the whole program in bytes; `folder`: for scratch files."""

    def __init__(self, memory: int | None = None, folder: str | None = None) -> None:
        self.memory = int(SHARE * machine_memory()) if memory is None else memory
        self.folder = _scratch_folder() if folder is None else folder
        self.used = 0
        """Bytes of the arrays in memory that it has handed out and that are still there."""
        self.on_disk = 0
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        """Bytes of the budget that are not taken."""
        return max(0, self.memory - OWN - self.used)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, hot: bool = False) -> Array:
        """An array with no particular content.

        A `hot` one is read or written in no order, and always in memory; all others together take at most
        half of the budget there.
        """
        size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
        with self._lock:
            mapped = size > SMALL and not hot and self.used + size > (self.memory - OWN) // 2
            if mapped:
                self.on_disk += size
            else:
                self.used += size
        if mapped:
            base: Array = np.frombuffer(self._map(size), np.uint8)
        else:
            base = np.empty(size, np.uint8)
        weakref.finalize(base, self._give_back, size, mapped)
        return base.view(dtype).reshape(shape)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, hot: bool = False) -> Array:
        """An array of zeros."""
        array = self.empty(shape, dtype, hot=hot)
        array[...] = 0
        return array

    def at_once(self, wanted: int, size: int) -> int:
        """How many of the `wanted` pieces of work, each with arrays of `size` bytes, fit side by side."""
        return max(1, min(wanted, self.left // max(size, 1)))

    def _give_back(self, size: int, mapped: bool) -> None:
        with self._lock:
            if mapped:
                self.on_disk -= size
            else:
                self.used -= size

    def _map(self, size: int) -> mmap.mmap:
        """A new scratch file of this size, whose disk space is reserved."""
        try:
            with tempfile.TemporaryFile(prefix="dualign-", dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    os.truncate(file.fileno(), size)
                return mmap.mmap(file.fileno(), size)
        except OSError as error:
            raise DataError(
                f"{self.folder}: cannot hold a scratch file of {in_words(size)}: {error.strerror or error}; "
                "give another folder for scratch files, or a larger memory budget"
            ) from None

    def expect(self, size: int) -> None:
        """Raise a `DataError` if scratch files of this size in all would not fit on the disk."""
        status = os.statvfs(self.folder)
        free = status.f_bavail * status.f_frsize
        if size > free:
            raise DataError(
                f"{self.folder}: about {in_words(size)} of scratch files are needed, "
                f"{in_words(free)} are free; give another folder for scratch files, or a larger memory budget"
            )


def _scratch_folder() -> str:
    """Where scratch files go by default: /tmp is kept in memory on many systems, /var/tmp is not."""
    for folder in (os.environ.get("TMPDIR"), "/var/tmp"):
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK):
            return folder
    return tempfile.gettempdir()
