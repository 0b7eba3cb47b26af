"""Damaged files, thousands of them: every command must end with 0, 1 or 2, soon, in little memory, tidily.

    python -m benchmarks.faults                    # minutes
    python -m benchmarks.faults --cases 200000     # an hour
    python -m benchmarks.faults --case 4711        # one again, and what it says

Each case damages one input of one command (`benchmarks.fault_files`) in one way (`benchmarks.damage`), all
drawn by `--seed` and the number of the case. Commands run in worker processes: a fault is an exit code that
says "a bug" or a traceback, a process that dies, more than 10 seconds of processor time, more than 1 GiB of
memory, an output that has changed although the command failed, and files that are left behind.
"""

from __future__ import annotations

import argparse
import io
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
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from benchmarks.damage import damage
from benchmarks.fault_files import OLD, commands, decode_forest, make
from dualign.commands.cli import guarded, run

SECONDS = 10.0
MEMORY = 1 << 30
PATIENCE = 120.0
"""Seconds by the clock after which a process is killed in any case; the machine may be busy."""

ROOM = 16 << 30
"""Address space of a worker: a safeguard for the machine. Mapping much and using little is no fault."""


class Ended(NamedTuple):
    """What became of a case: exit code, what it said on stderr, seconds, bytes at most, what is wrong."""

    case: int
    command: str
    damage: str
    code: int
    said: str
    seconds: float
    memory: int
    fault: str


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Run commands on damaged files.")
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
    healthy = place / "healthy"
    if not healthy.exists():
        healthy.mkdir()
        make(healthy)
    for words in commands():  # compiles, imports: workers begin with all of that
        scratch = Path(tempfile.mkdtemp(dir=place))
        if code := execute(arguments_of(words, healthy, scratch)):
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
        command, what, *_ = prepare(self.place / "again", self.healthy, self.seed, number)
        ended = Ended(number, command, what, -1, "", perf_counter() - self.since, 0, fault)
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
    for number in numbers:
        connection.send(tuple(run_case(folder / "case", healthy, seed, number)))
    os._exit(0)


def run_case(folder: Path, healthy: Path, seed: int, number: int) -> Ended:
    """Damage a file, run a command, look at what it leaves."""
    command, what, words, outputs = prepare(folder, healthy, seed, number)
    before = {path.name for path in folder.iterdir()}
    began, said = process_time(), io.StringIO()
    _forget_peak()
    shared = _peak()  # what the process began with, most of it its parent's
    errors, sys.stderr = sys.stderr, said
    try:
        code = execute(words)
    finally:
        sys.stderr = errors
    seconds, memory, text = process_time() - began, _peak() - shared, said.getvalue()
    left = {path.name for path in folder.iterdir()} - before - {path.name for path in outputs}
    left = {name for name in left if not any(name.startswith(f"{path.name}.") for path in outputs)}
    changed = [path.name for path in outputs if code and path.exists() and path.read_bytes() != OLD]
    fault = ""
    if code not in (0, 1, 2):
        fault = f"exit {code}"
    elif "Traceback" in text or "Exception ignored" in text:
        fault = "traceback"
    elif seconds > SECONDS:
        fault = f"{seconds:.0f} s"
    elif memory > MEMORY or "out of memory" in text:
        fault = f"{memory >> 20} MiB"
    elif left:
        fault = f"left {', '.join(sorted(left))}"
    elif changed:
        fault = f"changed {', '.join(changed)}"
    return Ended(number, command, what, code, text[-2000:], seconds, memory, fault)


def prepare(folder: Path, healthy: Path, seed: int, number: int) -> tuple[str, str, list[str], list[Path]]:
    """A folder for a case: the command as text, what was damaged, its words, its outputs."""
    draw = random.Random(f"{seed} {number}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = draw.choice(commands())
    inputs = sorted({word for word in words[1:] if (healthy / word).exists()})
    chosen = draw.choice(inputs)
    copy = folder / chosen
    if (healthy / chosen).is_dir():
        shutil.copytree(healthy / chosen, copy)
    else:
        shutil.copy(healthy / chosen, copy)
    what = damage(copy, draw)
    arguments = arguments_of(words, healthy, folder, chosen)
    outputs = [Path(word) for word in arguments if Path(word).name.startswith("OUT")]
    for path in outputs:
        if draw.random() < 0.5:
            path.write_bytes(OLD)
    return " ".join(words), what, arguments, outputs


def arguments_of(words: list[str], healthy: Path, folder: Path, damaged: str = "") -> list[str]:
    """The words of a command with paths for names."""
    paths = []
    for word in words:
        if word == damaged or word.startswith("OUT"):
            paths.append(str(folder / word))
        elif word == "HERE":
            paths.append(str(folder))
        else:
            paths.append(str(healthy / word) if (healthy / word).exists() else word)
    if words[0] == "forest":
        both = {name: str(healthy / name) for name in ("forest", "lm.arpa")}
        return ["forest", *({**both, words[1]: paths[1]}.values())]
    return [words[0], *paths[1:]]


def execute(words: list[str]) -> int:
    """Run a command in this process, without its output."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        shown, sys.stdout = sys.stdout, nowhere
        try:
            if words[0] == "forest":
                return guarded(lambda: decode_forest(words[1], words[2]))
            return run(words)
        finally:
            sys.stdout = shown


def _forget_peak() -> None:
    """Let the system count the largest memory from now on."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """The largest memory of this process since then, in bytes."""
    try:
        status: Any = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


if __name__ == "__main__":
    sys.exit(main())
