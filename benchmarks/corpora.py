"""The corpora that benchmarks read, and how the text of a run is made from them.

A data directory has one folder per corpus: `train.source.gz` and `train.target.gz`, parallel and tokenised;
`dev.source`, `dev.target`, `dev.wa` with gold links, and for some `test.*`. The source is the foreign
language, the target is English.

All lines are converted to lower case, and pairs with an empty side are left out. The rest of the training
text is shuffled (the seed is printed), and the first N pairs are used. The gold pairs, without their links,
are placed in front of them, because an unsupervised aligner only aligns its training text.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dualign._core.errors import UsageError
from dualign.text.blocks import read_pairs
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment

CORPORA = ("hansards-fr-en", "europarl-de-en", "europarl-es-en", "czenali-cs-en", "wpt-ro-en", "kftt-ja-en")

# The 447 pairs that papers report on are the last 100 of dev and all of test; other corpora have only dev.
GOLD = {"hansards-fr-en": (("dev", slice(-100, None)), ("test", slice(None)))}

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

Pair = tuple[list[str], list[str]]


RARITY = (1, 4, 20)


class Frequencies:
    """How often the words of each side occur in the text of a run."""

    def __init__(self) -> None:
        self.source: Counter[str] = Counter()
        self.target: Counter[str] = Counter()

    def add(self, source: list[str], target: list[str]) -> int:
        """Count the words of a pair; returns how many there are."""
        self.source.update(source)
        self.target.update(target)
        return len(source) + len(target)

    def rarity(self, source: str, target: str) -> str:
        """The group of a link, by how often the rarer of its words occurs."""
        number = min(self.source[source], self.target[target])
        before = 0
        for most in RARITY:
            if number <= most:
                return f"seen {most}" if most == before + 1 else f"seen {before + 1}-{most}"
            before = most
        return f"seen over {before}"


@dataclass(frozen=True, slots=True)
class Text:
    """Files of one run, with the gold links of their first lines."""

    source: Path
    target: Path
    gold: list[Alignment]
    pairs: int
    words: int
    """Of both sides together, the gold pairs' included."""
    pairs_with_gold: list[Pair]
    frequencies: Frequencies


def present(data: Path, corpora: list[str]) -> list[str]:
    """The corpora that the data directory has; prints which it lacks."""
    if not data.is_dir():
        raise UsageError(f"no data directory {data}; name one with --data (its layout: benchmarks/README.md)")
    found = []
    for corpus in corpora:
        missing = [name for name in files_of(corpus) if not (data / corpus / name).is_file()]
        if missing:
            print(f"{corpus}: skipped, {data / corpus} has no {', '.join(missing)}", flush=True)
        else:
            found.append(corpus)
    if not found:
        raise UsageError(f"none of the corpora is in {data}; name another directory with --data")
    return found


def files_of(corpus: str) -> list[str]:
    sets = [name for name, _ in GOLD.get(corpus, (("dev", slice(None)),))]
    gold = [f"{name}.{suffix}" for name in sets for suffix in ("source", "target", "wa")]
    return ["train.source.gz", "train.target.gz", *gold]


class Corpus:
    """One corpus in memory, shuffled; it is read once for texts of several sizes."""

    def __init__(self, data: Path, name: str, seed: int) -> None:
        self.name = name
        folder = data / name
        self.gold_pairs: list[Pair] = []
        self.gold: list[Alignment] = []
        for part, chosen in GOLD.get(name, (("dev", slice(None)),)):
            pairs = list(read_pairs(str(folder / f"{part}.source"), str(folder / f"{part}.target")))
            links = list(read_links(str(folder / f"{part}.wa"), "pharaoh", count=len(pairs)))
            self.gold_pairs += pairs[chosen]
            self.gold += links[chosen]
        # Lines, not lists of words: a tenth of the memory.
        files = str(folder / "train.source.gz"), str(folder / "train.target.gz")
        self.lines = [line(pair) for pair in read_pairs(*files) if pair[0] and pair[1]]
        random.Random(seed).shuffle(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def write(self, place: Path, size: int | None) -> Text:
        """Write the gold pairs and the first `size` (None: all) of the training pairs."""
        source, target = place / "source", place / "target"
        lines = [*map(line, self.gold_pairs), *self.lines[:size]]
        words = 0
        counted = Frequencies()
        with source.open("w", encoding="utf-8") as left, target.open("w", encoding="utf-8") as right:
            for both in lines:
                s, _, t = both.partition("\t")
                words += counted.add(s.split(" "), t.split(" "))
                left.write(s + "\n")
                right.write(t + "\n")
        pairs = [tuple(side.split(" ") for side in line(pair).split("\t")) for pair in self.gold_pairs]
        return Text(source, target, self.gold, len(lines), words, pairs, counted)


def line(pair: Pair) -> str:
    """Both sides in lower case, separated by a tab."""
    return f"{' '.join(pair[0]).lower()}\t{' '.join(pair[1]).lower()}"


def size_of(text: str) -> int | None:
    """`10k`, `100000` or `all`."""
    if text == "all":
        return None
    number = text[:-1] if text.endswith("k") else text
    if not number.isdecimal() or int(number) < 1:
        raise UsageError(f"size {text}: write a number such as 5000 or 10k, or all")
    return int(number) * (1000 if text.endswith("k") else 1)
