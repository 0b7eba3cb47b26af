"""Running kernels on several threads. Kernels release the GIL, so plain threads use all cores.

Jobs are cut independently of the number of threads and their results come back in the order of the jobs;
whoever reduces them in that order gets the same bits for any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from operator import index
from threading import local
from typing import TypeVar

from dualign.core.errors import UsageError

J = TypeVar("J")
R = TypeVar("R")


def available(requested: int | None = None) -> int:
    """The number of threads to use: as requested, else as many as this process may run on."""
    if requested is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(requested, bool) or not hasattr(requested, "__index__"):
        raise UsageError(f"threads={requested!r} must be a whole number")
    if requested < 1:
        raise UsageError(f"threads={requested} must be at least 1")
    return index(requested)


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
    with ThreadPoolExecutor(threads, initializer=_choose_processor, initargs=(count(),)) as pool:
        waiting = []
        try:
            for job in jobs:
                waiting.append(pool.submit(_apart, function, job))
                if len(waiting) >= 2 * threads:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


_place = local()


def _choose_processor(numbers: Iterator[int]) -> None:
    """Give the calling thread a processor of its own to begin its jobs on."""
    _place.anywhere = _place.here = frozenset[int]()
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        _place.anywhere = frozenset(allowed)
        _place.here = frozenset({allowed[next(numbers) % len(allowed)]})


def _apart(function: Callable[[J], R], job: J) -> R:
    """Run a job on this thread's processor, from which the system may still move it.

    A thread that slept is taken for idle, and some schedulers wake it where its neighbours run already: two
    threads then share one processor while another has nothing to do.
    """
    if _place.here != _place.anywhere:
        with suppress(OSError):
            os.sched_setaffinity(0, _place.here)
            os.sched_setaffinity(0, _place.anywhere)
    return function(job)
