"""Files that grow over several runs of the program, and become what they are meant to be when complete."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import IO

from dualign._core.errors import DataError
from dualign._core.files.streams import explaining


class FileLocked(DataError):  # noqa: N818 - an outcome
    """Another process is writing the file."""


class PartFile:
    """The beginning of the file `path`, kept as `path.part` until all of it is there."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.final = os.path.realpath(path)
        self.part = part_of(path)
        self.size = 0
        """Bytes written so far."""
        self._file: IO[bytes] | None = None

    def open(self, size: int) -> None:
        """Go on after the first `size` bytes; 0 begins a new file. No other process may write it."""
        if size > 0 and not os.path.exists(self.part):
            raise DataError(f"{self.part}: the file is gone, with the {size} bytes that were written to it")
        with explaining(self.part, "write"):
            self._file = os.fdopen(os.open(self.part, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            self._lock()
            found = os.fstat(self._file.fileno()).st_size
            if found < size:
                self.close()
                raise DataError(f"{self.part}: has {found} of the {size} bytes that were written to it")
            self._file.truncate(size)
            self._file.seek(size)
            with suppress(OSError):
                os.chmod(self.part, stat.S_IMODE(os.stat(self.final).st_mode))
        self.size = size

    def write(self, data: bytes) -> None:
        """Append to it."""
        assert self._file is not None
        with explaining(self.part, "write"):
            self._file.write(data)
        self.size += len(data)

    def sync(self) -> None:
        """See to it that what was written survives whatever happens."""
        assert self._file is not None
        with explaining(self.part, "write"):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close it; an error is being raised already, or `sync` has found none."""
        if self._file is not None:
            with suppress(OSError, ValueError):
                self._file.close()

    def complete(self, size: int) -> None:
        """Give it its final name, unless that was done before."""
        with explaining(self.path, "write"):
            if os.path.exists(self.part):
                os.replace(self.part, self.final)
            elif not os.path.isfile(self.final) or os.path.getsize(self.final) != size:
                raise DataError(f"{self.part}: the file is gone")

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise FileLocked(
                "another process is writing it; wait until it has ended", place=self.part
            ) from None
        except OSError:
            pass  # some file systems have no locks


def part_of(path: str) -> str:
    """Where the beginning of a file is kept."""
    return f"{os.path.realpath(path)}.part"


def write_whole(path: str, data: bytes) -> None:
    """Replace a small file by another, so that a reader finds one of the two whatever happens."""
    temporary = f"{path}.new"
    try:
        with explaining(path, "write"):
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.remove(temporary)
        raise
