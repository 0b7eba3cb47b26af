"""Entries of a bilingual dictionary of single words: from linked text, or from a model's lexicon.

A link counts one; so does a word without links, as linked to null. Entries with null have the empty word.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dualign.model.model import Model
from dualign.text.alignment import Alignment
from dualign.text.pairs import Pair


class WordEntry(NamedTuple):
    """A word and a translation: how often they are linked, p(target | source), p(source | target).

    `line`: of the shortest sentence pair in which they are linked, from 0; None where there is no text. The
    count of a model's entry is an expectation, 0 if the model does not tell how much text it has seen.
    """

    source: str
    target: str
    times: float
    forward: float
    backward: float
    line: int | None = None


class CutOffs(NamedTuple):
    """Which entries to keep: those with at least this count, this probability, and this share of the
    probability of the same word's best translation."""

    times: float = 0.0
    probability: float = 0.0
    relative: float = 0.0

    def kept(self, entries: list[WordEntry], directions: tuple[str, ...]) -> Iterator[WordEntry]:
        """The entries that pass in all of the `directions`: `forward`, `backward`."""
        best: dict[tuple[str, str], float] = defaultdict(float)
        for entry in entries:
            best["forward", entry.source] = max(best["forward", entry.source], entry.forward)
            best["backward", entry.target] = max(best["backward", entry.target], entry.backward)
        for entry in entries:
            given = {"forward": entry.source, "backward": entry.target}
            if entry.times >= self.times and all(
                getattr(entry, d) >= max(self.probability, self.relative * best[d, given[d]])
                for d in directions
            ):
                yield entry


def entries_of_links(text: Iterable[tuple[Pair, Alignment]], *, one_case: bool = False) -> list[WordEntry]:
    """The entries of linked text, in the order of their words.

    With `one_case`, what differs only in upper and lower case is one entry, written as it is most often.
    """
    counts: Counter[tuple[str, str]] = Counter()
    shortest: dict[tuple[str, str], tuple[int, int]] = {}
    for line, ((source, target), alignment) in enumerate(text):
        length = len(source) + len(target)
        linked = {i for i, _ in alignment.links}, {j for _, j in alignment.links}
        found = [(source[i], target[j]) for i, j in alignment.links]
        found += [(word, "") for i, word in enumerate(source) if i not in linked[0]]
        found += [("", word) for j, word in enumerate(target) if j not in linked[1]]
        counts.update(found)
        for words in found:
            if words not in shortest or length < shortest[words][0]:
                shortest[words] = length, line
    # As they are compared: how often, and each way in which they are written.
    groups: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    of_source: Counter[str] = Counter()
    of_target: Counter[str] = Counter()
    for words, count in counts.items():
        s, t = map(str.lower, words) if one_case else words
        groups[s, t].append(words)
        of_source[s] += count
        of_target[t] += count
    entries = []
    for (s, t), written in sorted(groups.items()):
        total = sum(counts[words] for words in written)
        shown = min(written, key=lambda words: (-counts[words], words))
        line = min(shortest[words] for words in written)[1]
        entries.append(WordEntry(*shown, total, total / of_source[s], total / of_target[t], line))
    return entries


def entries_of_model(model: Model) -> list[WordEntry]:
    """The entries of a model's lexicon, in the order of their words, those with null included."""
    lexicon, source, target = model.lexicon, model.source.words, model.target.words
    rows = np.repeat(np.arange(len(source)), np.diff(lexicon.rows))
    counts, table = np.zeros(len(rows)), model.distributions
    if model.seen is not None:
        counts = table[:, 0] * model.seen.source[rows]
    columns = rows.tolist(), lexicon.columns.tolist(), counts.tolist(), table.tolist()
    entries = [WordEntry(source[v], target[w], c, p, q) for v, w, c, (p, q) in zip(*columns, strict=True)]
    entries += [WordEntry("", w, 0, p, 0) for w, p in zip(target, lexicon.null_target.tolist(), strict=True)]
    entries += [WordEntry(v, "", 0, 0, q) for v, q in zip(source, lexicon.null_source.tolist(), strict=True)]
    return sorted(entries)
