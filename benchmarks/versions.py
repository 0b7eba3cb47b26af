"""Two installations of dualign in one run: user CPU time and memory of the same commands, run in turn.

    python -m benchmarks.versions build/golden-4fe69c5/.venv/bin/python --only "align" "--help"
    python -m benchmarks.versions OTHER --corpora hansards-fr-en --size 10k --repeat 9

OTHER is an interpreter that has the installation to compare with; `make golden` makes one of the last
release. Each command runs once with either installation, uncounted, and then `--repeat` times with both, one
after the other, in alternating order; medians count. Ratios are those of this installation to the other.
The commands are some on the sample's 400 pairs, `align` also with an empty folder for compiled kernels
(`--cold` times); and the rows of the README: aligning each corpus, and aligning it with a saved model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.corpora import CORPORA, Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, positive, record

LAUNCHER = """
import json, os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_maxrss]))
"""
"""A small process that starts a command: a new process inherits the memory peak of its parent."""

KILOBYTE = 1 if sys.platform == "darwin" else 1024


class Command(NamedTuple):
    """What runs, in a folder with the files that it names."""

    name: str
    words: list[str]
    """Arguments of the interpreter."""
    cold: bool = False
    """Run with an empty folder for compiled kernels."""


class Medians(NamedTuple):
    """What one installation needs for a command."""

    seconds: float
    """Of user CPU time, child processes included."""
    bytes: float
    """Largest resident set."""


def main() -> None:
    options = parser("Compare two installations.", "versions.jsonl")
    add_data(options)
    options.set_defaults(threads=1)
    options.add_argument("other", metavar="OTHER", help="interpreter with the installation to compare with")
    options.add_argument("--repeat", type=positive, default=9, help="counted runs of each command")
    options.add_argument("--cold", type=positive, default=9, help="counted runs that compile kernels")
    options.add_argument("--only", nargs="+", metavar="NAME", help="rows to measure")
    options.add_argument("--corpora", nargs="*", default=list(CORPORA), choices=CORPORA, metavar="NAME")
    options.add_argument("--size", default="10k", help="training pairs of the corpora: 10k, all")
    given = options.parse_args()
    pythons = [os.path.abspath(given.other), sys.executable]
    keep_to(given.threads)
    print(f"{describe(given.threads)}\nother: {given.other}")
    print("\n| command | other, CPU s | here | ratio | other, MB | here | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    with TemporaryDirectory(prefix="dualign-versions-") as place:
        for command in commands(given, Path(place)):
            if given.only and command.name not in given.only:
                continue
            other, here = compare(command, pythons, given.cold if command.cold else given.repeat, place)
            ratios = here.seconds / other.seconds, here.bytes / other.bytes
            result = {"other": other._asdict(), "here": here._asdict(), "ratios": ratios}
            record(given.json, {"command": command.name, "threads": given.threads, **result})
            print(
                f"| {command.name} | {other.seconds:.3f} | {here.seconds:.3f} | {ratios[0]:.3f} "
                f"| {other.bytes / 1e6:.1f} | {here.bytes / 1e6:.1f} | {ratios[1]:.3f} |",
                flush=True,
            )


def commands(given: argparse.Namespace, place: Path) -> Iterator[Command]:
    """One after the other: a text is written when its command is next."""
    corpora = present(given.data, given.corpora) if given.corpora else []
    dualign, threads = ["-m", "dualign"], ["--quiet", "--threads", str(given.threads), "-o", "out"]
    yield Command("import dualign", ["-c", "import dualign"])
    yield Command("--help", [*dualign, "--help"])
    prepare(
        place, "demo --files . --quiet", "eflomal -s sample.de -t sample.en -f forward -r backward --quiet"
    )
    prepare(place, "train sample.de sample.en model --quiet")
    sample = ["sample.de", "sample.en"]
    yield Command("align", [*dualign, "align", *sample, *threads])
    yield Command("align --model", [*dualign, "align", *sample, "--model", "model", *threads])
    yield Command("symmetrize", [*dualign, "symmetrize", "forward", "backward", "--quiet", "-o", "out"])
    yield Command("align, cold", [*dualign, "align", *sample, *threads], cold=True)
    for name in corpora:
        if given.only and not {name, f"{name} --model"} & set(given.only):
            continue
        Corpus(given.data, name, given.seed).write(place, size_of(given.size))
        text = ["source", "target"]
        yield Command(name, [*dualign, "align", *text, *threads])
        prepare(place, "train source target corpus.model --quiet")
        yield Command(f"{name} --model", [*dualign, "align", *text, "--model", "corpus.model", *threads])


def prepare(place: Path, *lines: str) -> None:
    for line in lines:
        subprocess.run([sys.executable, "-m", "dualign", *line.split()], cwd=place, check=True)


def compare(command: Command, pythons: list[str], repeat: int, place: str) -> list[Medians]:
    """Run a command with each interpreter in turn."""
    found: list[list[tuple[float, float]]] = [[] for _ in pythons]
    for turn in range(repeat if command.cold else 1 + repeat):
        for k in range(len(pythons)) if turn % 2 else reversed(range(len(pythons))):
            usage = measure([pythons[k], *command.words], place, command.cold)
            if turn or command.cold:
                found[k].append(usage)
    return [Medians(*map(median, zip(*usages, strict=True))) for usages in found]


def measure(words: list[str], place: str, cold: bool) -> tuple[float, float]:
    """User CPU seconds, and the largest resident set in bytes."""
    with TemporaryDirectory(prefix="dualign-kernels-") as kernels:
        more = {"NUMBA_CACHE_DIR": kernels} if cold else {}
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *words],
            cwd=place, env=os.environ | more, stdin=subprocess.DEVNULL, capture_output=True, check=True,
        )  # fmt: skip
    code, seconds, peak = json.loads(done.stdout.splitlines()[-1])
    if code:
        sys.exit(f"{' '.join(words)} ended with {code}: {done.stderr.decode(errors='replace')}")
    return seconds, peak * KILOBYTE


if __name__ == "__main__":
    guarded(main)
