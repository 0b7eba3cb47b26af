"""What the benchmarks share: their options, the processors they use, and the file of results."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.corpora import CORPORA, DATA, Corpus, present
from dualign._core.errors import DualignError
from dualign.commands.bench import versions

RESULTS = Path("build") / "benchmarks"


def parser(description: str, results: str, *, several: bool = False) -> argparse.ArgumentParser:
    """The options of all benchmarks; with `several`, `--threads` is a list of numbers to compare."""
    options = argparse.ArgumentParser(description=description)
    if several:
        help = "numbers of threads, one run for each; speed-ups are over the first"
        options.add_argument(
            "--threads", type=positive, nargs="+", default=[processors()], metavar="N", help=help
        )
    else:
        options.add_argument(
            "--threads", type=positive, default=processors(), help="threads for every system"
        )
    options.add_argument(
        "--json", type=Path, default=RESULTS / results, metavar="FILE", help="file to append results to"
    )
    return options


def add_data(options: argparse.ArgumentParser) -> None:
    options.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="directory of the corpora")
    options.add_argument("--seed", type=int, default=1, help="seed of the shuffle")


def add_corpora(options: argparse.ArgumentParser) -> None:
    """`add_data`, and which corpora of it, for `each_corpus`."""
    add_data(options)
    options.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, metavar="NAME")


def each_corpus(given: argparse.Namespace) -> Iterator[Corpus]:
    """The corpora that were chosen and are there, one by one; says first what it is measured with."""
    names = present(given.data, given.corpora)
    keep_to(given.threads)
    print(f"{describe(given.threads)}\nseed of the shuffle: {given.seed}", flush=True)
    for name in names:
        yield Corpus(given.data, name, given.seed)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_to(threads: int) -> None:
    """Restrict this process and its children to as many processors as threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


@contextmanager
def kept_to(threads: int) -> Iterator[None]:
    """The same until the end of the block."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    keep_to(threads)
    try:
        yield
    finally:
        if before:
            os.sched_setaffinity(0, before)


def describe(threads: int | Sequence[int]) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in versions().items())
    numbers = [threads] if isinstance(threads, int) else threads
    return f"{machine}; threads: {', '.join(map(str, numbers))}"


def record(path: Path, result: dict[str, Any]) -> None:
    """Append one result to a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(result | {"versions": versions()}) + "\n")


def guarded(main: Callable[[], None]) -> None:
    """Run a benchmark; errors are reported in one line."""
    try:
        main()
    except DualignError as error:
        sys.exit(f"error: {error}")
    except OSError as error:
        sys.exit(f"error: {error.filename or ''}: {error.strerror or error}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
