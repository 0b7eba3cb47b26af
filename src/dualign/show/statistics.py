"""Statistics of a bitext and its links: lengths, fertilities, confidence, dictionary, unaligned words.

Words are counted in lower case. All links lie in flat arrays, and every number is a sum over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dualign._core.arrays import Array
from dualign.text.blocks import Pair
from dualign.text.corpus import GrowingVocabulary, encode
from dualign.text.links import Alignment, Links

MOST_FERTILE = 6
"""This number of links and higher ones are counted together."""

BINS = 20

FREQUENT = 0.02
"""Words with more tokens than this share of the pairs are mostly function words; three are always few."""


@dataclass(frozen=True, slots=True)
class SideCounts:
    """One language: sentences, words, and how many links its words have."""

    words: int
    distinct: int
    empty: int
    longest: int
    mean_length: float
    unaligned: int
    fertility: list[int]
    """Words with 0, 1 … links; the last entry counts all words with `MOST_FERTILE` or more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A dictionary entry: how often two words are linked, and what share that is of the links of each."""

    source: str
    target: str
    count: int
    there: float
    back: float


@dataclass(frozen=True, slots=True)
class Unaligned:
    """A word that is often left without a link."""

    word: str
    unaligned: int
    count: int


class UnalignedRun:
    """A bitext with one alignment for each pair; `probability` is NaN where a link has none."""

    def __init__(self, pairs: Iterable[Pair], alignments: Iterable[Alignment]) -> None:
        vocabularies = GrowingVocabulary(), GrowingVocabulary()
        bitext = encode(pairs, *vocabularies, lowercase=True)
        self.words, self.sentences = tuple(map(list, vocabularies)), (bitext.source, bitext.target)
        links = Links.of(replace(each, possible=()) for each in alignments)
        self.pair = np.repeat(np.arange(len(links)), np.diff(links.offsets))
        without = np.full(len(self.pair), np.nan)
        self.probability: Array = without if links.probability is None else links.probability
        sides = zip(self.sentences, (links.source, links.target), strict=True)
        # Where among all tokens of a side the word of each link stands.
        self.places = [sentences.offsets[self.pair] + place for sentences, place in sides]

    def __len__(self) -> int:
        return len(self.sentences[0])

    @property
    def links(self) -> int:
        """How many there are."""
        return len(self.pair)

    def side(self, which: int) -> SideCounts:
        """Return statistics of the source (0) or the target (1)."""
        sentences, words = self.sentences[which], self.words[which]
        fertility = np.bincount(self.places[which], minlength=len(sentences.tokens))
        histogram = np.bincount(np.minimum(fertility, MOST_FERTILE), minlength=MOST_FERTILE + 1)
        lengths = sentences.lengths
        return SideCounts(
            len(sentences.tokens), len(words), int((lengths == 0).sum()), int(lengths.max(initial=0)),
            float(lengths.mean()) if len(lengths) else 0.0, int(histogram[0]), histogram.tolist(),
        )  # fmt: skip

    def confidence(self) -> Array:
        """Return mean probability of each pair's links, NaN if it has none: float64 (pairs)."""
        known = np.isfinite(self.probability)
        total = np.bincount(self.pair[known], self.probability[known], minlength=len(self))
        count = np.bincount(self.pair[known], minlength=len(self))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def histogram(self) -> list[int]:
        """Return links by probability, in `BINS` equal steps from 0 to 1."""
        known = self.probability[np.isfinite(self.probability)]
        return np.histogram(known, bins=BINS, range=(0, 1))[0].tolist()

    def extremes(self, count: int, least_links: int = 3) -> tuple[list[int], list[int]]:
        """Return the most and the least certain pairs of at least `least_links` links; no pair is in both."""
        confidence = self.confidence()
        enough = np.bincount(self.pair, minlength=len(self)) >= least_links
        pairs = np.flatnonzero(np.isfinite(confidence) & enough)
        order = pairs[np.lexsort((pairs, confidence[pairs]))]
        half = min(count, len(order) // 2)
        return order[::-1][:half].tolist(), order[: min(count, len(order) - half)].tolist()

    def dictionary(self, count: int) -> list[Entry]:
        """Return the word pairs that are linked most often."""
        sides = zip(self.sentences, self.places, strict=True)
        v, w = (sentences.tokens[places].astype(np.int64) for sentences, places in sides)
        codes, together = np.unique(v * len(self.words[1]) + w, return_counts=True)
        best = np.lexsort((codes, -together))[:count]
        alone = np.bincount(v, minlength=1), np.bincount(w, minlength=1)
        entries = []
        for code, both in zip(codes[best].tolist(), together[best].tolist(), strict=True):
            a, b = divmod(code, len(self.words[1]))
            shares = both / int(alone[0][a]), both / int(alone[1][b])
            entries.append(Entry(self.words[0][a], self.words[1][b], both, *shares))
        return entries

    def content_words(self, which: int) -> Array:
        """Return which words of a side have a letter and are not frequent: bool (words)."""
        times = np.bincount(self.sentences[which].tokens, minlength=len(self.words[which]))
        letters = [any(map(str.isalpha, word)) for word in self.words[which]]
        return np.array(letters, bool) & (times <= max(3, FREQUENT * len(self)))

    def glossary(self, count: int) -> list[Entry]:
        """Return pairs of content words that are linked at least twice, best first: by count × there ×
        back."""
        content = [dict(zip(self.words[k], self.content_words(k).tolist(), strict=True)) for k in (0, 1)]
        entries = [
            entry
            for entry in self.dictionary(self.links)
            if entry.count > 1 and content[0][entry.source] and content[1][entry.target]
        ]
        return sorted(entries, key=lambda entry: -entry.count * entry.there * entry.back)[:count]

    def unaligned(self, which: int, count: int) -> list[Unaligned]:
        """Return the words of a side that are left without a link most often."""
        tokens = self.sentences[which].tokens
        linked = np.zeros(len(tokens), bool)
        linked[self.places[which]] = True
        size = len(self.words[which])
        alone, total = np.bincount(tokens[~linked], minlength=size), np.bincount(tokens, minlength=size)
        best = np.lexsort((np.arange(size), -alone))[:count]
        return [
            Unaligned(self.words[which][word], int(alone[word]), int(total[word]))
            for word in best.tolist()
            if alone[word]
        ]
