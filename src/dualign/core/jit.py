"""How kernels are compiled: the one home of Numba's options.

Kernels are compiled for the explicit signatures they declare, release the GIL, and are cached on disk in a
directory named after a hash of the package's sources. Numba's own cache looks only at the file of the
function it stores and so misses an edit to a kernel that is called from another file; the hash does not.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["cache_directory", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])

# Sums may be reordered and fused, which lets LLVM use vector registers; but unlike with plain `fastmath`,
# infinities and NaN keep their meaning.
REORDER = {"reassoc", "contract", "arcp", "nsz"}


def cache_directory() -> Path:
    """Where compiled kernels are kept: `NUMBA_CACHE_DIR` if set, else a directory keyed by our sources."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for root in (home, Path(tempfile.gettempdir())):
        place = root / "dualign" / f"kernels-{digest.hexdigest()[:16]}"
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            return place
    return Path(tempfile.mkdtemp(prefix="dualign-kernels-"))


def kernel(signature: str | list[str] | None = None) -> Callable[[F], F]:
    """Compile a hot loop: arrays in, arrays out, no exceptions, no Python objects, no GIL."""
    import numba

    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = str(cache_directory())
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR
    options = {"nogil": True, "cache": True, "fastmath": REORDER, "error_model": "numpy"}
    return numba.njit(signature, **options) if signature else numba.njit(**options)
