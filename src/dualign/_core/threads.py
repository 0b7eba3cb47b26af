"""Running kernels on several threads. Kernels release the GIL, so plain threads use all cores.

Jobs are cut independently of the number of threads and their results come back in the order of the jobs;
whoever reduces them in that order gets the same bits for any number of threads. `ordered_map` is for jobs by
themselves, `in_stages` for work that is cut differently from one stage to the next, `prefetched` for items
that are made one ahead.
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

from dualign._core.fields import check_value
from dualign._core.progress import timed

J = TypeVar("J")
R = TypeVar("R")

MOST_THREADS = 64
"""More are not started, unless they are fewer than four for each processor: they would only take memory."""


def available(requested: int | None = None) -> int:
    """The number of threads to use: as requested, else as many as this process may run on."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if requested is None:
        return own
    if hasattr(requested, "__index__") and not isinstance(requested, bool):
        requested = index(requested)
    check_value("threads", requested, "int", least=1)
    return min(requested, max(MOST_THREADS, 4 * own))


def spans(length: int, size: int) -> list[tuple[int, int]]:
    """Cut `range(length)` into consecutive spans of `size`, the last one shorter."""
    return [(begin, min(begin + size, length)) for begin in range(0, length, size)]


def pieces(work: int, each: int, most: int) -> int:
    """Into how many pieces to cut some work, so that each has enough to do: at least one, at most `most`."""
    return max(1, min(most, work // each))


def ordered_map(
    function: Callable[[J], R],
    jobs: Iterable[J],
    threads: int,
    ahead: int | None = None,
    *,
    phase: str | None = None,
) -> Iterator[R]:
    """Results of `function` for each job, in the order of the jobs; on one thread, simply `map`.

    With several threads at most `ahead` jobs, or two per thread, are taken ahead of the one awaited, so a
    stream of jobs stays a stream. Where jobs differ much, more of them keep threads from waiting for a long
    one; their results are in memory meanwhile. A profile counts the jobs as a `phase`.
    """
    if phase is not None:
        function = timed(phase, function)
    return map(function, jobs) if threads == 1 else _pooled(function, jobs, threads, ahead or 2 * threads)


def _pooled(function: Callable[[J], R], jobs: Iterable[J], threads: int, most: int) -> Iterator[R]:
    with ThreadPoolExecutor(threads, initializer=_choose_processor, initargs=(count(),)) as pool:
        waiting: deque[Future[R]] = deque()
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
    runner: StageRunner[R] = StageRunner(iter(works), threads, ahead)
    try:
        runner.start_thread()
        yield from runner.results()
    finally:
        runner.stop()


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


class RunningWork(Generic[R]):
    """A work under way: the tasks that nobody has taken, and how many are running."""

    def __init__(self, work: Work[R]) -> None:
        self.work = work
        self.tasks: deque[Callable[[], object]] = deque()
        self.busy = 0
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


class StageRunner(Generic[R]):
    """Threads that share the works under way; one more is started when there is something to do for it."""

    def __init__(self, works: Iterator[Work[R]], threads: int, ahead: int) -> None:
        self.works, self.most, self.ahead = works, threads, ahead
        self.threads: list[Thread] = []
        self.waiting = 0
        self.numbers = count()
        self.under_way: deque[RunningWork[R]] = deque()
        self.change = Condition()
        self.exhausted = self.stopped = False
        self.error: BaseException | None = None

    def start_thread(self) -> None:
        """Have one more thread take tasks."""
        with self.change:  # a thread that looks how many there are must find itself among them
            thread = Thread(target=self.work, daemon=True)
            thread.start()
            self.threads.append(thread)

    def work(self) -> None:
        """Take tasks until there are no more."""
        _choose_processor(self.numbers)
        try:
            while (taken := self._take()) is not None:
                work, task = taken
                if task is None:
                    self._resume(work)
                else:
                    task()
                    with self.change:
                        work.busy -= 1
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        with self.change:
            self.error = self.error or error
            self.stopped = True
            self.change.notify_all()

    def _resume(self, work: RunningWork[R]) -> None:
        tasks = work.advance()
        with self.change:
            work.busy -= 1
            if tasks is None:
                work.done = work.passed = True
            else:
                work.tasks.extend(tasks)
            self.change.notify_all()

    def _take(self) -> tuple[RunningWork[R], Callable[[], object] | None] | None:
        """The next task, or a work (with None) whose next stage is to come; waits for one."""
        with self.change:
            while not self.stopped:
                if (found := self._find()) is not None:
                    found[0].busy += 1
                    if not self.waiting and len(self.threads) < self.most and self._has_more():
                        self.start_thread()
                    return found
                if self.exhausted and not self.under_way:
                    return None
                self.waiting += 1
                self.change.wait()
                self.waiting -= 1
                _take_place()
        return None

    def _has_more(self) -> bool:
        may_begin = len(self.under_way) < self.ahead and not self.exhausted
        return may_begin or any(work.tasks for work in self.under_way)

    def _find(self) -> tuple[RunningWork[R], Callable[[], object] | None] | None:
        before = True  # whether all works before have had their stage in turn
        for work in self.under_way:
            if work.tasks and (before or not work.in_turn):
                return work, work.tasks.popleft()
            if not work.tasks and not work.busy and not work.done:
                return work, None
            before = before and work.passed
        if len(self.under_way) < self.ahead and not self.exhausted:
            try:
                new = next(self.works, None)
            except BaseException as error:
                self._fail(error)  # before another thread takes the works for exhausted
                raise
            if new is not None:
                self.under_way.append(RunningWork(new))
                return self.under_way[-1], None
            self.exhausted = True
            self.change.notify_all()
        return None

    def results(self) -> Iterator[R]:
        """What the works return, in their order."""
        while True:
            with self.change:
                while not self.stopped and not (self.under_way and self.under_way[0].done):
                    if self.exhausted and not self.under_way:
                        return
                    self.change.wait()
                if self.error is not None:
                    raise self.error
                work = self.under_way.popleft()
                self.change.notify_all()
            yield work.result

    def stop(self) -> None:
        """Let every thread end after its present task, and wait for it."""
        with self.change:
            self.stopped = True
            self.change.notify_all()
        for thread in self.threads:
            thread.join()


def prefetched(items: Iterator[J]) -> Generator[J, None, None]:
    """The same items, of which a thread makes the next one while the caller has the last. None ends them."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
