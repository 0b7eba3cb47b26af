"""Bilingual dictionaries of single words, with `p(target | source)` and `p(source | target)`, null included.

From linked text, probabilities are relative frequencies, as in Koehn, Och & Marcu 2003, §2.4: a link counts
one, and so does a word without links, as linked to null. From a model, they are those of its lexicon. Null is
the empty word. `WordEntry` is for one entry at a time, `WordDictionary` for the kernels that score phrases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TextIO

import numpy as np

from dualign._core.arrays import Array
from dualign.hmm.model import Model
from dualign.phrase.external_sort import collapsed
from dualign.phrase.extraction import EncodedPhrases
from dualign.text.blocks import Pair
from dualign.text.links import Alignment

_NULL = "NULL"  # how files write the null word, which has number 0 and no name here

_SHIFT = np.uint64(32)
_HELD = 1 << 22


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
        """Return the entries that pass in all of the `directions`: `forward`, `backward`."""
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
    """Return the entries of linked text, in the order of their words.

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
    """Return the entries of a model's lexicon, in the order of their words, those with null included."""
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


class WordDictionary(NamedTuple):
    """Word pairs sorted by their numbers; those of source word s are `begin[s]` to `begin[s + 1]`."""

    begin: Array
    targets: Array
    """int64."""
    forward: Array
    """p(target | source)."""
    backward: Array
    """p(source | target)."""


class LinkCounts:
    """Counts of linked words, in memory for the distinct pairs of words."""

    def __init__(self) -> None:
        self._rows = [np.empty((0, 2), np.uint64)]  # both words in one number, and how often

    def add(self, pairs: EncodedPhrases) -> None:
        """Count the links of sentence pairs."""
        owner = np.repeat(np.arange(len(pairs.link_offsets) - 1), np.diff(pairs.link_offsets))
        linked, alone = [], []
        sides = (pairs.source, pairs.source_offsets), (pairs.target, pairs.target_offsets)
        for (words, offsets), positions in zip(sides, pairs.links.T, strict=True):
            at = positions + offsets[owner]
            is_alone = np.ones(len(words), np.bool_)
            is_alone[at] = False
            linked.append(words[at].astype(np.uint64))
            alone.append(words[is_alone].astype(np.uint64))
        keys = np.concatenate((linked[0] << _SHIFT | linked[1], alone[0] << _SHIFT, alone[1]))
        self._rows.append(collapsed(np.column_stack((keys, np.ones_like(keys))), 1))
        if sum(map(len, self._rows[1:])) > max(_HELD, len(self._rows[0])):
            self._unite()

    def dictionary(self, source_rank: Array, target_rank: Array) -> WordDictionary:
        """Return the probabilities, with words renumbered: word n becomes `rank[n]`; null keeps 0."""
        keys, counts = self._unite().T
        source = source_rank[(keys >> _SHIFT).astype(np.int64)]
        target = target_rank[(keys & np.uint64(0xFFFFFFFF)).astype(np.int64)]
        order = np.lexsort((target, source))
        source, target, counts = source[order], target[order], counts[order]
        of_source = np.bincount(source, counts, minlength=len(source_rank))
        of_target = np.bincount(target, counts, minlength=len(target_rank))
        # Numbers of the rows, with room for every number a rank may give.
        begin = np.searchsorted(source, np.arange(int(source_rank.max(initial=0)) + 2))
        return WordDictionary(begin, target, counts / of_source[source], counts / of_target[target])

    def _unite(self) -> Array:
        self._rows = [collapsed(np.concatenate(self._rows), 1)]
        return self._rows[0]


def write_dictionary(
    dictionary: WordDictionary, source_words: list[str], target_words: list[str], outputs: Sequence[TextIO]
) -> None:
    """Write lines `target source p(target|source)` to the first output, the other way round to the second.

    These are Moses' `lex.f2e` and `lex.e2f`; Marian reads the first as a shortlist. No outputs: nothing.
    """
    source_words, target_words = [_NULL, *source_words[1:]], [_NULL, *target_words[1:]]
    sources = np.repeat(np.arange(len(dictionary.begin) - 1), np.diff(dictionary.begin))
    orders = np.arange(len(sources)), np.lexsort((sources, dictionary.targets))
    sides = (dictionary.targets, target_words), (sources, source_words)
    for stream, order, probabilities, (left, right) in zip(
        outputs, orders, (dictionary.forward, dictionary.backward), (sides, sides[::-1]), strict=False
    ):
        columns = (left[0][order].tolist(), right[0][order].tolist(), probabilities[order].tolist())
        stream.writelines(f"{left[1][a]} {right[1][b]} {p:.7f}\n" for a, b, p in zip(*columns, strict=True))
