"""How kernels are compiled and kept: the one home of Numba's options, and of what we use of its internals.

Kernels are compiled when they are first called, release the GIL, and are kept on disk in a cache of our own.
An entry of the cache is named after everything that its machine code depends on: the content of the kernel's
file and of every file of ours that it imports, the types of its arguments, the processor, and the versions of
Python and Numba. Numba's own cache looks only at the time stamp of the kernel's file, so it misses an edit to
a kernel that is called from another file; and it has one folder for a whole process, which belongs to the
program that imports us.

The cache needs parts of Numba that may change between its versions. Where they have, kernels fall back on
Numba's own cache (`_plainly_compiled`).
"""

from __future__ import annotations

import atexit
import hashlib
import inspect
import logging
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from dualign.core.temporaries import Temporary

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(rb"^from (dualign[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
_NAME = re.compile(rb"\w+")

_log = logging.getLogger("dualign")


def kernel(*, allocates: bool = True) -> Callable[[F], F]:
    """Compile a hot loop: arrays in, arrays out, no exceptions, no Python objects, no GIL.

    Use `allocates=False` for a part of a kernel that is called very often and creates no arrays (views do not
    count). It then skips the reference counting of its arguments, which can cost more than the call itself.
    Such parts are cached with the kernels that call them, not on their own.
    """
    numba = import_module("numba")
    # No fastmath: sums keep the order that is written, so that the same input gives the same bits
    # however LLVM arranges the code, on whatever processor.
    options = {"nogil": True, "error_model": "numpy"}

    def compiled(function: F) -> F:
        try:
            dispatcher = numba.njit(**options, _nrt=allocates)(function)
            if allocates and dispatcher is not function:
                dispatcher._cache = _cache_class()(function)
        except (AttributeError, ImportError, KeyError, OSError, TypeError):
            return _plainly_compiled(function, options)
        return dispatcher

    return compiled


def _plainly_compiled(function: F, options: dict[str, Any]) -> F:
    """The same kernel by what Numba documents, for versions whose internals are not those we know."""
    numba = import_module("numba")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no place to write to
        return numba.njit(**options)(function)


@cache
def cache_directory() -> Path:
    """Where compiled kernels are kept: in `NUMBA_CACHE_DIR` if that is set, else in the user's cache."""
    for variable, below in (
        ("NUMBA_CACHE_DIR", "dualign"),
        ("XDG_CACHE_HOME", "dualign/kernels"),
        ("HOME", ".cache/dualign/kernels"),
    ):
        if not (root := os.environ.get(variable)):
            continue
        place = Path(root) / below
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    # Not a fixed name in a folder that others may write to: whatever is found there will be run.
    place = Path(tempfile.mkdtemp(prefix="dualign-kernels-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@cache
def compiled_mark(job: str) -> Path:
    """A file that is there once the kernels of a job, for this state of our sources, have been compiled."""
    digest = hashlib.sha256(repr(_versions()).encode())
    # By size and time: reading everything takes 50 ms, and a mark that is missing costs no compilation.
    for folder, _, names in sorted(os.walk(_PACKAGE)):
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(path := os.path.join(folder, name))
                digest.update(f"{path} {status.st_mtime_ns} {status.st_size} ".encode())
    return cache_directory() / f"{job}-compiled-{digest.hexdigest()[:16]}"


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
    for each in sorted(found):
        digest.update(found[each])
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


@cache
def _cache_class() -> Any:
    """The class of kernels' caches, in terms of Numba's internals."""
    caching = import_module("numba.core.caching")
    dumps = import_module("numba.core.serialize").dumps
    result = import_module("numba.core.compiler").CompileResult
    rebuild, reduce = result._rebuild, result._reduce

    class KernelCache(caching._Cache):  # type: ignore[misc, name-defined]
        """One file for each kernel and types of its arguments, with a digest in front of the content."""

        def __init__(self, function: Any) -> None:
            stem = Path(inspect.getfile(function)).stem
            self.name = f"{stem}.{function.__qualname__}".replace("<", "").replace(">", "")
            self.sources = _sources(function)

        @property
        def cache_path(self) -> str:
            return str(cache_directory())

        def path(self, signature: Any, codegen: Any) -> Path:
            depends = self.sources, self.name, str(signature), codegen.magic_tuple(), _versions()
            key = hashlib.sha256(repr(depends).encode()).hexdigest()[:24]
            return cache_directory() / f"{self.name}-{key}"

        def load_overload(self, signature: Any, target_context: Any) -> Any:
            """The compiled kernel, or None if it has to be compiled, whatever is wrong with the cache."""
            # Numba would first import its implementation of all of NumPy, 0.4 to 0.7 s at every start of the
            # program. Machine code needs none of it but the memory allocator; if not, all of it is loaded.
            for prepare in (_start_allocator, _refresh):
                try:
                    path = self.path(signature, target_context.codegen())
                    digest, data = (content := path.read_bytes())[:32], content[32:]
                    if hashlib.sha256(data).digest() != digest:
                        return None
                    prepare(target_context)
                    return rebuild(target_context, *pickle.loads(data))
                except OSError:
                    return None
                except Exception:
                    _log.debug("%s: cannot be loaded", self.name, exc_info=True)
            return None

        def save_overload(self, signature: Any, compiled: Any) -> None:
            """Keep a compiled kernel; where that cannot be done, say so once and go on without."""
            temporary = None
            try:
                if compiled.lifted or compiled.library.has_dynamic_globals:
                    return  # its code holds addresses of this process
                data = dumps(reduce(compiled))
                path = self.path(signature, compiled.codegen)
                temporary = Temporary(str(path.parent))
                with temporary.file as file:
                    file.write(hashlib.sha256(data).digest() + data)
                temporary.rename(str(path))
            except BaseException as error:
                if temporary is not None:
                    temporary.remove()
                if not isinstance(error, Exception):
                    raise
                reason = getattr(error, "strerror", None) or error
                _say_once(f"{cache_directory()}: compiled kernels cannot be kept there ({reason})")

        def enable(self) -> None:
            """Always on."""

        def disable(self) -> None:
            """Always on."""

        def flush(self) -> None:
            """Nothing is held back."""

    return KernelCache


def _start_allocator(target_context: Any) -> None:
    import_module("numba.core.runtime").rtsys.initialize(target_context)


def _refresh(target_context: Any) -> None:
    target_context.refresh()


def _sources(function: Any) -> list[str]:
    """What a kernel depends on: its file, and for one made of others, what these depend on."""
    file = inspect.getfile(function)
    found = [Path(file).stem, function.__qualname__, sources_digest(file)]
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if (part := getattr(value, "py_func", None)) is not None:
            found += _sources(part)
        elif isinstance(value, bool | int | float | str):
            found.append(repr(value))
        else:
            raise RuntimeError(f"{function.__qualname__} closes over a {type(value).__name__}: not cacheable")
    return found


@cache
def _versions() -> tuple[Any, ...]:
    numba, llvmlite = import_module("numba"), import_module("llvmlite")
    return sys.version_info[:3], numba.__version__, llvmlite.__version__, numba.config.BOUNDSCHECK


@cache
def _say_once(message: str) -> None:
    _log.warning(message)
