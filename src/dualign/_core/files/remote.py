"""Files on other machines (`s3://`, `gs://`, `hdfs://`, … through fsspec), and several files as one text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from dualign._core.errors import DataError, UsageError, refusing

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer


def remote_names(pattern: str) -> list[str]:
    """The remote files of a pattern, by name."""
    with _reached(pattern, "read") as (system, place):
        return sorted(system.unstrip_protocol(name) for name in system.glob(place))


def remote_size(path: str) -> int:
    """Bytes of a remote file; 0 if that is not known."""
    with _reached(path, "read") as (system, place):
        return int(system.size(place) or 0)


def open_remote(path: str) -> BinaryIO:
    """Read a remote file."""
    with _reached(path, "read") as (system, place):
        file = system.open(place, "rb")
        # What fsspec has of its own, as for s3, cannot be asked for what has come.
        return file if hasattr(file, "read1") else io.BufferedReader(file)


def upload(local: str, path: str) -> None:
    """Write a remote file, whole, as a copy of a local one."""
    with _reached(path, "write") as (system, place):
        system.put_file(local, place)


@contextmanager
def _reached(path: str, action: str) -> Iterator[tuple[Any, str]]:
    """The file system of a path, and the place there; whatever it raises is an error that names the file."""
    missing = "needs fsspec, which is not installed; pip install 'dualign[cluster]'"
    with refusing(ImportError, by=UsageError, what=missing, place=path):
        import fsspec
    remedy = "install what fsspec needs for it, such as s3fs or gcsfs"
    with refusing(ImportError, ValueError, by=UsageError, what=f"{{cause}}; {remedy}", place=path):
        where = fsspec.core.url_to_fs(path)
    try:
        yield where
    except FileNotFoundError:
        raise DataError("no such file; check the path", place=path) from None
    except Exception as error:
        what = f"cannot {action}: {{cause}}; check the rights"
        raise DataError(what, place=path, cause=str(error) or type(error).__name__) from None


class Joined(io.RawIOBase):
    """Files one after the other; one that lacks its last line feed gets it."""

    def __init__(self, paths: list[str], open_one: Callable[[str], io.BufferedReader]) -> None:
        self._paths, self._open = iter(paths), open_one
        self._file: io.BufferedReader | None = None
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            if self._file is None:
                path = next(self._paths, None)
                if path is None:
                    return 0
                self._file, self._last = self._open(path), b"\n"
            part = self._file.read1(len(view))
            if part:
                self._last = part[-1:]
            else:
                self._file.close()
                self._file = None
                if self._last == b"\n":
                    continue
                part = b"\n"
            view[: len(part)] = part
            return len(part)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()
