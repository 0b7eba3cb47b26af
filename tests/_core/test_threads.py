"""Work in stages gives the same results, in the same order, for any number of threads."""

from __future__ import annotations

import random
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.progress import measuring, phase, timed
from dualign._core.threads import MOST_THREADS, Stage, StageRunner, Work, available, in_stages, ordered_map

shapes = st.lists(st.lists(st.integers(0, 4), min_size=0, max_size=4), max_size=7)
"""For each work, how many tasks each of its stages has."""


@settings(deadline=None)
@given(shapes=shapes, threads=st.integers(1, 5), ahead=st.integers(1, 4), seed=st.integers(0, 99))
def test_stages_wait_for_each_other_and_turns_are_kept(shapes, threads, ahead, seed):
    """Every task sees all those of earlier stages of its work done; tasks in turn, all earlier turns."""
    lock = threading.Lock()
    done: list[tuple[int, int]] = []
    wrong: list[str] = []
    under_way: set[int] = set()
    most = 0
    pauses = random.Random(seed)

    def task(number: int, stage: int, in_turn: bool) -> None:
        time.sleep(pauses.random() * 0.001)
        with lock:
            for earlier in range(stage):
                if done.count((number, earlier)) != shapes[number][earlier]:
                    wrong.append(f"stage {stage} of {number} ran before stage {earlier} was done")
            if in_turn:
                for before in range(number):
                    if shapes[before] and done.count((before, 0)) != shapes[before][0]:
                        wrong.append(f"{number} took the turn of {before}")
            done.append((number, stage))

    def work(number: int) -> Work[int]:
        nonlocal most
        with lock:
            under_way.add(number)
            most = max(most, len(under_way))
        for stage, size in enumerate(shapes[number]):
            in_turn = stage == 0
            yield Stage([lambda s=stage, t=in_turn: task(number, s, t)] * size, in_turn)
        with lock:
            under_way.discard(number)
        return number * 10

    assert list(in_stages(map(work, range(len(shapes))), threads, ahead)) == [
        10 * n for n in range(len(shapes))
    ]
    assert not wrong
    assert len(done) == sum(map(sum, shapes))
    assert most <= ahead


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_tasks_in_turn_never_overlap_those_of_another_work(threads):
    order: list[int] = []

    def work(number: int) -> Work[None]:
        yield Stage([lambda: time.sleep(0.002 * (number % 3))])
        yield Stage([lambda: order.append(number)] * 3, in_turn=True)

    list(in_stages(map(work, range(12)), threads, 4))
    assert order == sorted(order)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", ["task", "between", "making"])
def test_an_error_reaches_the_caller_and_ends_all_threads(threads, where):
    before = threading.active_count()

    def fail() -> None:
        raise ValueError("broken")

    def work(number: int) -> Work[int]:
        yield Stage([lambda: None, fail if number == 2 and where == "task" else lambda: None])
        if number == 2 and where == "between":
            fail()
        return number

    def works():
        for number in range(5):
            if number == 2 and where == "making":
                fail()
            yield work(number)

    with pytest.raises(ValueError, match="broken"):
        list(in_stages(works(), threads, 2))
    assert threading.active_count() == before


def test_no_more_threads_are_started_than_there_is_work_for(monkeypatch):
    started = 0
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        nonlocal started
        started += 1
        start(thread)

    def work(number: int) -> Work[int]:
        yield Stage([lambda: time.sleep(0.001)] * 2)
        return number

    monkeypatch.setattr(threading.Thread, "start", counted)
    assert list(in_stages(map(work, range(3)), 50, 2)) == [0, 1, 2]
    assert started <= 5  # two works of two tasks at a time, and one that looks for more
    started = 0
    assert list(ordered_map(str, range(3), 50)) == ["0", "1", "2"]
    assert started <= 3


def test_the_first_thread_counts_before_it_asks_for_another():
    class Slow(list[threading.Thread]):
        def append(self, thread: threading.Thread) -> None:
            time.sleep(0.05)  # while a thread that was started goes on
            super().append(thread)

    def work(number: int) -> Work[int]:
        yield Stage([lambda: time.sleep(0.01)] * 4)
        return number

    runner = StageRunner(map(work, range(3)), 2, 2)
    runner.threads = Slow()
    runner.start_thread()
    assert list(runner.results()) == [0, 1, 2]
    runner.stop()
    assert len(runner.threads) == 2


def test_a_caller_that_stops_early_leaves_no_threads():
    before = threading.active_count()

    def work(number: int) -> Work[int]:
        yield Stage([lambda: None] * 4)
        return number

    results = in_stages(map(work, range(100)), 3, 2)
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before


def test_phases_add_up_over_threads_and_cost_nothing_when_nobody_measures():
    def job(number: int) -> int:
        return number + 1

    assert timed("adding", job) is job
    with measuring() as phases:
        measured = timed("adding", job)
        assert list(ordered_map(measured, range(10), 3)) == list(range(1, 11))
        with phase("resting"):
            time.sleep(0.01)
    assert phases["adding"].calls == 10
    assert phases["resting"].seconds >= 0.01 > phases["resting"].processor
    with phase("afterwards"):
        pass
    assert list(phases) == ["adding", "resting"]


def test_a_long_job_holds_up_no_others_that_are_taken_ahead():
    others = threading.Event()
    left = iter(range(8, -1, -1))

    def work(job: int) -> int:
        if job == 0:
            assert others.wait(10)
        elif next(left) == 1:
            others.set()
        return job

    assert list(ordered_map(work, range(10), 2, ahead=10)) == list(range(10))


def test_no_more_threads_are_started_than_can_be_of_use():
    assert available(3) == 3
    assert MOST_THREADS <= available(10**9) <= max(MOST_THREADS, 4 * available())
