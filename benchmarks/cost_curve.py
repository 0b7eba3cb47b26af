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
from argparse import Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpora import CORPORA, Corpus, Text, present, size_of
from benchmarks.runs import add_data, describe, guarded, kept_to, parser, record
from dualign.core.errors import DataError
from dualign.core.workspace import as_bytes
from dualign.jobs.installation import DUALIGN, warm_up
from dualign.jobs.speed import digest_of, measure_profiled, phase_table
from dualign.measure.table import markdown
from dualign.measure.timing import Usage

HEAD = (
    "pairs", "words", "threads", "seconds", "CPU s", "speed-up", "µs / word", "per word / before", "peak MB",
    "model MB", "bytes / pair beyond the table",
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
    profiles: list[dict[str, Any]] = []
    before: dict[int, float] = {}
    with TemporaryDirectory(prefix="dualign-cost-") as folder:
        place = Path(folder)
        bases = {}
        for threads in given.threads:
            with kept_to(threads):
                bases[threads] = warm_up(folder, threads)
        corpus = Corpus(given.data, name, given.seed)
        for size in sizes:
            if size is not None and size > len(corpus):
                print(f"{size:,} pairs: skipped, the corpus has {len(corpus):,}", flush=True)
                continue
            text = corpus.write(place, size)
            profiles = []
            first: Usage | None = None
            digests = set()
            for threads in given.threads:
                usage, profile = measured(text, place, threads, given)
                first = first or usage
                profiles.append(profile)
                digests.add(digest_of(str(place / "model"), str(place / "links")))
                table = os.path.getsize(place / "model")
                beyond = (usage.peak_bytes - bases[threads].peak_bytes - table) / text.pairs
                per_word = 1e6 * usage.seconds / text.words
                record(
                    given.json,
                    {
                        "corpus": name, "pairs": text.pairs, "words": text.words, "threads": threads,
                        "seed": given.seed, "memory": given.memory, **usage.as_dict(),
                        "speed_up": first.seconds / usage.seconds, "model_bytes": table,
                        "base_peak_bytes": bases[threads].peak_bytes, "bytes_per_pair": beyond,
                        "profile": profile,
                    },
                )  # fmt: skip
                row = (
                    f"{text.pairs:,}", f"{text.words:,}", f"{threads}", f"{usage.seconds:.1f}",
                    f"{usage.cpu_seconds:.1f}", f"{first.seconds / usage.seconds:.2f}", f"{per_word:.2f}",
                    f"{per_word / before[threads]:.2f}" if threads in before else "",
                    f"{usage.peak_bytes / 1e6:,.0f}", f"{table / 1e6:,.1f}", f"{beyond:,.0f}",
                )  # fmt: skip
                before[threads] = per_word
                print(" ".join(row), flush=True)
                rows.append(row)
            if len(digests) > 1:
                raise DataError(f"{text.pairs:,} pairs: the bytes depend on the number of threads, a bug")
    print("\n" + markdown(HEAD, rows, left=0))
    if given.phases and profiles:
        print("\n" + phase_table(f"{rows[-1][0]} pairs", profiles))


def measured(text: Text, place: Path, threads: int, given: Namespace) -> tuple[Usage, dict[str, Any]]:
    """What training and aligning took, and where their time went."""
    command = [*DUALIGN, "align", str(text.source), str(text.target), "-o", str(place / "links")]
    more = ["--save", str(place / "model"), "--threads", str(threads), "--quiet"]
    if given.memory is not None:
        more += ["--memory", given.memory]
    with kept_to(threads):
        return measure_profiled([*command, *more], str(place))


if __name__ == "__main__":
    guarded(main)
