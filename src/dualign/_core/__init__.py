"""What every room shares: errors, fields, progress, memory, threads, compilation of kernels, files."""

from __future__ import annotations

from functools import cache


@cache
def release() -> str:
    """Return the version that is installed, or `unknown` where dualign runs from its sources alone."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dualign")
    except PackageNotFoundError:
        return "unknown"
