"""Which version of dualign this is."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def release() -> str:
    """The version that is installed, or `unknown` where dualign runs from its sources alone."""
    try:
        return version("dualign")
    except PackageNotFoundError:
        return "unknown"
