"""Files that get their names when they are whole: temporary ones, and those that several runs write; and what
to do where the system refuses a file.

A process that is killed cannot remove the temporary files and folders it has made. So each is locked while
its process lives; whoever makes the next one in the same folder removes those that nobody holds. Where the
system or the file system has no locks, nothing is removed; nor is what another machine has made, whose locks
a shared disk may not show.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any

from dualign._core.errors import DataError, DualignError

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

_NODE = os.uname().nodename if hasattr(os, "uname") else ""
_BEGIN = f".dualign-{zlib.crc32(_NODE.encode()) & 0xFFFFFF:06x}-"
_NAME = re.compile(re.escape(_BEGIN) + r"[0-9a-f]{16}\.tmp")


class Temporary:
    """A new file beside `final`, with its permissions; `file` is for the caller to write and close, before
    it is renamed or not."""

    def __init__(self, final: str) -> None:
        self.final, folder = final, os.path.dirname(final)
        _clean(folder)
        self._holder: int | None = None
        while True:
            self.path = _new_name(folder)
            try:
                self.file = open(self.path, "xb")  # noqa: SIM115 - closed by the caller
                if self._is_ours():
                    copy_mode(final, self.path)
                    return
                self.file.close()
            except BaseException:
                self.remove()
                raise
            self._release()

    def rename(self) -> None:
        """Replace the file `final` by this one."""
        os.replace(self.path, self.final)
        self._release()

    def remove(self) -> None:
        """Remove it; an error is being raised already."""
        with suppress(OSError):
            os.remove(self.path)
        self._release()

    def _release(self) -> None:
        if self._holder is not None:
            os.close(self._holder)
            self._holder = None

    def _is_ours(self) -> bool:
        """Lock it. Between its creation and the lock, somebody who cleans up may have removed it."""
        if fcntl is None:
            return True
        # A lock lasts until the last descriptor is closed: this one, when the new name is there.
        self._holder = os.dup(self.file.fileno())
        if not _lock(self._holder, otherwise=True):
            return False
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._holder))
        except FileNotFoundError:
            return False


def _new_name(folder: str) -> str:
    return os.path.join(folder, f"{_BEGIN}{secrets.token_hex(8)}.tmp")


@contextmanager
def temporary_folder(parent: str | None = None) -> Iterator[str]:
    """A new folder, which goes with all that is in it when the block ends; `parent` as in `tempfile`."""
    from tempfile import gettempdir  # few commands need it

    parent = parent or gettempdir()
    _clean(parent)
    while True:
        path = _new_name(parent)
        os.mkdir(path, 0o700)
        holder = None
        try:
            if fcntl is not None:
                holder = os.open(path, os.O_RDONLY)
                # Somebody who cleans up may have seen it before it was locked.
                if not _lock(holder, otherwise=True) or not os.path.isdir(path):
                    continue
            yield path
            return
        finally:
            _remove_folder(path)
            if holder is not None:
                os.close(holder)


def _lock(descriptor: int, *, otherwise: bool) -> bool:
    """Whether nobody else has it locked; `otherwise` where that cannot be known."""
    if fcntl is None:
        return otherwise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some file systems have no locks
        return otherwise
    return True


def is_temporary(name: str) -> bool:
    """Whether a file of this name is one of ours, perhaps left by a process that was killed."""
    return _NAME.fullmatch(name) is not None


@cache
def _clean(folder: str) -> None:
    """Remove the temporary files and folders in a folder that no process holds; once per process."""
    flags: Any = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with suppress(OSError):
        for name in filter(_NAME.fullmatch, os.listdir(folder)):
            with suppress(OSError):
                descriptor = os.open(path := os.path.join(folder, name), flags)
                try:
                    if _lock(descriptor, otherwise=False):
                        if os.path.isdir(path):
                            _remove_folder(path)
                        else:
                            os.remove(path)
                finally:
                    os.close(descriptor)


def _remove_folder(path: str) -> None:
    import shutil  # it loads every kind of compression

    shutil.rmtree(path, ignore_errors=True)


def copy_mode(final: str, new: str) -> None:
    """Give a new file the permissions of `final`; if that does not exist, it keeps those of the umask."""
    with suppress(OSError):
        os.chmod(new, stat.S_IMODE(os.stat(final).st_mode))


class FileLocked(DataError):  # noqa: N818 - an outcome
    """Another process is writing the file."""


def part_of(path: str) -> str:
    """Where the beginning of a file is kept while it grows over several runs of the program."""
    return f"{os.path.realpath(path)}.part"


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
            if not _lock(self._file.fileno(), otherwise=True):
                self.close()
                raise FileLocked("another process is writing it; wait until it has ended", place=self.part)
            found = os.fstat(self._file.fileno()).st_size
            if found < size:
                self.close()
                raise DataError(f"{self.part}: has {found} of the {size} bytes that were written to it")
            self._file.truncate(size)
            self._file.seek(size)
            copy_mode(self.final, self.part)
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


@contextmanager
def explaining(
    name: str, action: str, by: type[DualignError] = DataError, missing: str = ""
) -> Iterator[None]:
    """Turn an operating system's error into one that says what to do; `action` is `read` or `write`.

    `missing` is what to say of a file that is not there.
    """
    try:
        yield
    except (BrokenPipeError, DualignError):
        raise
    except OSError as error:
        raise by(_reason(error, name, action, missing), place=name) from None
    except ValueError as error:
        # `open` raises it for a NUL, or a character that the file system cannot encode, in the name.
        raise by(f"cannot {action}: {error}", place=repr(name)) from None


def _reason(error: OSError, name: str, action: str, missing: str) -> str:
    """Say why something cannot be read, or written, and what to do."""
    writing, folder = action == "write", os.path.dirname(os.path.realpath(name))
    if writing and not os.path.isdir(folder):
        return f"there is no folder {folder} to write to; make it first"
    if isinstance(error, FileNotFoundError) and not writing:
        return missing or f"no such file; check the path (seen from {_here()})"
    if isinstance(error, IsADirectoryError):
        return f"is a directory; name a file{' to write' if writing else ''}"
    if isinstance(error, PermissionError):
        what = "it and its directory" if writing else "it"
        return f"no permission to {action}; check the rights on {what} (ls -ld)"
    return f"cannot {action}: {error.strerror or error}"


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "a directory that no longer exists"
