"""What the C library does with memory that this process gives back, where it can be told (glibc)."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h


@cache
def hold_memory() -> None:
    """Keep what will be needed again at once, also where the process was started with other wishes.

    Fresh pages for each job would make kernels take a quarter longer.
    """
    _change(_MMAP_THRESHOLD, 1 << 25)
    _change(_TRIM_THRESHOLD, 1 << 27)


@cache
def return_memory() -> None:
    """Return arrays of 1 MiB or more to the system as soon as they are gone.

    Otherwise each thread keeps what it has given back, and many threads hold far more than they use.
    """
    _change(_MMAP_THRESHOLD, 1 << 20)


def _change(parameter: int, value: int) -> None:
    with suppress(OSError, AttributeError, TypeError):  # the last of Windows, which knows no `None` there
        ctypes.CDLL(None).mallopt(parameter, value)
