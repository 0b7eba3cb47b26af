"""Files on other machines (`s3://`, `gs://`, `hdfs://`, … through fsspec), and several files as one text."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from dualign._core.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import WriteableBuffer

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, and is for fsspec."""
    return _REMOTE.match(path) is not None


def is_several(path: str) -> bool:
    """Whether a path is a pattern such as `text.*.de.gz`, or a list with commas between, not one file."""
    if is_remote(path):
        return any(sign in path for sign in ",*?[")
    return path != "-" and any(sign in path for sign in ",*?[") and not os.path.exists(path)


def listed(path: str) -> list[str]:
    """The files of a pattern or list: those of a pattern by name; nothing that does not exist."""
    found: list[str] = []
    for part in path.split(","):
        if not is_several(part):
            matches = [part] if is_remote(part) or os.path.exists(part) else []
        elif is_remote(part):
            system, place = _system(part)
            with _explained(part, "read"):
                matches = sorted(system.unstrip_protocol(name) for name in system.glob(place))
        else:
            matches = sorted(glob.glob(part))
        if not matches:
            raise DataError(f"{part}: no file has such a name; check the path, or the pattern")
        found += matches
    return found


def remote_size(path: str) -> int:
    """Bytes of a remote file; 0 if that is not known."""
    system, place = _system(path)
    with _explained(path, "read"):
        return int(system.size(place) or 0)


def open_remote(path: str) -> BinaryIO:
    """Read a remote file."""
    system, place = _system(path)
    with _explained(path, "read"):
        return system.open(place, "rb")


def upload(local: str, path: str) -> None:
    """Write a remote file, whole, as a copy of a local one."""
    system, place = _system(path)
    with _explained(path, "write"):
        system.put_file(local, place)


def _system(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise UsageError(
            f"{path}: needs fsspec, which is not installed; pip install 'dualign[cluster]'"
        ) from None
    try:
        return fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"{path}: {error}; install what fsspec needs for it, such as s3fs or gcsfs"
        ) from None


@contextmanager
def _explained(path: str, action: str) -> Iterator[None]:
    """Whatever a storage service raises, as an error that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except Exception as error:
        raise DataError(
            f"{path}: cannot {action}: {error or type(error).__name__}; check the rights"
        ) from None


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
