"""Room for large arrays: in memory while a budget lasts, in scratch files beyond it.

An array that is walked through from one end to the other can lie in a file, mapped into memory: the system
keeps of it what fits. Where an array lies changes the time, never a bit of what is computed. A scratch file
has no name from the moment it is opened, so that it vanishes with the process, however that ends.
"""

from __future__ import annotations

import ctypes
import errno
import math
import mmap
import os
import re
import shutil
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from fractions import Fraction
from functools import cache
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.threads import ordered_map

OWN = 240 << 20
"""What the program takes by itself: Python, its libraries, compiled kernels."""

PER_THREAD = 5 << 20
"""What a thread takes: a tally of its own, scratch of its chains, what the allocator keeps for it."""

SHARE = 0.7
"""Of the memory there is, what is used unless a budget is given."""

SMALL = 1 << 20
"""Smaller arrays are always in memory."""

SEGMENT = 1 << 22
"""Most elements of a piece of an array that grows, unless more are asked for at once."""

COPIERS = 4
"""Most threads that join such pieces: memory has no room for more, and the pieces they hold take some."""

REMEDY = "give another folder for scratch files, or a larger memory budget"

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"\s*([0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([KMGT]?)(?:I?B)?\s*", re.IGNORECASE)
_UNKNOWN = 4 << 30
_NOT_RESERVED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class ScratchFile:
    """Arrays one after the other: first all are written, then, after `rewind`, they are read."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._file: Any = None
        with self._holding():
            self._file = tempfile.TemporaryFile(prefix="dualign-", dir=folder)  # noqa: SIM115

    def write(self, array: Array) -> None:
        """Append an array."""
        with self._holding():
            # Not `tofile`: of a disk that is full it says only how much it could not write.
            self._file.write(np.ascontiguousarray(array).data)

    def rewind(self) -> None:
        """Go back to the beginning, to read."""
        with self._holding():
            self._file.seek(0)

    def read(self, dtype: npt.DTypeLike, count: int) -> Array:
        """The next `count` numbers, or as many as there are."""
        array = np.empty(count, dtype)
        with self._holding():
            size: int = self._file.readinto(array.view(np.uint8).data)
        return array[: size // array.itemsize]

    def close(self) -> None:
        """Give its place on the disk back."""
        self._file.close()

    def __del__(self) -> None:
        """Files that were not read to their end, because of an error, are many: nobody else closes them."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _holding(self) -> AbstractContextManager[None]:
        place = self._folder or tempfile.tempdir or "the system's folder for temporary files"
        return refusing(OSError, what=f"cannot hold scratch files: {{cause}}; {REMEDY}", place=place)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h: what glibc does with memory that is given back


@cache
def hold_memory() -> None:
    """Keep what will be needed again at once, also where the process was started with other wishes.

    Fresh pages for each job would make kernels take a quarter longer.
    """
    _change(_MMAP_THRESHOLD, 1 << 25)
    _change(_TRIM_THRESHOLD, 1 << 27)


@cache
def return_memory() -> None:
    """Return arrays of 1 MiB or more to the system as soon as they are gone.

    Otherwise each thread keeps what it has given back, and many threads hold far more than they use.
    """
    _change(_MMAP_THRESHOLD, 1 << 20)


def _change(parameter: int, value: int) -> None:
    with suppress(OSError, AttributeError, TypeError):  # the last of Windows, which knows no `None` there
        ctypes.CDLL(None).mallopt(parameter, value)


def as_bytes(size: str | int, name: str = "memory") -> int:
    """Bytes of a size such as `4G`, `500M` or `1.5GiB`, in powers of 1024, that the option `name` has."""
    values: dict[str, Any] = {name: size, "size": size}
    if not isinstance(size, str):
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise UsageError(f"{{{name}=}} must be a number of bytes, or a size such as 4G", **values)
        return index(size)
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f"{{{name}=}}: {{size!r}} is not a size; write it as 4G or 500M", **values)
    return int(Fraction(match[1]) * _UNITS[match[2].upper()])


