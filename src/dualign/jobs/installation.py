"""How fast this installation is: the `dualign` command, timed as a user would run it.

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
from typing import Any

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import open_output
from dualign._core.threads import available
from dualign._core.version import release
from dualign.hmm.posteriors import LONGEST_IN_STEP
from dualign.jobs.running import SILENT, Run, job
from dualign.jobs.speed import (
    COMMANDS,
    Timed,
    digest_of,
    measure_profiled,
    phase_table,
    same_bytes,
    table_by_threads,
    thread_counts,
)
from dualign.jobs.warming import compile_kernels
from dualign.measure.links import Evaluation, evaluate
from dualign.measure.signature import signature
from dualign.measure.table import markdown
from dualign.measure.timing import Usage, measure
from dualign.options import PAIRS
from dualign.text.blocks import read_pairs
from dualign.text.checks import number_of
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment
from dualign.text.samples import generate

DUALIGN = (sys.executable, "-m", "dualign")
"""The command of the running interpreter's installation."""

RATES = ("AER", "precision", "recall")

DIFFER = "this is a bug; please report it, with the text if you can"

_WARM = 200  # pairs: enough to reach every kernel


@dataclass(frozen=True, slots=True)
class Synthetic:
    """Seeded synthetic text: `pairs` to train on, and as many others to align."""

    pairs: int = PAIRS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Own:
    """A text of the user, to train on and to align; `gold` may be for its first lines only."""

    source: str
    target: str
    gold: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured; `quality` is None without gold links.

    `runs` are all that were timed, by their number of threads; `train` and `align` are those of the last.
    """

    text: Synthetic | Own
    pairs: int
    words: tuple[int, int]
    threads: int
    start: Usage
    train: Usage
    align: Usage
    model_bytes: int
    quality: Evaluation | None
    runs: tuple[Timed, ...] = ()

    @property
    def by_threads(self) -> bool:
        """Whether several numbers of threads were compared."""
        return len(self.runs) > 1

    @property
    def same_bytes(self) -> bool:
        """Whether the model and the links are the same for every number of threads, as they must be."""
        return same_bytes(self.runs)

    def as_json(self) -> str:
        """One JSON object; rates are fractions."""
        text: dict[str, Any] = {
            "pairs": self.pairs,
            "source_words": self.words[0],
            "target_words": self.words[1],
        }
        if isinstance(self.text, Synthetic):
            text["seed"] = self.text.seed
        content = {
            "versions": versions(),
            "threads": self.threads,
            "text": text,
            "start": self.start.as_dict(),
            "train": self._as_dict(self.train),
            "align": self._as_dict(self.align),
            "model_bytes": self.model_bytes,
            "quality": None if self.quality is None else self.quality.as_dict(),
            "signature": None if self.quality is None else signature(self.quality),
            "profiles": dict(self.runs[-1].profiles) if self.runs else None,
        }
        if self.by_threads:
            content |= {"by_threads": list(map(self._timed, self.runs)), "same_bytes": self.same_bytes}
        return json.dumps(content, allow_nan=False)

    def _as_dict(self, usage: Usage) -> dict[str, float | int]:
        return usage.as_dict() | {"pairs_per_second": self.pairs / usage.seconds}

    def _timed(self, run: Timed) -> dict[str, Any]:
        """A run as JSON, with its speed-up over the first."""
        content: dict[str, Any] = {"threads": run.threads, "profiles": dict(run.profiles)}
        for command in COMMANDS:
            usage = run.usage(command)
            more = {"speed_up": self.runs[0].usage(command).seconds / usage.seconds}
            content[command] = self._as_dict(usage) | more
        return content

    def as_text(self) -> str:
        """Lines for people; rates are per cent."""
        kind = f"synthetic, seed {self.text.seed}" if isinstance(self.text, Synthetic) else self.text.source
        words = " and ".join(f"{count / max(self.pairs, 1):.1f}" for count in self.words)
        lines = [
            " | ".join(f"{name} {value}" for name, value in versions().items()),
            f"text: {kind}; {self.pairs:,} pairs of {words} words; threads: {self.threads}",
            "",
            self._table(),
            "",
            f"model file: {self.model_bytes / 1e6:.1f} MB; the program's start is part of each time",
        ]
        if self.quality is not None:
            rates = [f"{name} {100 * getattr(self.quality, name.lower()):.2f}" for name in RATES]
            lines += [", ".join(rates), signature(self.quality)]
        if self.by_threads:
            lines += ["", table_by_threads(self.runs, self.pairs), "", self._same()]
        ends = [self.runs[0], self.runs[-1]] if self.by_threads else self.runs
        for command, name in COMMANDS.items() if ends else ():
            lines += ["", phase_table(name, [run.profiles[command] for run in ends])]
        return "\n".join(lines)

    def _same(self) -> str:
        """Whether the number of threads has changed a byte."""
        if self.same_bytes:
            return "model and links have the same bytes for every number of threads"
        return f"MODEL OR LINKS DIFFER between numbers of threads: {DIFFER}"

    def _table(self) -> str:
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


@job
def bench(text: Synthetic | Own, *, by_threads: bool = False, run: Run = SILENT) -> Measured:
    """Time the commands of this installation that train on a text and align with the saved model.

    With `by_threads`, time them with 1, 2, 4, … threads, up to the number of `run`, and compare what they
    write.
    """
    if isinstance(text, Own) and "-" in (text.source, text.target):
        raise UsageError("the text is read more than once and cannot be standard input; name a file")
    threads = available(run.threads)
    with TemporaryDirectory(prefix="dualign-bench-") as place:
        gold: list[Alignment]
        if isinstance(text, Synthetic):
            *files, gold = write_synthetic(place, text)
        else:
            gold = list(read_links(text.gold, errors=run.errors)) if text.gold else []
            files = [text.source, text.target] * 2
        errors = run.errors if isinstance(text, Own) else "strict"
        pairs, *words, longest = sizes(files[0], files[1], errors)
        if pairs < len(gold) or pairs == 0:
            gold_for = (
                f", but there are gold links for {len(gold)}" if gold else "; there is nothing to measure"
            )
            raise DataError(f"{files[0]} has {number_of(pairs, 'lines')}{gold_for}")
        run.note("warming up; the first run compiles kernels")
        warm_up(place, threads)
        start = warm_up(place, threads, pairs=1)
        if longest > LONGEST_IN_STEP:
            compile_kernels(run.note, "long")
        runs = []
        for count in thread_counts(threads) if by_threads else [threads]:
            run.note(f"training on {pairs:,} pairs and aligning {pairs:,}, threads: {count}")
            runs.append(time_commands(place, files, ["--threads", str(count), "--errors", errors]))
        if not same_bytes(runs):
            run.warn(f"the model or the links differ between numbers of threads: {DIFFER}")
        model, links = outputs_in(place)
        quality = evaluate(list(islice(read_links(links), len(gold))), gold) if gold else None
        size, last = os.path.getsize(model), runs[-1]
        return Measured(
            text,
            pairs,
            (words[0], words[1]),
            threads,
            start,
            last.train,
            last.align,
            size,
            quality,
            tuple(runs),
        )


def outputs_in(place: str) -> tuple[str, str]:
    """The files of the model and of the links that are written when commands are timed."""
    return os.path.join(place, "model"), os.path.join(place, "links")


def time_commands(place: str, files: Sequence[str], more: Sequence[str]) -> Timed:
    """Train on the first two files, and align the last two with the saved model, each in a fresh process."""
    model, links = outputs_in(place)
    more = [*more, "--quiet"]
    train, trained = measure_profiled([*DUALIGN, "train", files[0], files[1], model, *more], place)
    command = [*DUALIGN, "align", files[2], files[3], "--model", model, "-o", links, *more]
    align, aligned = measure_profiled(command, place)
    profiles = {"train": trained, "align": aligned}
    return Timed(trained["threads"], train, align, profiles, digest_of(model, links))


def warm_up(place: str, threads: int, pairs: int = _WARM) -> Usage:
    """Train on a little text, save, and align other text with new words, so that all kernels are compiled.

    Returns what the last of these commands took.
    """
    names = ("warm.source", "warm.target", "warm-new.source", "warm-new.target")
    texts = [os.path.join(place, name) for name in names]
    write_texts(list(generate(pairs, vocabulary=100)), *texts[:2])
    write_texts(list(generate(pairs, vocabulary=200)), *texts[2:])
    model, more = os.path.join(place, "warm.model"), ["--quiet", "--threads", str(threads), "-o", os.devnull]
    measure([*DUALIGN, "align", *texts[:2], "--save", model, *more])
    return measure([*DUALIGN, "align", *texts[2:], "--model", model, *more])


def write_synthetic(place: str, text: Synthetic) -> list[Any]:
    """Files of a text to train on and of another to align, with the links of the second."""
    made = list(generate(2 * text.pairs, seed=text.seed))
    parts = ("train.source", "train.target", "new.source", "new.target")
    names = [os.path.join(place, name) for name in parts]
    write_texts(made[: text.pairs], *names[:2])
    write_texts(made[text.pairs :], *names[2:])
    return [*names, [links for _, _, links in made[text.pairs :]]]


def write_texts(made: Sequence[tuple[Any, ...]], *paths: str) -> None:
    """Write the sides of generated pairs, one sentence per line."""
    for side, path in enumerate(paths):
        with open_output(path) as stream:
            stream.writelines(f"{' '.join(pair[side])}\n" for pair in made)


def sizes(source: str, target: str, errors: str) -> tuple[int, int, int, int]:
    """Number of pairs, source words and target words of a text, and of words in its longest sentence."""
    pairs = left = right = longest = 0
    for s, t in read_pairs(source, target, errors=errors):
        pairs += 1
        left += len(s)
        right += len(t)
        longest = max(longest, len(s), len(t))
    return pairs, left, right, longest


def versions() -> dict[str, str]:
    """What the speed depends on: versions of the program, of what it stands on, and the kind of machine."""
    return {
        "dualign": release(),
        "Python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
    }
