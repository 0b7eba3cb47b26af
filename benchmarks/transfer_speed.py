"""Projecting trees and tags: sentences per minute on one core, and memory that does not grow with the text.

    python -m benchmarks.transfer_speed --sentences 20k 100k

The text repeats the sentences of a French treebank and their English translations (PUD); every word is linked
to the one at the same position. Time is that of the whole command: start, reading two CoNLL-U files and
links, writing a third file.
"""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpora import size_of
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, record
from dualign._core.errors import UsageError
from dualign.commands.bench import DUALIGN
from dualign.measure.timing import markdown, measure
from dualign.text.conllu import read_conllu, write_conllu

HEAD = ("verb", "sentences", "words", "seconds", "CPU s", "sentences/minute", "peak MB")


def main() -> None:
    options = parser("Measure how fast annotation is carried across.", "transfer_speed.jsonl")
    options.set_defaults(threads=1)
    add_data(options)
    options.add_argument("--sentences", nargs="+", default=["20k", "100k"], help="sentences, increasing")
    given = options.parse_args()
    keep_to(given.threads)
    print(describe(given.threads), flush=True)
    treebanks = [given.data / "pud" / f"{language}.conllu.gz" for language in ("fr", "en")]
    if missing := [str(path) for path in treebanks if not path.is_file()]:
        raise UsageError(f"no {', '.join(missing)}; name the directory of the corpora with --data")
    source, target = (list(read_conllu(str(path))) for path in treebanks)
    rows = []
    for size in map(size_of, given.sentences):
        if size is None:
            raise UsageError("the text is repeated without end; give numbers of sentences")
        with TemporaryDirectory(prefix="dualign-transfer-") as folder:
            files = [str(Path(folder) / name) for name in ("source.conllu", "target.conllu", "links")]
            write_conllu(islice(cycle(source), size), files[0])
            write_conllu(islice(cycle(target), size), files[1])
            lengths = [(len(s), len(t)) for s, t in zip(source, target, strict=True)]
            with open(files[2], "w", encoding="utf-8") as stream:
                for s, t in islice(cycle(lengths), size):
                    stream.write(" ".join(f"{k}-{k}:0.{k % 9 + 1}" for k in range(min(s, t))) + "\n")
            words = sum(t for _, t in islice(cycle(lengths), size))
            for verb in ("tree", "tags"):
                command = [*DUALIGN, "transfer", verb, *files, "-o", str(Path(folder) / "out.conllu"), "-q"]
                usage = measure(command)
                rate = 60 * size / usage.seconds
                record(given.json, {"verb": verb, "sentences": size, "words": words, **usage.as_dict()})
                times = f"{usage.seconds:.1f}", f"{usage.cpu_seconds:.1f}"
                memory = f"{usage.peak_bytes / 1e6:,.0f}"
                rows.append((verb, f"{size:,}", f"{words:,}", *times, f"{rate:,.0f}", memory))
    print("\n" + markdown(HEAD, rows))


if __name__ == "__main__":
    guarded(main)