def in_words(size: float) -> str:
    """A number of bytes for people to read."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def machine_memory() -> int:
    """Bytes that this process may use: what the machine has, or its control group allows."""
    try:
        most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        most = _UNKNOWN  # a system that does not say
    for place in _group_limits():
        with suppress(OSError, ValueError):  # the newer kind says `max` for no limit
            limit = int(place.read_text())
            most = min(most, limit) if limit > 0 else most
    return most


def _group_limits(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[Path]:
    """Files with the memory limits of the control groups that we are in, of both kinds."""
    places: list[Path] = []
    with suppress(OSError, ValueError):
        for line in own.read_text().splitlines():
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
    """Hands out arrays. `memory`: the budget of the whole program in bytes; `folder`: for scratch files.

    Of the budget, `own` is for the program itself and its `threads`, the rest for arrays. If it is smaller
    than that, all large arrays are in scratch files.
    """

    def __init__(self, memory: int | None = None, folder: str | None = None, threads: int = 1) -> None:
        if memory is not None and memory <= 0:
            raise UsageError("{memory=} must be more than nothing; write a size such as 4G", memory=memory)
        if folder is not None:
            _check_folder(folder)
        self.given = memory is not None
        """Whether somebody has chosen the budget."""
        self.memory = int(SHARE * machine_memory()) if memory is None else memory
        self.own = OWN + threads * PER_THREAD
        self.folder = _scratch_folder() if folder is None else folder
        self._lock = threading.Lock()
        self._sizes = [0, 0]
        self._alive: dict[int, tuple[weakref.ref[Array], bool, int]] = {}
        # An array may vanish at any moment, even while this thread holds the lock: a queue needs none. Its
        # method is all that is called then. In a function of ours, Ctrl-C would be lost: what is raised
        # while an array vanishes is dropped.
        self._gone: deque[weakref.ref[Array]] = deque()

    def _held(self, *, mapped: bool) -> int:
        with self._lock:
            self._settle()
            return self._sizes[mapped]

    @property
    def used(self) -> int:
        """Bytes of the arrays in memory that it has handed out and that are still there."""
        return self._held(mapped=False)

    @property
    def on_disk(self) -> int:
        """Bytes of the arrays in scratch files that are still there."""
        return self._held(mapped=True)

    @property
    def left(self) -> int:
        """Bytes of the budget that are not taken."""
        return max(0, self.memory - self.own - self.used)

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, hot: bool = False) -> Array:
        """An array with no particular content.

        A `hot` one is read or written in no order, and always in memory; all others together take at most
        half of the budget there.
        """
        return self._array(np.empty, shape, dtype, hot)

    def zeros(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike, *, hot: bool = False) -> Array:
        """An array of zeros: the system gives it so, page by page, to whatever thread comes first."""
        return self._array(np.zeros, shape, dtype, hot)

    def _array(
        self, make: Callable[..., Array], shape: int | tuple[int, ...], dtype: npt.DTypeLike, hot: bool
    ) -> Array:
        """Memory that `make` gives, or a new scratch file, which has zeros."""
        size = math.prod((shape,) if isinstance(shape, int) else shape) * np.dtype(dtype).itemsize
        mapped = self._take(size, hot)
        try:
            base = np.frombuffer(self._map(size), np.uint8) if mapped else make(size, np.uint8)
        except BaseException:
            with self._lock:
                self._sizes[mapped] -= size
            raise
        reference = weakref.ref(base, self._gone.append)
        with self._lock:
            self._alive[id(reference)] = reference, mapped, size
        return base.view(dtype).reshape(shape)

    def reserve(self, size: int) -> None:
        """Take bytes of the budget for arrays that are in memory, and not from here."""
        self.own += size

    def at_once(self, wanted: int, size: int, share: float = 1) -> int:
        """How many of the `wanted` pieces of work, each with arrays of `size` bytes, fit side by side into a
        share of what is left."""
        return max(1, min(wanted, int(share * self.left) // max(size, 1)))

    def demand(self, size: int, what: str) -> None:
        """Raise a `UsageError` if the budget that was given has no room for arrays in memory of this size."""
        size += self.own
        if self.given and size > self.memory:
            step = 1 << 20 if size < 1 << 30 else (1 << 30) // 10  # as exact as it is said, and enough
            enough = -(-size // step) * step
            raise UsageError(
                "{memory=} is too little: {what} needs about {value}; give more, use fewer threads, or "
                "learn from fewer pairs",
                memory=in_words(self.memory),
                what=what,
                value=in_words(enough),
            )

    def expect(self, size: int) -> None:
        """Raise a `DataError` if scratch files of this size in all would not fit on the disk."""
        with refusing(OSError, what=f"cannot be used: {{cause}}; {REMEDY}", place=self.folder):
            free = shutil.disk_usage(self.folder).free
        if size > free:
            raise DataError(
                f"{self.folder}: about {in_words(size)} of scratch files are needed, "
                f"{in_words(free)} are free; {REMEDY}"
            )

    def _take(self, size: int, hot: bool) -> bool:
        """Count an array; whether it goes to a scratch file."""
        with self._lock:
            self._settle()
            mapped = size > SMALL and not hot and self._sizes[False] + size > (self.memory - self.own) // 2
            self._sizes[mapped] += size
        return mapped

    def _settle(self) -> None:
        """Take note of the arrays that are gone."""
        while self._gone:
            _, mapped, size = self._alive.pop(id(self._gone.popleft()))
            self._sizes[mapped] -= size

    def _map(self, size: int) -> mmap.mmap:
        """A new scratch file of this size, whose disk space is reserved."""
        what = f"cannot hold a scratch file of {in_words(size)}: {{cause}}; {REMEDY}"
        with (
            refusing(OSError, what=what, place=self.folder),
            tempfile.TemporaryFile(prefix="dualign-", dir=self.folder) as file,
        ):
            self._reserve(file.fileno(), size)
            return mmap.mmap(file.fileno(), size)

    def _reserve(self, file: int, size: int) -> None:
        """Give a file its size; a disk that is full must say so here, not when the array is written to."""
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, 0, size)
                return
        except OSError as error:
            if error.errno not in _NOT_RESERVED:
                raise
        self.expect(size)
        os.truncate(file, size)


def boundless() -> Workspace:
    """A workspace whose arrays are all in memory."""
    return Workspace(sys.maxsize)


class Growing:
    """A flat array that is filled from its beginning on, of a length that is not known before its end.

    It lies in pieces that never move, so that they can be filled in parallel; `finished` joins them, and
    gives each back once it is copied. If it gets no longer than `expected`, there is one piece and no copy.
    """

    def __init__(self, dtype: npt.DTypeLike, workspace: Workspace, expected: int = 0) -> None:
        self.length = 0
        self._expected = expected
        self._dtype = dtype
        self._workspace = workspace
        self._pieces: deque[Array] = deque()
        self._filled: deque[int] = deque()

    def room(self, size: int) -> Array:
        """The next `size` elements, for the caller to write."""
        if not self._pieces or len(self._pieces[-1]) - self._filled[-1] < size:
            usual = min(max(self.length, SMALL // 16), SEGMENT) if self._pieces else self._expected
            piece = max(size, usual)
            self._pieces.append(self._workspace.empty(piece, self._dtype))
            self._filled.append(0)
        begin = self._filled[-1]
        self._filled[-1] += size
        self.length += size
        return self._pieces[-1][begin : begin + size]

    def finished(self, threads: int = 1) -> Array:
        """The whole array; nothing is left here."""
        if len(self._pieces) == 1:
            return self._pieces.pop()[: self._filled.pop()]
        whole = self._workspace.empty(self.length, self._dtype)

        def pieces() -> Iterator[tuple[Array, Array]]:
            begin = 0
            while self._pieces:
                piece = self._pieces.popleft()[: self._filled.popleft()]
                yield whole[begin : begin + len(piece)], piece
                begin += len(piece)

        for _ in ordered_map(_copy, pieces(), min(threads, COPIERS)):
            pass
        return whole


def _copy(job: tuple[Array, Array]) -> None:
    there, piece = job
    there[:] = piece


def _check_folder(folder: str) -> None:
    """Raise a `UsageError` if scratch files cannot be made in a folder."""
    if not os.path.isdir(folder):
        wrong = (
            "not a folder; name one" if os.path.exists(folder) else "there is no such folder; make it first"
        )
    elif not os.access(folder, os.W_OK | os.X_OK):
        wrong = "no permission to write there; name another folder"
    else:
        return
    raise UsageError(f"{{scratch=}}: {wrong}", scratch=folder)


def _scratch_folder() -> str:
    """Where scratch files go by default: /tmp is kept in memory on many systems, /var/tmp is not."""
    for folder in (os.environ.get("TMPDIR"), "/var/tmp"):
        if folder and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return folder
    try:
        return tempfile.gettempdir()
    except OSError:  # no folder at all: said when a scratch file is needed
        return "/tmp"
