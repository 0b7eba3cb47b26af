"""Running kernels on several threads. Kernels release the GIL, so plain threads use all cores.

Jobs are cut independently of the number of threads and their results come back in the order of the jobs;
whoever reduces them in that order gets the same bits for any number of threads. `ordered_map` is for jobs by
themselves, `in_stages` for work that is cut differently from one stage to the next.

Making the next item while the last one is used.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from operator import index
from threading import Condition, Thread, local
from typing import Generic, NamedTuple, TypeVar

from dualign._core.errors import UsageError

J = TypeVar("J")
R = TypeVar("R")


def available(requested: int | None = None) -> int:
    """The number of threads to use: as requested, else as many as this process may run on."""
    if requested is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(requested, bool) or not hasattr(requested, "__index__"):
        raise UsageError("{threads=} must be a whole number", threads=requested)
    if requested < 1:
        raise UsageError("{threads=} must be at least 1", threads=requested)
    return index(requested)


def spans(length: int, size: int) -> list[tuple[int, int]]:
    """Cut `range(length)` into consecutive spans of `size`, the last one shorter."""
    return [(begin, min(begin + size, length)) for begin in range(0, length, size)]


def pieces(work: int, each: int, most: int) -> int:
    """Into how many pieces to cut some work, so that each has enough to do: at least one, at most `most`."""
    return max(1, min(most, work // each))


def ordered_map(
    function: Callable[[J], R], jobs: Iterable[J], threads: int, ahead: int | None = None
) -> Iterator[R]:
    """Results of `function` for each job, in the order of the jobs.

    With several threads at most `ahead` jobs, or two per thread, are taken ahead of the one awaited, so a
    stream of jobs stays a stream. Where jobs differ much, more of them keep threads from waiting for a long
    one; their results are in memory meanwhile.
    """
    if threads == 1:
        yield from map(function, jobs)
        return
    with ThreadPoolExecutor(threads, initializer=_choose_processor, initargs=(count(),)) as pool:
        waiting: deque[Future[R]] = deque()
        most = ahead or 2 * threads
        stream, wrong = iter(jobs), None
        try:
            while True:
                try:
                    job = next(stream)
                except StopIteration:
                    break
                except Exception as error:  # raised in its turn, after what the jobs before it give
                    wrong = error
                    break
                waiting.append(pool.submit(_apart, function, job))
                if len(waiting) >= most:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if wrong is not None:
                raise wrong
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


def _take_place() -> None:
    """Go to this thread's processor, from which the system may still move it.

    A thread that slept is taken for idle, and some schedulers wake it where its neighbours run already: two
    threads then share one processor while another has nothing to do.
    """
    if _place.here != _place.anywhere:
        with suppress(OSError):
            os.sched_setaffinity(0, _place.here)
            os.sched_setaffinity(0, _place.anywhere)


def _apart(function: Callable[[J], R], job: J) -> R:
    _take_place()
    return function(job)


class Stage(NamedTuple):
    """Tasks that can run at the same time.

    If they are `in_turn`, they begin when those of the work before, of its own stage in turn, are done.
    """

    tasks: Sequence[Callable[[], object]]
    in_turn: bool = False


Work = Generator[Stage, None, R]
"""Work that yields its stages one by one, each when the tasks of the one before are done."""


def in_stages(works: Iterable[Work[R]], threads: int, ahead: int) -> Iterator[R]:
    """What each work returns, in order; at most `ahead` of them are under way at the same time.

    A thread takes the next task of the earliest work that has one, and so does not wait while later works
    have something to do. What a work does between its stages runs on one of the threads, too.
    """
    if threads == 1:
        yield from map(_run, works)
        return
    crew: _Crew[R] = _Crew(iter(works), ahead)
    numbers = count()
    members = [Thread(target=crew.work, args=(numbers,), daemon=True) for _ in range(threads)]
    try:
        for member in members:
            member.start()
        yield from crew.results()
    finally:
        crew.stop()
        for member in members:
            if member.ident is not None:  # it was started
                member.join()


def _run(work: Work[R]) -> R:
    """Run all stages here."""
    while True:
        try:
            stage = next(work)
        except StopIteration as end:
            result: R = end.value
            return result
        for task in stage.tasks:
            task()


class _Flight(Generic[R]):
    """A work under way: the tasks that nobody has taken, and how many are running."""

    def __init__(self, work: Work[R]) -> None:
        self.work = work
        self.tasks: deque[Callable[[], object]] = deque()
        self.running = 0
        self.in_turn = self.passed = self.done = False
        self.result: R

    def advance(self) -> list[Callable[[], object]] | None:
        """Go on to the next stage; None after the last."""
        try:
            stage = next(self.work)
        except StopIteration as end:
            self.result = end.value
            return None
        self.passed = self.passed or self.in_turn
        self.in_turn = stage.in_turn
        return list(stage.tasks)


class _Crew(Generic[R]):
    """Threads that share the works under way."""

    def __init__(self, works: Iterator[Work[R]], ahead: int) -> None:
        self.works, self.ahead = works, ahead
        self.flights: deque[_Flight[R]] = deque()
        self.change = Condition()
        self.exhausted = self.stopped = False
        self.error: BaseException | None = None

    def work(self, numbers: Iterator[int]) -> None:
        """Take tasks until there are no more."""
        _choose_processor(numbers)
        try:
            while (taken := self._take()) is not None:
                flight, task = taken
                if task is None:
                    self._resume(flight)
                else:
                    task()
                    with self.change:
                        flight.running -= 1
        except BaseException as error:
            with self.change:
                self.error = self.error or error
                self.stopped = True
                self.change.notify_all()

    def _resume(self, flight: _Flight[R]) -> None:
        tasks = flight.advance()
        with self.change:
            flight.running -= 1
            if tasks is None:
                flight.done = flight.passed = True
            else:
                flight.tasks.extend(tasks)
            self.change.notify_all()

    def _take(self) -> tuple[_Flight[R], Callable[[], object] | None] | None:
        """The next task, or a work (with None) whose next stage is to come; waits for one."""
        with self.change:
            while not self.stopped:
                if (found := self._find()) is not None:
                    found[0].running += 1
                    return found
                if self.exhausted and not self.flights:
                    return None
                self.change.wait()
                _take_place()
        return None

    def _find(self) -> tuple[_Flight[R], Callable[[], object] | None] | None:
        before = True  # whether all works before have had their stage in turn
        for flight in self.flights:
            if flight.tasks and (before or not flight.in_turn):
                return flight, flight.tasks.popleft()
            if not flight.tasks and not flight.running and not flight.done:
                return flight, None
            before = before and flight.passed
        if len(self.flights) < self.ahead and not self.exhausted:
            work = next(self.works, None)
            if work is not None:
                self.flights.append(_Flight(work))
                return self.flights[-1], None
            self.exhausted = True
            self.change.notify_all()
        return None

    def results(self) -> Iterator[R]:
        """What the works return, in their order."""
        while True:
            with self.change:
                while not self.stopped and not (self.flights and self.flights[0].done):
                    if self.exhausted and not self.flights:
                        return
                    self.change.wait()
                if self.error is not None:
                    raise self.error
                flight = self.flights.popleft()
                self.change.notify_all()
            yield flight.result

    def stop(self) -> None:
        """Let every thread end after its present task."""
        with self.change:
            self.stopped = True
            self.change.notify_all()


T = TypeVar("T")


def prefetched(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items, of which a thread makes the next one while the caller has the last. None ends them."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
