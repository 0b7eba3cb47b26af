"""Disturbed commands, thousands of them: each must end with 0, 1 or 2, soon, in little memory, tidily.

    python -m tests.fuzz                    # 4,000 cases, minutes
    python -m tests.fuzz --cases 20000 --workers 2      # `make fuzz`
    python -m tests.fuzz --case 4711        # one again, and what it says

Each case disturbs one command (`tests.fuzz.inputs`) in one way (`tests.fuzz.disturbances`), both drawn by
`--seed` and the number of the case; `tests.fuzz.case` says what is a fault. Commands run in forked workers:
one that dies, or does not end, is a fault, too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

from tests.fuzz.case import MEMORY, SECONDS, Case, Ended, execute, run_case
from tests.fuzz.disturbances import disturb
from tests.fuzz.inputs import commands, make

PATIENCE = 120.0
"""Seconds by the clock after which a process is killed in any case; the machine may be busy."""

ROOM = 16 << 30
"""Address space of a worker: a safeguard for the machine. Mapping much and using little is no fault."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Run disturbed commands.")
    options.add_argument("--cases", type=int, default=4000)
    options.add_argument("--case", type=int, help="only this one")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--json", type=Path, help="file for the faults, as JSON lines")
    given = options.parse_args(arguments)
    began = perf_counter()
    numbers = range(given.cases) if given.case is None else range(given.case, given.case + 1)
    codes: Counter[int] = Counter()
    faults: list[Ended] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        for ended in run_cases(Path(folder), given.seed, numbers, given.workers):
            codes[ended.code] += 1
            if given.case is not None:
                print(*ended, sep="\n")
            if ended.fault:
                faults.append(ended)
                print(json.dumps(ended._asdict()), flush=True)
                if given.json is not None:
                    with given.json.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(ended._asdict()) + "\n")
    ends = ", ".join(f"{count:,} with {code}" for code, count in sorted(codes.items()))
    print(f"{sum(codes.values()):,} cases in {perf_counter() - began:.0f} s: {ends}; {len(faults)} faults")
    return bool(faults)


def run_cases(place: Path, seed: int, numbers: Sequence[int], workers: int = 1) -> Iterator[Ended]:
    """Run cases of these numbers; in no particular order if there are several workers."""
    place.chmod(0o755)  # for cases that have no rights
    healthy = place / "healthy"
    if not healthy.exists():
        healthy.mkdir()
        make(healthy)
    for words in commands():  # compiles, imports: workers begin with all of that
        scratch = Path(tempfile.mkdtemp(dir=place))
        if code := execute(Case(words, healthy, scratch).arguments()):
            raise RuntimeError(f"{' '.join(words)} ended with {code} on healthy files")
        shutil.rmtree(scratch)
    crew = [_Worker(place, healthy, seed, list(numbers[n::workers])) for n in range(workers)]
    while crew:
        for worker in list(crew):
            ended = worker.next(0.05 if len(crew) > 1 else 1.0)
            if ended is not None:
                yield ended
            elif worker.finished:
                crew.remove(worker)


class _Worker:
    """A process that runs cases one after the other, and is replaced when it does not survive one."""

    def __init__(self, place: Path, healthy: Path, seed: int, numbers: list[int]) -> None:
        self.place, self.healthy, self.seed, self.numbers = place, healthy, seed, numbers
        self.finished = not numbers
        self.at = 0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe(duplex=False)
        rest = self.numbers[self.at :]
        self.process = context.Process(target=_work, args=(self.place, self.healthy, self.seed, rest, theirs))
        self.process.start()
        theirs.close()
        self.since = perf_counter()

    def next(self, patience: float) -> Ended | None:
        """The next case that has ended, if one ends soon."""
        if self.finished:
            return None
        try:
            if self.connection.poll(patience):
                ended = Ended(*self.connection.recv())
                self.at += 1
                self.since = perf_counter()
                if self.at == len(self.numbers):
                    self.process.join()
                    self.finished = True
                elif ended.memory > MEMORY:  # what it has it may keep
                    self.process.kill()
                    self._restart()
                return ended
            if perf_counter() - self.since < PATIENCE:
                return None
            fault = f"no end after {PATIENCE:.0f} s"
        except EOFError:
            self.process.join()
            fault = f"died with {self.process.exitcode}"
        self.process.kill()
        number = self.numbers[self.at]
        draw = random.Random(f"{self.seed} {number}")
        case, what = prepare(self.place / "again", self.healthy, draw)
        ended = Ended(number, " ".join(case.words), what, -1, "", perf_counter() - self.since, 0, fault)
        self.at += 1
        if self.at == len(self.numbers):
            self.finished = True
        else:
            self._restart()
        return ended

    def _restart(self) -> None:
        self.process.join()
        self.connection.close()
        self._start()


def _work(place: Path, healthy: Path, seed: int, numbers: list[int], connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    folder = Path(tempfile.mkdtemp(dir=place))
    folder.chmod(0o755)
    for number in numbers:
        connection.send(tuple(run_number(folder / "case", healthy, seed, number)))
    os._exit(0)


def run_number(folder: Path, healthy: Path, seed: int, number: int) -> Ended:
    """Run a case. One that took long runs again: it may have compiled kernels."""
    for _ in range(2):
        draw = random.Random(f"{seed} {number}")
        case, what = prepare(folder, healthy, draw)
        ended = run_case(case, number, what, draw)
        folder.chmod(0o777)
        if ended.seconds < SECONDS:
            break
    return ended


def prepare(folder: Path, healthy: Path, draw: random.Random) -> tuple[Case, str]:
    """A case in an empty folder, and how it is disturbed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    case = Case(draw.choice(commands()), healthy, folder)
    return case, disturb(case, draw)


if __name__ == "__main__":
    sys.exit(main())
