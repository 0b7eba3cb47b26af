"""Where the errors are: quality split into links of rare and of common words.

Rare words betray the "garbage collector": a word seen a few times that collects the links of its neighbours.
Graça et al. 2010 split precision and recall this way (§4.3, Fig. 7), and call a word rare that occurs less
than five times (§2.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dualign.core.errors import DataError, UsageError
from dualign.measure.counts import LinkSet, as_pairs, count
from dualign.measure.quality import Evaluation
from dualign.text.alignment import Alignment, Link

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
    `links`; frequencies should come from the whole training corpus (`word_frequencies`), and without them the
    given sentences are counted. A word missing from the frequencies occurs 0 times. Every link of answer and
    gold falls into one of the two classes of a side, so their counts sum to those of `evaluate`; `pairs`
    counts all sentences in both.

    Raises `DataError` for a link that points outside its sentence pair, with the number of the sentence.
    """
    if rare < 0:
        raise UsageError(f"rare must not be negative, not {rare}")
    pairs = as_pairs(links, gold)
    for name, sentences in (("source", source), ("target", target)):
        if len(sentences) != len(pairs):
            raise DataError(f"{name} has {len(sentences)} sentences for {len(pairs)} sentence pairs of links")
    for number, (pair, words, translations) in enumerate(zip(pairs, source, target, strict=True), 1):
        for name, alignment in zip(("links", "gold"), pair, strict=True):
            _check_range(alignment, len(words), len(translations), f"{name}, sentence {number}")
    return Breakdown(
        _split(pairs, source, _frequencies(source_frequencies, source), rare, side=0),
        _split(pairs, target, _frequencies(target_frequencies, target), rare, side=1),
    )


def _frequencies(given: Mapping[str, int] | None, sentences: Sentences) -> Mapping[str, int]:
    return word_frequencies(sentences) if given is None else given


def _check_range(alignment: Alignment, source_length: int, target_length: int, place: str) -> None:
    for i, j in alignment.links + alignment.possible:
        if i >= source_length or j >= target_length:
            raise DataError(
                f"{place}: link {i}-{j} lies outside the {source_length} source and {target_length} target "
                "words; are the sentences those that were aligned?"
            )


def _split(
    pairs: Sequence[tuple[Alignment, Alignment]],
    sentences: Sentences,
    frequencies: Mapping[str, int],
    rare: int,
    *,
    side: int,
) -> RareCommon:
    rare_words = [[frequencies.get(word, 0) <= rare for word in words] for words in sentences]

    def keep(alignment: Alignment, marks: Sequence[bool], wanted: bool) -> Alignment:
        def kept(links: Iterable[Link]) -> Iterable[Link]:
            return (link for link in links if marks[link[side]] == wanted)

        return Alignment.of(kept(alignment.links), kept(alignment.possible))

    def quality(wanted: bool) -> Evaluation:
        return Evaluation.of(
            count(
                (keep(answer, marks, wanted), keep(reference, marks, wanted))
                for (answer, reference), marks in zip(pairs, rare_words, strict=True)
            )
        )

    return RareCommon(rare=quality(True), common=quality(False))
