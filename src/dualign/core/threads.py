"""Running kernels on several threads. Kernels release the GIL, so plain threads use all cores.

Jobs are cut independently of the number of threads and their results come back in the order of the jobs;
whoever reduces them in that order gets the same bits for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dualign.core.errors import UsageError

__all__ = ["available", "ordered_map", "spans"]

J = TypeVar("J")
R = TypeVar("R")


def available(requested: int | None = None) -> int:
    """The number of threads to use: as requested, else as many as this process may run on."""
    if requested is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if requested < 1:
        raise UsageError(f"threads={requested} must be at least 1")
    return requested


def spans(length: int, size: int) -> list[tuple[int, int]]:
    """Cut `range(length)` into consecutive spans of `size`, the last one shorter."""
    return [(begin, min(begin + size, length)) for begin in range(0, length, size)]


def ordered_map(function: Callable[[J], R], jobs: Iterable[J], threads: int) -> Iterator[R]:
    """Results of `function` for each job, in the order of the jobs.

    With several threads at most `2 · threads` jobs are taken ahead of the one awaited, so a stream of jobs
    stays a stream.
    """
    if threads == 1:
        yield from map(function, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = []
        try:
            for job in jobs:
                waiting.append(pool.submit(function, job))
                if len(waiting) >= 2 * threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
