"""Where compiled kernels are kept, and what their names depend on.

Names depend on content alone, never on places or time stamps: a copy of dualign, or a new installation of
the same version, finds what was compiled before.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

from dualign._core.files.atomic import temporary_folder

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(rb"^from (dualign[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(rb"\w+")

UNUSED = 30 * 24 * 3600.0
"""Seconds after which a file of the cache that nobody has read may be removed."""

_temporary: list[Path] = []
"""The temporary folder, if there is one."""
_at_exit = ExitStack()
"""Removes it."""

_log = logging.getLogger("dualign")


@cache
def kernel_folder() -> Path:
    """Where compiled kernels are kept: in `NUMBA_CACHE_DIR` if that is set, else in the user's cache.

    A folder that can only be read will do if there are kernels in it. Where there is no folder at all, a
    temporary one serves this process and those that it starts, and is removed in the end.
    """
    for place in _places():
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
        if os.access(place, os.W_OK | os.X_OK) or _has_kernels(place):
            return place
    # Not a fixed name in a folder that others may write to: whatever is found there will be run.
    root = Path(_at_exit.enter_context(temporary_folder()))
    _temporary.append(root)
    (place := root / "dualign").mkdir()
    atexit.register(remove_temporary_kernels)
    _log.warning(
        "no folder to keep compiled kernels in, so every run compiles them again; "
        "set HOME or NUMBA_CACHE_DIR to a folder that can be written"
    )
    return place


def _places() -> Iterator[Path]:
    """The folders to try, in this order."""
    if root := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(root) / "dualign"
    if root := os.environ.get("XDG_CACHE_HOME"):
        yield Path(root) / "dualign" / "kernels"
    variable, below = {
        "win32": ("LOCALAPPDATA", "dualign/Cache"),
        "darwin": ("HOME", "Library/Caches/dualign"),
    }.get(sys.platform, ("HOME", ".cache/dualign"))
    if root := os.environ.get(variable):
        yield Path(root) / below / "kernels"


def _has_kernels(place: Path) -> bool:
    try:
        return any(place.iterdir())
    except OSError:
        return False


def with_kernel_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that keeps its kernels where this one does."""
    kernel_folder()
    return dict(environment) | ({"NUMBA_CACHE_DIR": str(_temporary[0])} if _temporary else {})


def remove_temporary_kernels() -> None:
    """Remove the temporary folder, if there is one; what is loaded stays usable."""
    _at_exit.close()


class Mark:
    """Remembers that the kernels of a job have been compiled for this state of our sources.

    It has two names. One depends on the content of our sources, the other on their places, sizes and times:
    that one is quick to find, and made anew where only the times have changed.
    """

    def __init__(self, job: str, versions: str) -> None:
        self._name = hashlib.sha256(f"{job} {versions}".encode()).hexdigest()[:16]
        self._job = job

    def is_set(self) -> bool:
        """Whether the kernels have been compiled."""
        if self._path(_state()).exists():
            return True
        if not self._path(_all_sources()).exists():
            return False
        self.set()
        return True

    def set(self) -> None:
        """From now on, `is_set`; without a word where nothing can be written."""
        for state in (_all_sources(), _state()):
            with suppress(OSError):
                self._path(state).touch()

    def _path(self, state: str) -> Path:
        return kernel_folder() / f"{self._job}-compiled-{self._name}-{state}"


def _source_files() -> Iterator[str]:
    for folder, folders, names in os.walk(_PACKAGE):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


@cache
def _state() -> str:
    """A digest of the places, sizes and times of our sources."""
    digest = hashlib.sha256()
    for path in _source_files():
        status = os.stat(path)
        digest.update(f"{path} {status.st_mtime_ns} {status.st_size} ".encode())
    return digest.hexdigest()[:16]


@cache
def _all_sources() -> str:
    """A digest of the content of our sources."""
    digest = hashlib.sha256()
    for path in _source_files():
        digest.update(os.path.relpath(path, _PACKAGE).encode() + _content(path)[0])
    return digest.hexdigest()[:16]


def remove_unused() -> None:
    """Remove what has not been read for a month: kernels of other versions of dualign, Numba or Python."""
    folder = kernel_folder()
    former = folder.parent.glob("kernels-*/**/*") if folder.name == "kernels" else ()
    files = []
    for path in (*folder.iterdir(), *former):
        with suppress(OSError):  # another process may do the same
            if path.is_file():
                files.append((path, path.stat()))
    last = max((status.st_mtime for _, status in files), default=0.0)
    for path, status in files:
        if max(status.st_atime, status.st_mtime) < last - UNUSED:
            with suppress(OSError):
                path.unlink()


@cache
def sources_digest(path: str) -> str:
    """A digest of a file's content and of all modules of dualign that it imports, directly or not."""
    found: dict[str, bytes] = {}
    waiting = [path]
    while waiting:
        if (each := waiting.pop()) not in found:
            found[each], imports = _content(each)
            waiting += imports
    digest = hashlib.sha256()
    for content in sorted(found.values()):
        digest.update(content)
    return digest.hexdigest()


@cache
def _content(path: str) -> tuple[bytes, tuple[str, ...]]:
    """The digest of one file, and the files of ours that it imports by `from dualign… import` at its top."""
    content = Path(path).read_bytes()
    files = []
    for match in _IMPORT.finditer(content):
        module = _PACKAGE.joinpath(*match[1].decode().split(".")[1:])
        if (file := module.with_suffix(".py")).is_file():
            files.append(str(file))
        else:
            names = (module / f"{name.decode()}.py" for name in _NAME.findall(match[2]))
            files += [str(name) for name in (module / "__init__.py", *names) if name.is_file()]
    return hashlib.sha256(content).digest(), tuple(files)
