"""How fast this installation is: the `dualign` command, timed as a user would run it.

Two commands are timed: training on a text, and aligning with the saved model. A run on one sentence pair
before them, not counted, lets kernels be compiled; a second one says what starting alone costs.
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

from dualign.core.errors import DataError, UsageError
from dualign.core.threads import available
from dualign.jobs.defaults import PAIRS
from dualign.jobs.running import SILENT, Run, job
from dualign.measure.quality import Evaluation, evaluate
from dualign.measure.signature import signature
from dualign.measure.table import markdown
from dualign.measure.timing import Usage, measure
from dualign.text.alignment import Alignment
from dualign.text.formats import read_links
from dualign.text.pairs import read_pairs
from dualign.text.streams import open_output
from dualign.text.synthetic import generate

DUALIGN = (sys.executable, "-m", "dualign")
"""The command of the running interpreter's installation."""

RATES = ("AER", "precision", "recall")

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
    """What was measured; `quality` is None without gold links."""

    text: Synthetic | Own
    pairs: int
    words: tuple[int, int]
    threads: int
    start: Usage
    train: Usage
    align: Usage
    model_bytes: int
    quality: Evaluation | None

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
            "train": self.train.as_dict() | {"pairs_per_second": self.pairs / self.train.seconds},
            "align": self.align.as_dict() | {"pairs_per_second": self.pairs / self.align.seconds},
            "model_bytes": self.model_bytes,
            "quality": None if self.quality is None else self.quality.as_dict(),
            "signature": None if self.quality is None else signature(self.quality),
        }
        return json.dumps(content, allow_nan=False)

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
        return "\n".join(lines)

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
def bench(text: Synthetic | Own, *, run: Run = SILENT) -> Measured:
    """Time the commands of this installation that train on a text and align with the saved model."""
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
        pairs, *words = sizes(files[0], files[1], errors)
        if pairs < len(gold) or pairs == 0:
            raise DataError(f"{files[0]} has {pairs} lines, but there are gold links for {len(gold)}")
        run.note("warming up; the first run compiles kernels")
        warm_up(place, threads)
        start = warm_up(place, threads, pairs=1)
        more = ["--quiet", "--threads", str(threads), "--errors", errors]
        model, links = os.path.join(place, "model"), os.path.join(place, "links")
        run.note(f"training on {pairs:,} pairs")
        train = measure([*DUALIGN, "train", files[0], files[1], model, *more])
        run.note(f"aligning {pairs:,} pairs")
        align = measure([*DUALIGN, "align", files[2], files[3], "--model", model, "-o", links, *more])
        quality = evaluate(list(islice(read_links(links), len(gold))), gold) if gold else None
        size = os.path.getsize(model)
        return Measured(text, pairs, (words[0], words[1]), threads, start, train, align, size, quality)


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


def sizes(source: str, target: str, errors: str) -> tuple[int, int, int]:
    """Number of pairs, source words and target words of a text."""
    pairs = left = right = 0
    for s, t in read_pairs(source, target, errors=errors):
        pairs += 1
        left += len(s)
        right += len(t)
    return pairs, left, right


def versions() -> dict[str, str]:
    """What the speed depends on: versions of the program, of what it stands on, and the kind of machine."""
    return {
        "dualign": version("dualign"),
        "Python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
    }
