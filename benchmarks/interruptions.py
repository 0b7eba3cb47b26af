"""Signals at random moments: the right exit code, one line, old outputs intact, nothing left behind.

    python -m benchmarks.interruptions                 # every command, 20 moments each
    python -m benchmarks.interruptions --moments 5 --verbs align phrases

Commands run as users run them, in processes of their own. Moments are drawn, by `--seed`, between the first
instruction of dualign (what the interpreter does before is its own) and the time that the command takes.
After SIGKILL, which nobody can heed, the next run must have removed what was left; and of several outputs
some may be there already, each of them whole. A signal that comes too late leaves all of them, whole. The
training of a translation system may leave SYSTEM.partial, if it can go on there with `--resume`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

from tests.fuzz.case import Case
from tests.fuzz.inputs import OLD, commands, make

# Whoever runs this in the background may have it ignore Ctrl-C, and Python would go on to do so.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from dualign.__main__ import main; main()"
)
WORDS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}

MORE = """
translate train source target SYSTEM --order 2 --rounds 1 -q
demo -q
"""
"""Commands whose outputs are folders, or none."""


class Interrupted(NamedTuple):
    """What became of a command: the signal, after how many seconds, exit code, stderr, what is wrong."""

    command: str
    signal: str
    after: float
    code: int
    said: str
    fault: str


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description="Interrupt commands at random moments.")
    options.add_argument("--moments", type=int, default=20, help="for each command and signal")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--pairs", type=int, default=60, help="size of the text")
    options.add_argument("--verbs", nargs="*", default=[], help="only these")
    options.add_argument("--signals", nargs="*", default=["INT", "TERM", "KILL"])
    given = options.parse_args(arguments)
    began, codes, faults = perf_counter(), Counter[int](), 0
    writing = [words for words in commands() if any(word.startswith("OUT") for word in words)]
    every = [
        *(words for words in writing if "OUTDIR" not in words),
        *map(str.split, MORE.strip().splitlines()),
    ]
    chosen = [words for words in every if not given.verbs or words[0] in given.verbs]
    signals = [signal.Signals[f"SIG{name}"] for name in given.signals]
    with tempfile.TemporaryDirectory(prefix="interruptions-") as folder:
        for each in interrupt(Path(folder), chosen, signals, given.moments, given.seed, given.pairs):
            codes[each.code] += 1
            if each.fault:
                faults += 1
                print(json.dumps(each._asdict()), flush=True)
    ends = ", ".join(f"{count:,} with {code}" for code, count in sorted(codes.items()))
    print(f"{sum(codes.values()):,} signals in {perf_counter() - began:.0f} s: {ends}; {faults} faults")
    return bool(faults)


def interrupt(
    place: Path, chosen: list[list[str]], signals: list[signal.Signals], moments: int, seed: int, pairs: int
) -> Iterator[Interrupted]:
    """Run each command to its end, then send it each signal at so many moments."""
    healthy = place / "healthy"
    healthy.mkdir()
    make(healthy, pairs)
    for words in chosen:
        folder = place / "case"
        _, took, _, _ = _run(words, healthy, folder, None, 0.0)
        whole = {path.name: _lines(path) for path in folder.glob("OUT*")}
        for number in signals:
            draw = random.Random(f"{seed} {' '.join(words)} {number.name}")
            for _ in range(moments):
                yield _interrupted(words, healthy, folder, number, draw.uniform(0, took), whole)


def _interrupted(
    words: list[str], healthy: Path, folder: Path, number: signal.Signals, after: float, whole: dict[str, int]
) -> Interrupted:
    code, _, said, sent = _run(words, healthy, folder, number, after)
    fault = ""
    right, word = WORDS.get(number, (-signal.SIGKILL, ""))
    if code not in ((0, right) if not sent or code == 0 else (right,)):
        fault = f"exit {code}"
    elif "Traceback" in said or "Exception ignored" in said:
        fault = "traceback"
    elif code == right and word and f"dualign: {word}\n" not in said:
        fault = "no message"
    elif code != 0 and (changed := _changed(folder, number, whole)):
        fault = f"changed {changed}"
    elif number == signal.SIGKILL or (folder / "SYSTEM.partial").exists():
        more = [] if number == signal.SIGKILL else ["--resume"]
        again, *_ = _run([*words, *more], healthy, folder, None, 0.0, fresh=False)
        fault = _left(folder) if again == 0 else f"exit {again} of the next run"
    elif code != 0:
        fault = _left(folder)
    return Interrupted(" ".join(words), number.name, after, code, said[-1000:], fault)


def _run(
    words: list[str],
    healthy: Path,
    folder: Path,
    number: signal.Signals | None,
    after: float,
    *,
    fresh: bool = True,
) -> tuple[int, float, str, bool]:
    """Run a command in an emptied folder, with old outputs; exit code, seconds, stderr, was a signal sent."""
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "scratch").mkdir(parents=True)
    arguments = Case(words, healthy, folder).arguments()
    arguments = [str(folder / "SYSTEM") if word == "SYSTEM" else word for word in arguments]
    if fresh:
        for path in _outputs(arguments):
            path.write_bytes(OLD)
    environment = {**os.environ, "TMPDIR": str(folder / "scratch")}
    began, sent = perf_counter(), False
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=folder,
        text=True,
    ) as process:
        if number is not None:
            while process.poll() is None and not _catches(process.pid):
                sleep(0.0005)
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
                sent = True
        _, said = process.communicate(timeout=300)
    return process.returncode, perf_counter() - began, said, sent


def _catches(pid: int) -> bool:
    """Whether a process handles SIGTERM: dualign has begun."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    mask = next((line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), "0")
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


def _outputs(arguments: list[str]) -> list[Path]:
    return [Path(word) for word in arguments if Path(word).name.startswith("OUT")]


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _changed(folder: Path, number: signal.Signals, whole: dict[str, int]) -> str:
    """Outputs that are not what they were, nor as long as those of a command that is not disturbed."""
    changed = [path for path in folder.glob("OUT*") if path.read_bytes() != OLD]
    may_be_new = number == signal.SIGKILL or len(changed) == len(whole)
    names = [path.name for path in changed if not may_be_new or whole.get(path.name) != _lines(path)]
    return ", ".join([*names, *(path.name for path in folder.glob("SYSTEM/*"))])


def _left(folder: Path) -> str:
    """Files that nobody asked for."""
    names = [
        path.name
        for path in [*folder.iterdir(), *(folder / "scratch").iterdir()]
        if path.name not in ("scratch", "SYSTEM") and not path.name.startswith(("OUT", "matplotlib-"))
    ]
    return f"left {', '.join(sorted(names))}" if names else ""


if __name__ == "__main__":
    sys.exit(main())
