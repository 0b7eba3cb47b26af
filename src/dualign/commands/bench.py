"""`dualign bench`: how fast this installation is, timed as a user would run it.

Two commands are timed: training on a text, and aligning with the saved model. A run on one sentence pair
before them, not counted, lets kernels be compiled; a second one says what starting alone costs. The commands
are measured from outside, and tell by `--profile` in which phases their time went.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from dualign._core import release
from dualign._core.errors import DataError, UsageError
from dualign._core.fields import bundle, opt
from dualign._core.files.streams import open_output, readable
from dualign._core.threads import available
from dualign.commands.bundles import Computing, ReportFile
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.measure.timing import Usage, measure
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.measure.links import Evaluation

DUALIGN = (sys.executable, "-m", "dualign")
"""The command of the running interpreter's installation."""

PAIRS = 10_000
"""Of synthetic text."""

RATES = ("AER", "precision", "recall")

_WARM = 200  # pairs: enough to reach every kernel


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a text, whose name is that of a file, or says how it was made.

    `quality` is None without gold links, `seed` for a text of the user.
    """

    name: str
    seed: int | None
    pairs: int
    words: tuple[int, int]
    threads: int
    start: Usage
    train: Usage
    align: Usage
    profiles: dict[str, Any]
    model_bytes: int
    quality: Evaluation | None

    def as_json(self) -> str:
        """Return one JSON object; rates are fractions."""
        from dualign.measure.bootstrap import signature

        text = {"pairs": self.pairs, "source_words": self.words[0], "target_words": self.words[1]}
        content = {
            "versions": versions(),
            "threads": self.threads,
            "text": text if self.seed is None else text | {"seed": self.seed},
            "start": self.start.as_dict(),
            "train": self._as_dict(self.train),
            "align": self._as_dict(self.align),
            "model_bytes": self.model_bytes,
            "quality": None if self.quality is None else self.quality.as_dict(),
            "signature": None if self.quality is None else signature(self.quality),
            "profiles": self.profiles,
        }
        return json.dumps(content, allow_nan=False)

    def _as_dict(self, usage: Usage) -> dict[str, float | int]:
        return usage.as_dict() | {"pairs_per_second": self.pairs / usage.seconds}

    def as_text(self) -> str:
        """Return lines for people; rates are per cent."""
        from dualign.measure.bootstrap import signature

        words = " and ".join(f"{count / max(self.pairs, 1):.1f}" for count in self.words)
        lines = [
            " | ".join(f"{name} {value}" for name, value in versions().items()),
            f"text: {self.name}; {self.pairs:,} pairs of {words} words; threads: {self.threads}",
            "",
            self._table(),
            "",
            f"model file: {self.model_bytes / 1e6:.1f} MB; the program's start is part of each time",
        ]
        if self.quality is not None:
            rates = [f"{name} {100 * getattr(self.quality, name.lower()):.2f}" for name in RATES]
            lines += [", ".join(rates), signature(self.quality)]
        return "\n".join(lines)

    def _table(self) -> str:
        from dualign.measure.timing import markdown

        rows = []
        for name, usage, pairs in (
            ("start (1 pair)", self.start, None),
            ("train", self.train, self.pairs),
            ("align, saved model", self.align, self.pairs),
        ):
            rate = "" if pairs is None else f"{pairs / usage.seconds:,.0f}"
            times = f"{usage.seconds:.2f}", f"{usage.cpu_seconds:.2f}"
            rows.append((name, *times, rate, f"{usage.peak_bytes / 1e6:,.0f}"))
        return markdown(("", "seconds", "CPU seconds", "pairs/s", "peak MB"), rows)


@dataclass(frozen=True)
class Bench(Command):
    """Measure speed, memory and quality of this installation.

    Times two commands: one trains on a text, the other aligns with the saved model. With synthetic text, the
    text to align is new; your own text is used for both. With --json, also shows where both commands spend
    their processor time, phase by phase.
    """

    pairs: int | None = opt(None, f"Sentence pairs of synthetic text ({PAIRS}).", metavar="N", least=1)
    seed: int | None = opt(None, "Seed of the synthetic text (0).", metavar="N", least=0)
    source: str | None = opt(None, "Measure on this text instead.", metavar="FILE", file="in")
    target: str | None = opt(None, "Its other side.", metavar="FILE", file="in")
    gold: str | None = opt(
        None, "Gold links of its lines, or of the first of them.", metavar="FILE", file="in"
    )
    by_threads: bool = opt(False, "No longer here: see benchmarks/by_threads.py in dualign's repository.")
    shown: ReportFile = bundle(ReportFile)
    computing: Computing = bundle(Computing, "threads errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.source is None) != (self.target is None):
            raise UsageError("{source=} and {target=} go together; give both", source=..., target=...)
        if self.gold is not None and self.source is None:
            raise UsageError(
                "{gold=} needs its text; give {source=} and {target=} too", gold=..., source=..., target=...
            )
        if self.source is not None and (self.pairs is not None or self.seed is not None):
            raise UsageError(
                "{pairs=} and {seed=} are for synthetic text, but {source=} names a text",
                pairs=..., seed=..., source=...,
            )  # fmt: skip
        if "-" in (self.source, self.target):
            raise UsageError("the text is read more than once and cannot be standard input; name a file")
        if self.by_threads:
            raise UsageError(
                "{by_threads=} is now `python -m benchmarks.by_threads` in dualign's repository",
                by_threads=True,
            )

    def run(self, tell: Reporter) -> Measured:
        """Time the commands of this installation."""
        from dualign.commands.warming import compile_kernels
        from dualign.hmm.posteriors import LONGEST_IN_STEP
        from dualign.measure.links import evaluate
        from dualign.text.link_formats import read_links

        threads = available(self.computing.threads)
        with TemporaryDirectory(prefix="dualign-bench-") as place:
            if self.source is not None and self.target is not None:
                seed, errors = None, self.computing.errors
                gold = list(read_links(self.gold, errors=errors)) if self.gold else []
                files, name = [self.source, self.target] * 2, readable(self.source)
            else:
                seed, errors = self.seed or 0, "strict"
                *files, gold = write_synthetic(place, self.pairs or PAIRS, seed)
                name = f"synthetic, seed {seed}"
            pairs, *words, longest = sizes(files[0], files[1], errors)
            if pairs < len(gold) or pairs == 0:
                known = f", but there are gold links for {len(gold)}"
                lines = number_of(pairs, "lines")
                raise DataError(f"{files[0]} has {lines}{known if gold else '; there is nothing to measure'}")
            tell.note("warming up; the first run compiles kernels")
            warm_up(place, threads)
            start = warm_up(place, threads, pairs=1)
            if longest > LONGEST_IN_STEP:
                compile_kernels(tell.note, "long")
            tell.note(f"training on {pairs:,} pairs and aligning {pairs:,}, threads: {threads}")
            timed = time_commands(place, files, ["--threads", str(threads), "--errors", errors])
            model, links = outputs_in(place)
            quality = evaluate(list(islice(read_links(links), len(gold))), gold) if gold else None
            size = os.path.getsize(model)
        return Measured(name, seed, pairs, (words[0], words[1]), threads, start, *timed, size, quality)

    def show(self, result: Measured, tell: Reporter) -> None:
        """Write what was measured."""
        self.shown.write(result.as_text(), result.as_json())


class Timed(NamedTuple):
    """What training, and aligning with the saved model, took, and the profile of either."""

    train: Usage
    align: Usage
    profiles: dict[str, Any]


def outputs_in(place: str) -> tuple[str, str]:
    """Return the files of the model and of the links that are written when commands are timed."""
    return os.path.join(place, "model"), os.path.join(place, "links")


def time_commands(place: str, files: Sequence[str], more: Sequence[str]) -> Timed:
    """Train on the first two files, and align the last two with the saved model, each in a fresh process."""
    model, links = outputs_in(place)
    more = [*more, "--quiet"]
    train, trained = measure_profiled([*DUALIGN, "train", files[0], files[1], model, *more], place)
    command = [*DUALIGN, "align", files[2], files[3], "--model", model, "-o", links, *more]
    align, aligned = measure_profiled(command, place)
    return Timed(train, align, {"train": trained, "align": aligned})


def measure_profiled(command: Sequence[str], place: str) -> tuple[Usage, dict[str, Any]]:
    """Return what a `dualign` command took, and the profile it has written, in a temporary folder."""
    path = os.path.join(place, "profile.json")
    usage = measure([*command, "--profile", path])
    with open(path, encoding="utf-8") as stream:
        profile: dict[str, Any] = json.load(stream)
    return usage, profile


def warm_up(place: str, threads: int, pairs: int = _WARM) -> Usage:
    """Train on a little text, save, and align other text with new words, so that all kernels are compiled.

    Returns what the last of these commands took.
    """
    from dualign.text.samples import generate

    names = ("warm.source", "warm.target", "warm-new.source", "warm-new.target")
    texts = [os.path.join(place, name) for name in names]
    write_texts(list(generate(pairs, vocabulary=100)), *texts[:2])
    write_texts(list(generate(pairs, vocabulary=200)), *texts[2:])
    model, more = os.path.join(place, "warm.model"), ["--quiet", "--threads", str(threads), "-o", os.devnull]
    measure([*DUALIGN, "align", *texts[:2], "--save", model, *more])
    return measure([*DUALIGN, "align", *texts[2:], "--model", model, *more])


def write_synthetic(place: str, pairs: int, seed: int) -> list[Any]:
    """Write a text to train on and another to align; return the files, and the links of the second."""
    from dualign.text.samples import generate

    made = list(generate(2 * pairs, seed=seed))
    parts = ("train.source", "train.target", "new.source", "new.target")
    names = [os.path.join(place, name) for name in parts]
    write_texts(made[:pairs], *names[:2])
    write_texts(made[pairs:], *names[2:])
    return [*names, [links for _, _, links in made[pairs:]]]


def write_texts(made: Sequence[tuple[Any, ...]], *paths: str) -> None:
    """Write the sides of generated pairs, one sentence per line."""
    for side, path in enumerate(paths):
        with open_output(path) as stream:
            stream.writelines(f"{' '.join(pair[side])}\n" for pair in made)


def sizes(source: str, target: str, errors: str) -> tuple[int, int, int, int]:
    """Return the number of pairs, source words and target words of a text, and of words in its longest
    sentence."""
    from dualign.text.blocks import read_pairs

    pairs = left = right = longest = 0
    for s, t in read_pairs(source, target, errors=errors):
        pairs += 1
        left += len(s)
        right += len(t)
        longest = max(longest, len(s), len(t))
    return pairs, left, right, longest


def versions() -> dict[str, str]:
    """Return what the speed depends on: versions of the program, of what it stands on, and the machine."""
    return {
        "dualign": release(),
        "Python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
    }
