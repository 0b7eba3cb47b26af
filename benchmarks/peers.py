"""dualign compared with other aligners: time, memory and AER on the same text in one run.

    python -m benchmarks.peers --sizes 10k 100k all --corpora hansards-fr-en

See benchmarks/README.md for the protocol, and `systems.py` for the commands.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpora import CORPORA, Corpus, Text, present, size_of
from benchmarks.misses import misses
from benchmarks.runs import add_data, describe, guarded, keep_to, parser, positive, record
from benchmarks.systems import SYSTEMS, Answer
from dualign._core.errors import DataError
from dualign.commands.bench import warm_up
from dualign.measure.bootstrap import compare
from dualign.measure.links import evaluate
from dualign.measure.timing import markdown

HEAD = (
    "text", "pairs", "system", "links", "seconds", "CPU s", "peak MB", "AER", "lowest", "highest", "P", "R",
    "time / dualign's", "CPU / dualign's", "memory / dualign's", "dualign better",
)  # fmt: skip


def main() -> None:
    options = parser("Run dualign beside its peers.", "peers.jsonl")
    add_data(options)
    options.add_argument(
        "--sizes", nargs="+", default=["10k", "100k", "all"], help="training pairs: 10k, all"
    )
    options.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, metavar="NAME")
    names = [system.name for system in SYSTEMS]
    options.add_argument("--systems", nargs="+", default=names, choices=names, metavar="NAME")
    options.add_argument(
        "--repeat",
        type=positive,
        default=1,
        help="runs of each system: fastest time, mean AER and its spread",
    )
    options.add_argument("--misses", action="store_true", help="print which gold links each system misses")
    given = options.parse_args()
    sizes = [(text, size_of(text)) for text in given.sizes]
    corpora = present(given.data, given.corpora)
    systems = []
    for system in (system() for system in SYSTEMS if system.name in ("dualign", *given.systems)):
        if reason := system.missing():
            print(f"{system.name}: not measured, {reason}")
        else:
            systems.append(system)
    keep_to(given.threads)
    print(describe(given.threads))
    print(f"peers: {', '.join(f'{s.name} {s.version()}' for s in systems[1:]) or 'none'}")
    print(f"seed of the shuffle: {given.seed}", flush=True)
    rows: list[tuple[str, ...]] = []
    with TemporaryDirectory(prefix="dualign-peers-") as place:
        warm_up(place, given.threads)
        for name in corpora:
            corpus = Corpus(given.data, name, given.seed)
            for size_name, size in sizes:
                if size is not None and size >= len(corpus) and any(s is None for _, s in sizes):
                    print(f"{name} {size_name}: skipped, the corpus has {len(corpus):,} pairs", flush=True)
                    continue
                text = corpus.write(Path(place), size)
                rows += run_all(systems, text, name, given, Path(place))
    print("\n" + markdown(HEAD, rows, left=4))


def run_all(systems: list[Any], text: Text, name: str, given: Any, place: Path) -> list[tuple[str, ...]]:
    """The rows of one text; the first system is dualign."""
    rows = []
    ours: Answer | None = None
    for system in systems:
        with TemporaryDirectory(dir=place) as own:
            try:
                runs = [system.run(text, fresh(own, n), given.threads) for n in range(given.repeat)]
            except DataError as error:
                print(f"{name}, {text.pairs:,} pairs: {system.name} failed: {error}", flush=True)
                if ours is None:
                    return []  # dualign itself: there is nothing to compare with
                continue
        answer = min(runs, key=lambda run: run.usage.seconds)
        rated = {method: evaluate(links, text.gold) for method, links in answer.links.items()}
        best = min(rated, key=lambda method: rated[method].aer)
        # Some systems are random: each run by its own best method.
        errors = [min(evaluate(links, text.gold).aer for links in run.links.values()) for run in runs]
        ours = ours or answer
        usage, base, quality = answer.usage, ours.usage, rated[best]
        ratio, processor = usage.seconds / base.seconds, usage.cpu_seconds / base.cpu_seconds
        memory = usage.peak_bytes / base.peak_bytes
        share = compare(ours.links["default"], answer.links[best], text.gold).first_better
        record(
            given.json,
            {
                "corpus": name, "pairs": text.pairs, "words": text.words, "system": system.name,
                "system_version": system.version(), "threads": given.threads, "seed": given.seed,
                "repeat": given.repeat, **usage.as_dict(), "time_ratio": ratio, "cpu_ratio": processor,
                "memory_ratio": memory, "symmetrization": best, "quality": quality.as_dict(),
                "dualign_better": share,
                "aer": {method: value.aer for method, value in rated.items()}, "errors": errors,
            },
        )  # fmt: skip
        row = (
            name, f"{text.pairs:,}", system.name, best, f"{usage.seconds:.1f}", f"{usage.cpu_seconds:.1f}",
            f"{usage.peak_bytes / 1e6:,.0f}", f"{100 * mean(errors):.2f}", f"{100 * min(errors):.2f}",
            f"{100 * max(errors):.2f}", f"{100 * quality.precision:.2f}",
            f"{100 * quality.recall:.2f}", f"{ratio:.2f}", f"{processor:.2f}", f"{memory:.2f}",
            "" if answer is ours else f"{100 * share:.0f} %",
        )  # fmt: skip
        print(" ".join(row), flush=True)
        rows.append(row)
        if given.misses:
            groups = misses(text.pairs_with_gold, answer.links[best], text.gold, text.frequencies)
            shares = [
                f"{name} {lost} of {total} ({100 * lost / total:.1f} %)"
                for name, (total, lost) in groups.items()
            ]
            print(f"  missed: {', '.join(shares)}", flush=True)
    return rows


def fresh(place: str, number: int) -> Path:
    """A new directory; some systems refuse to overwrite."""
    path = Path(place) / str(number)
    path.mkdir()
    return path


if __name__ == "__main__":
    guarded(main)
