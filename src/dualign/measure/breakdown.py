"""Where the errors are: quality of links of rare words and of common words.

Links of rare words show the "garbage collector" effect: a word seen a few times collects the links of its
neighbours. Graça et al. 2010 split precision and recall this way (§4.3, Fig. 7), and call a word rare that
occurs less than five times (§2.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dualign.core.errors import UsageError
from dualign.measure.link_counts import LinkSet, as_pairs, count
from dualign.measure.quality import Evaluation
from dualign.text.alignment import Alignment
from dualign.text.checks import links_inside, same_length

Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class RareCommon:
    """Quality over the links whose word on one side is rare, and over the others."""

    rare: Evaluation
    common: Evaluation


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The same links split twice: by the frequency of their source word and of their target word."""

    source: RareCommon
    target: RareCommon


def word_frequencies(sentences: Iterable[Iterable[str]]) -> Counter[str]:
    """How often each word occurs in tokenised sentences."""
    return Counter(chain.from_iterable(sentences))


def by_frequency(
    links: Iterable[LinkSet],
    gold: Iterable[LinkSet],
    source: Sentences,
    target: Sentences,
    *,
    source_frequencies: Mapping[str, int] | None = None,
    target_frequencies: Mapping[str, int] | None = None,
    rare: int = 4,
) -> Breakdown:
    """Evaluate links of rare words and links of common words apart, once for each side.

    A word is rare if it occurs at most `rare` times. `source` and `target` are the tokenised sentences of
    `links`; frequencies should come from the whole training corpus (`word_frequencies`); without them the
    given sentences are counted. A word missing from the frequencies occurs 0 times. Every link of answer and
    gold falls into one of the two classes of a side, so their counts sum to those of `evaluate`; `pairs`
    counts all sentences in both. A link outside its sentence pair raises `DataError`.
    """
    if rare < 0:
        raise UsageError(f"rare must not be negative, not {rare}")
    pairs = as_pairs(links, gold)
    same_length(("links", len(pairs)), ("source", len(source)), ("target", len(target)), unit="sentences")
    for number, (pair, words, translations) in enumerate(zip(pairs, source, target, strict=True), 1):
        for name, alignment in zip(("links", "gold"), pair, strict=True):
            every = alignment.links + alignment.possible
            links_inside(every, len(words), len(translations), f"{name}, sentence {number}")
    return Breakdown(
        _split(pairs, source, source_frequencies, rare, side=0),
        _split(pairs, target, target_frequencies, rare, side=1),
    )


def _split(
    pairs: Sequence[tuple[Alignment, Alignment]],
    sentences: Sentences,
    frequencies: Mapping[str, int] | None,
    rare: int,
    *,
    side: int,
) -> RareCommon:
    known = word_frequencies(sentences) if frequencies is None else frequencies
    rare_words = [[known.get(word, 0) <= rare for word in words] for words in sentences]

    def keep(alignment: Alignment, marks: Sequence[bool], wanted: bool) -> Alignment:
        both = alignment.links, alignment.possible
        return Alignment.of(*([link for link in links if marks[link[side]] == wanted] for links in both))

    def quality(wanted: bool) -> Evaluation:
        marked = zip(pairs, rare_words, strict=True)
        return Evaluation.of(
            count((keep(a, marks, wanted), keep(g, marks, wanted)) for (a, g), marks in marked)
        )

    return RareCommon(rare=quality(True), common=quality(False))
