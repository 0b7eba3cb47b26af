"""How dualign's time and memory grow with the corpus, and shrink with the number of threads.

    python -m benchmarks.cost_curve --sizes 1k 3k 10k 30k --threads 1 2 --phases

Runs `dualign align SOURCE TARGET --save MODEL` on the first N pairs of Hansards, shuffled with a seed, once
for each number of threads, restricted to as many processors. Time is that of the whole command, including
start-up; the speed-up is over the first number of threads. "Memory beyond the table" is the peak minus that
of a run on a tiny text with as many threads, and minus the size of the model file, which is mostly the
lexical table. `--phases` adds a table of the processor time of each phase, for the largest text.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.by_threads import digest_of, phase_table
from benchmarks.corpora import CORPORA, Corpus, Text, present, size_of
from benchmarks.runs import add_data, describe, guarded, kept_to, parser, record
from dualign._core.errors import DataError
from dualign._core.memory import as_bytes
from dualign.commands.bench import DUALIGN, measure_profiled, warm_up
from dualign.commands.warming import compile_kernels
from dualign.measure.timing import Usage, markdown

HEAD = (
    "pairs", "words", "threads", "seconds", "CPU s", "speed-up", "µs / word", "per word / before", "peak MB",
    "model MB", "bytes / pair beyond the table",
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One run: a text, a number of threads, and what the command took."""

    text: Text
    threads: int
    usage: Usage
    profile: dict[str, Any]
    model_bytes: int
    base: Usage
    """Of a tiny text."""
    digest: str

    @property
    def per_word(self) -> float:
        """Microseconds."""
        return 1e6 * self.usage.seconds / self.text.words

    @property
    def beyond(self) -> float:
        """Bytes per pair beyond the program and the table."""
        return (self.usage.peak_bytes - self.base.peak_bytes - self.model_bytes) / self.text.pairs

    def content(self, first: Point) -> dict[str, Any]:
        """For the file of results."""
        return {
            "pairs": self.text.pairs, "words": self.text.words, "threads": self.threads,
            **self.usage.as_dict(), "speed_up": first.usage.seconds / self.usage.seconds,
            "model_bytes": self.model_bytes, "base_peak_bytes": self.base.peak_bytes,
            "bytes_per_pair": self.beyond, "profile": self.profile,
        }  # fmt: skip

    def row(self, first: Point, before: Point | None) -> tuple[str, ...]:
        """For the table; `first` has the same text on the first number of threads, `before` a smaller one."""
        return (
            f"{self.text.pairs:,}", f"{self.text.words:,}", f"{self.threads}", f"{self.usage.seconds:.1f}",
            f"{self.usage.cpu_seconds:.1f}", f"{first.usage.seconds / self.usage.seconds:.2f}",
            f"{self.per_word:.2f}", "" if before is None else f"{self.per_word / before.per_word:.2f}",
            f"{self.usage.peak_bytes / 1e6:,.0f}", f"{self.model_bytes / 1e6:,.1f}", f"{self.beyond:,.0f}",
        )  # fmt: skip


def main() -> None:
    options = parser("Measure dualign's time and memory over corpus sizes.", "cost_curve.jsonl", several=True)
    add_data(options)
    options.add_argument("--sizes", nargs="+", default=["1k", "3k", "10k", "30k", "100k", "300k", "all"])
    options.add_argument("--corpus", default="hansards-fr-en", choices=CORPORA, metavar="NAME")
    options.add_argument("--memory", metavar="SIZE", help="memory that dualign may use, such as 4G")
    options.add_argument("--phases", action="store_true", help="also show where the time goes")
    given = options.parse_args()
    sizes = [size_of(size) for size in given.sizes]
    if given.memory is not None:
        as_bytes(given.memory)  # refuse what is no size before the first run
    given.threads = list(dict.fromkeys(given.threads))
    [name] = present(given.data, [given.corpus])
    print(describe(given.threads))
    memory = f"; --memory {given.memory}" if given.memory else ""
    print(f"{name}; seed of the shuffle: {given.seed}{memory}", flush=True)
    rows = []
    points: list[Point] = []
    compile_kernels(print, "long")  # otherwise the first run with a very long sentence would do it
    with TemporaryDirectory(prefix="dualign-cost-") as folder:
        bases = {threads: smallest(folder, threads) for threads in given.threads}
        corpus = Corpus(given.data, name, given.seed)
        for size in sizes:
            if size is not None and size > len(corpus):
                print(f"{size:,} pairs: skipped, the corpus has {len(corpus):,}", flush=True)
                continue
            text = corpus.write(Path(folder), size)
            before = {point.threads: point for point in points}
            points = []
            for threads in given.threads:
                point = measured(text, Path(folder), threads, bases[threads], given.memory)
                points.append(point)
                run = {"corpus": name, "seed": given.seed, "memory": given.memory}
                record(given.json, run | point.content(points[0]))
                rows.append(point.row(points[0], before.get(threads)))
                print(" ".join(rows[-1]), flush=True)
                if point.digest != points[0].digest:
                    raise DataError(f"{threads} threads: other bytes than with {points[0].threads}, a bug")
    print("\n" + markdown(HEAD, rows, left=0))
    if given.phases and points:
        print("\n" + phase_table(f"{rows[-1][0]} pairs", [point.profile for point in points]))


def smallest(folder: str, threads: int) -> Usage:
    """What a tiny text takes; compiles kernels."""
    with kept_to(threads):
        return warm_up(folder, threads)


def measured(text: Text, place: Path, threads: int, base: Usage, memory: str | None) -> Point:
    """Train on a text and align it."""
    model, links = str(place / "model"), str(place / "links")
    command = [*DUALIGN, "align", str(text.source), str(text.target), "-o", links, "--save", model]
    command += ["--threads", str(threads), "--quiet"]
    if memory is not None:
        command += ["--memory", memory]
    with kept_to(threads):
        usage, profile = measure_profiled(command, str(place))
    return Point(text, threads, usage, profile, os.path.getsize(model), base, digest_of(model, links))


if __name__ == "__main__":
    guarded(main)
