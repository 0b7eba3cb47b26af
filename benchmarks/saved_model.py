"""Aligning new text with a saved model: pairs per second, and memory that does not grow with the text.

    python -m benchmarks.saved_model --lines 20k 200k

The model is trained on synthetic text of 15 words per side, and new text of the same kind is aligned by
`dualign align SOURCE TARGET --model MODEL`, by default on one thread. Time is that of the whole command:
start, reading, aligning, writing. The rate between two sizes is computed from the difference, so the start
cancels out.

    python -m benchmarks.saved_model --open 2G

instead measures how long it takes to open a model of this size, and what it takes in memory, when it is read,
and when it is mapped: a lexicon of 10 made translations per word, opened in a process of its own, three times
each. The file has just been written, so most of it is in the system's memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.corpora import size_of
from benchmarks.runs import describe, guarded, keep_to, parser, positive, record
from dualign import Aligner
from dualign._core.errors import UsageError
from dualign._core.memory import as_bytes
from dualign.commands.bench import DUALIGN, warm_up
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model, Vocabulary
from dualign.measure.timing import markdown, measure
from dualign.text.samples import generate

HEAD = ("pairs", "seconds", "CPU s", "pairs/s", "pairs/s between", "peak MB")
MEAN_LENGTH = 15.0
EACH = 10
"""Translations of a word of a model that is made."""

OPEN = """
import json, sys, time
import dualign.hmm.model as it
began = time.perf_counter()
model = it.Model.load(sys.argv[1], mapped=sys.argv[2] == "mapped")
seconds = time.perf_counter() - began
kinds = dict(line.split()[:2] for line in open("/proc/self/smaps_rollup") if "kB" in line)
print(json.dumps([seconds, *(int(kinds[kind]) / 1000 for kind in ("Rss:", "Anonymous:"))]))
"""


def main() -> None:
    options = parser("Measure aligning with a saved model.", "saved_model.jsonl")
    options.set_defaults(threads=1)
    options.add_argument("--train", type=positive, default=10_000, help="pairs to train the model on")
    options.add_argument("--lines", nargs="+", default=["20k", "100k"], help="pairs to align, increasing")
    options.add_argument("--seed", type=int, default=0, help="seed of the synthetic text")
    options.add_argument("--open", type=as_bytes, help="only open a model of this size, such as 2G")
    given = options.parse_args()
    if given.open:
        opened(given.open)
        return
    sizes = [size_of(size) for size in given.lines]
    if None in sizes:
        raise UsageError("synthetic text has no end; give numbers of lines")
    keep_to(given.threads)
    print(describe(given.threads))
    rows = []
    before = (0, 0.0)
    with TemporaryDirectory(prefix="dualign-saved-") as folder:
        place = Path(folder)
        warm_up(folder, given.threads)
        largest = max(size for size in sizes if size)
        stream = generate(given.train + largest, seed=given.seed, mean_length=MEAN_LENGTH)
        words = write(place / "train", islice(stream, given.train))
        print(f"trained on {given.train:,} pairs of {words / given.train / 2:.1f} words per side", flush=True)
        model = str(place / "model")
        quiet = ["--threads", str(given.threads), "--quiet"]
        measure([*DUALIGN, "train", *names(place / "train"), model, *quiet])
        made = list(stream)
        for size in (size for size in sizes if size):
            write(place / "new", made[:size])
            command = [*DUALIGN, "align", *names(place / "new"), "--model", model, "-o", str(place / "links")]
            usage = measure([*command, *quiet])
            between = (size - before[0]) / (usage.seconds - before[1]) if before[0] else 0.0
            record(
                given.json,
                {
                    "pairs": size, "trained_on": given.train, "threads": given.threads, "seed": given.seed,
                    **usage.as_dict(), "pairs_per_second": size / usage.seconds,
                },
            )  # fmt: skip
            times = f"{usage.seconds:.2f}", f"{usage.cpu_seconds:.2f}"
            rates = f"{size / usage.seconds:,.0f}", f"{between:,.0f}" if between else ""
            rows.append((f"{size:,}", *times, *rates, f"{usage.peak_bytes / 1e6:,.0f}"))
            before = (size, usage.seconds)
    print("\n" + markdown(HEAD, rows, left=0))


def opened(size: int) -> None:
    """Make a model of about `size` bytes, open it, and print what that takes."""
    with TemporaryDirectory(prefix="dualign-saved-", dir="/var/tmp") as folder:
        path = Path(folder, "model")
        made(size).save(path)
        rows = []
        for way in ("read", "mapped") * 3:
            run = subprocess.run(
                [sys.executable, "-c", OPEN, str(path), way], stdout=subprocess.PIPE, check=True
            )
            seconds, whole, own = json.loads(run.stdout)
            size = path.stat().st_size
            rows.append((way, f"{size / 1e6:,.0f}", f"{seconds:.2f}", f"{whole:,.0f}", f"{own:,.0f}"))
    print(markdown(("the file is", "MB", "seconds", "MB in memory", "of them its own"), sorted(rows), left=1))


def made(size: int) -> Model:
    """A model with a lexicon of so many bytes."""
    words = size // (12 * EACH + 40)
    small = Aligner(threads=1, rounds=1, ibm1_rounds=1).fit([(["a"], ["b"])]).model
    side = Vocabulary([f"w{n:07d}" for n in range(words)])
    columns = np.sort(np.random.default_rng(0).integers(0, words, (words, EACH), np.int32)).ravel()
    table, null = np.full((words * EACH, 2), 1 / EACH, np.float32), np.full(words, 1 / words, np.float32)
    none = np.zeros(words, np.int32)
    lexicon = Lexicon(np.arange(words + 1) * EACH, columns, table, null, null)
    jumps = small.jumps._replace(by_target=none, by_source=none)
    return replace(small, source=side, target=side, lexicon=lexicon, jumps=jumps, seen=None)


def names(stem: Path) -> list[str]:
    return [f"{stem}.source", f"{stem}.target"]


def write(stem: Path, pairs) -> int:
    """Write the two sides of a text; returns the number of words of both."""
    source, target = names(stem)
    words = 0
    with open(source, "w", encoding="utf-8") as left, open(target, "w", encoding="utf-8") as right:
        for s, t, _ in pairs:
            words += len(s) + len(t)
            left.write(" ".join(s) + "\n")
            right.write(" ".join(t) + "\n")
    return words


if __name__ == "__main__":
    guarded(main)
