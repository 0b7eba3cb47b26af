"""How dualign's time and memory grow with the corpus.

    python -m benchmarks.cost_curve --sizes 1k 3k 10k 30k

Runs `dualign align SOURCE TARGET --save MODEL` on the first N pairs of Hansards, shuffled with a seed. Time
is that of the whole command, including start-up. "Memory beyond the table" is the peak minus that of a run on
a tiny text and minus the size of the model file, which is mostly the lexical table.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpora import CORPORA, Corpus, present, size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, record
from dualign.jobs.installation import DUALIGN, warm_up
from dualign.measure.table import markdown
from dualign.measure.timing import measure

HEAD = (
    "pairs", "words", "seconds", "CPU s", "µs / word", "per word / before", "peak MB", "model MB",
    "bytes / pair beyond the table",
)  # fmt: skip


def main() -> None:
    options = parser("Measure dualign's time and memory over corpus sizes.", "cost_curve.jsonl")
    add_data(options)
    options.add_argument("--sizes", nargs="+", default=["1k", "3k", "10k", "30k", "100k", "300k", "all"])
    options.add_argument("--corpus", default="hansards-fr-en", choices=CORPORA, metavar="NAME")
    given = options.parse_args()
    sizes = [size_of(size) for size in given.sizes]
    [name] = present(given.data, [given.corpus])
    keep_to(given.threads)
    print(describe(given.threads))
    print(f"{name}; seed of the shuffle: {given.seed}", flush=True)
    rows = []
    before = 0.0
    with TemporaryDirectory(prefix="dualign-cost-") as folder:
        place = Path(folder)
        base = warm_up(folder, given.threads)
        corpus = Corpus(given.data, name, given.seed)
        for size in sizes:
            if size is not None and size > len(corpus):
                print(f"{size:,} pairs: skipped, the corpus has {len(corpus):,}", flush=True)
                continue
            text = corpus.write(place, size)
            model = place / "model"
            command = [*DUALIGN, "align", str(text.source), str(text.target), "-o", str(place / "links")]
            more = ["--save", str(model), "--threads", str(given.threads), "--quiet"]
            usage = measure([*command, *more])
            table = os.path.getsize(model)
            beyond = (usage.peak_bytes - base.peak_bytes - table) / text.pairs
            per_word = 1e6 * usage.seconds / text.words
            record(
                given.json,
                {
                    "corpus": name, "pairs": text.pairs, "words": text.words, "threads": given.threads,
                    "seed": given.seed, **usage.as_dict(), "model_bytes": table,
                    "base_peak_bytes": base.peak_bytes, "bytes_per_pair": beyond,
                },
            )  # fmt: skip
            row = (
                f"{text.pairs:,}", f"{text.words:,}", f"{usage.seconds:.1f}", f"{usage.cpu_seconds:.1f}",
                f"{per_word:.2f}", f"{per_word / before:.2f}" if before else "",
                f"{usage.peak_bytes / 1e6:,.0f}", f"{table / 1e6:,.1f}", f"{beyond:,.0f}",
            )  # fmt: skip
            before = per_word
            print(" ".join(row), flush=True)
            rows.append(row)
    print("\n" + markdown(HEAD, rows, left=0))


if __name__ == "__main__":
    guarded(main)
