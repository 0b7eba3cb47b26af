"""How kernels are compiled: the one home of Numba's options.

Kernels are compiled when they are first called, release the GIL, and are cached on disk in a directory named
after the state of the package's sources. Numba's own cache looks only at the file of the function it stores
and so misses an edit to a kernel that is called from another file; the name does not.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["cache_directory", "compiler", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


@cache
def cache_directory() -> Path:
    """Where compiled kernels are kept: a folder keyed by our sources, in `NUMBA_CACHE_DIR` if that is set."""
    digest = hashlib.sha256()
    for folder, _, names in sorted(os.walk(Path(__file__).resolve().parents[1])):
        for name in sorted(names):
            if name.endswith(".py"):
                # As Numba sees whether a file is still the one it compiled.
                status = os.stat(path := os.path.join(folder, name))
                digest.update(f"{path} {status.st_mtime_ns} {status.st_size} ".encode())
    name = f"kernels-{digest.hexdigest()[:16]}"
    for variable, below in (
        ("NUMBA_CACHE_DIR", ""),
        ("XDG_CACHE_HOME", "dualign"),
        ("HOME", ".cache/dualign"),
    ):
        if not (root := os.environ.get(variable)):
            continue
        place = Path(root) / below / name
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    # Not a fixed name in a folder that others may write to: what is found there is run.
    return Path(tempfile.mkdtemp(prefix="dualign-kernels-"))


def kernel(*, allocates: bool = True) -> Callable[[F], F]:
    """Compile a hot loop: arrays in, arrays out, no exceptions, no Python objects, no GIL.

    A part of a kernel that is called very often and makes no arrays (views are none) can be told so: it then
    does not count references to those it is given, which costs more than a call of it may be worth. Such
    parts are kept with the kernels that call them, not on their own.
    """
    numba = compiler()
    numba.config.CACHE_DIR = str(cache_directory())

    def compiled(function: F) -> F:
        # No fastmath: sums keep the order that is written, so that the same input gives the same bits
        # however LLVM arranges the code, on whatever processor.
        options = {"nogil": True, "error_model": "numpy", "_nrt": allocates}
        if not allocates:
            return numba.njit(**options)(function)
        return _quick_to_load(numba.njit(cache=True, **options)(function))

    return compiled


def compiler() -> Any:
    """Numba, without the import of SciPy, of which it asks nothing but the version."""
    # Once: another thread may be importing SciPy later on.
    if "numba" in sys.modules or "scipy" in sys.modules:
        return import_module("numba")
    sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        return import_module("numba")
    finally:
        del sys.modules["scipy"]


def _quick_to_load(dispatcher: Any) -> Any:
    """Let a cached kernel load without the parts of Numba that only compilation needs.

    Before it looks into its cache, Numba imports its implementation of all of NumPy (and SciPy's BLAS if
    that is installed), 0.4 to 0.7 s at every start of the program. Machine code that needs none of it loads
    as well without; where it does not, or where Numba's internals have changed, its own way is taken.
    """
    try:
        cache = dispatcher._cache
        usual, quick = cache.load_overload, cache._load_overload
    except AttributeError:
        return dispatcher

    def load_overload(signature: Any, target_context: Any) -> Any:
        try:
            # The memory allocator is all that compiled kernels rely on.
            import_module("numba.core.runtime").rtsys.initialize(target_context)
            found = quick(signature, target_context)
        except Exception:
            found = None
        return usual(signature, target_context) if found is None else found

    cache.load_overload = load_overload
    return dispatcher
