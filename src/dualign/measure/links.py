"""Alignment error rate, precision, recall and F1 of links against gold links, in all and for rare words.

With A the answer, S the sure and P ⊇ S the possible gold links, a sentence pair has five counts,
`|A|, |S|, |P|, |A∩S|, |A∩P|`, in this order (Och & Ney 2003, §5). They add up over sentence pairs, so a
corpus, a bootstrap sample and a point of a precision-recall curve are all sums of them, and one function,
`rates`, turns any such sum into rates.

Links of rare words show the "garbage collector" effect: a word seen a few times collects the links of its
neighbours. Graça et al. 2010 split precision and recall this way (§4.3, Fig. 7), and call a word rare that
occurs less than five times (§2.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualign._core.certified import html_table
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import check_value
from dualign.text.checks import links_inside, same_length
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.links import Alignment, Link

Sentences = Sequence[Sequence[str]]

LinkSet = Alignment | str | Iterable[Link]
"""The links of one sentence pair: an `Alignment`, a Pharaoh line, or pairs `(source, target)`, all sure."""


class Rates(NamedTuple):
    """Rates of counts `[..., 5]`, each of shape `[...]`."""

    aer: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


def as_alignments(items: Iterable[LinkSet], name: str) -> list[Alignment]:
    """Read each item as an `Alignment`; error messages begin with `name` and the sentence number."""
    if isinstance(items, str | Alignment):
        raise DataError(f"{name}: expected one set of links for each sentence pair, not a single one")
    if not isinstance(items, Iterable):
        raise UsageError(f"{name} is {items!r:.60}; give a list with one set of links for each sentence pair")
    return [_as_alignment(item, f"{name}, sentence {number}") for number, item in enumerate(items, 1)]


def as_pairs(links: Iterable[LinkSet], gold: Iterable[LinkSet]) -> list[tuple[Alignment, Alignment]]:
    """Answer and gold of each sentence pair; their numbers must agree."""
    answers, references = as_alignments(links, "links"), as_alignments(gold, "gold")
    same_length(("links", len(answers)), ("gold", len(references)), unit="sentence pairs")
    return list(zip(answers, references, strict=True))


def count(pairs: Iterable[tuple[Alignment, Alignment]]) -> NDArray[np.int64]:
    """Return counts `[sentence pair, 5]`; an answer's A is its `links`, without those it marks as
    possible."""
    rows = []
    for answer, reference in pairs:
        links, sure = set(answer.links), set(reference.links)
        possible = sure.union(reference.possible)
        rows.append((len(links), len(sure), len(possible), len(links & sure), len(links & possible)))
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


def rates(counts: NDArray[np.int64]) -> Rates:
    """Return AER, precision, recall and F1 of counts `[..., 5]`.

    `aer = 1 − (|A∩S| + |A∩P|) / (|A| + |S|)`, `precision = |A∩P| / |A|`, `recall = |A∩S| / |S|`, and `f1` is
    the harmonic mean of the last two. Precision is 1 if A is empty, recall is 1 if S is empty, and AER is 0
    if both are. F1 is 0 if precision and recall both are.
    """
    links, sure, _, sure_hits, possible_hits = np.moveaxis(counts, -1, 0)
    precision = _ratio(possible_hits, links)
    recall = _ratio(sure_hits, sure)
    total = precision + recall
    f1 = 2 * precision * recall / np.where(total > 0, total, 1)
    return Rates(1 - _ratio(sure_hits + possible_hits, links + sure), precision, recall, f1)


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), 1.0)


def _as_alignment(item: LinkSet, place: str) -> Alignment:
    if isinstance(item, str):
        with refusing(DataError, place=place):
            return parse_pharaoh(item)
    what = "expected an Alignment, a Pharaoh line or pairs of two integers, not {item!r:.60}"
    with refusing(TypeError, ValueError, what=what, place=place, item=item):
        found = item if isinstance(item, Alignment) else Alignment.of([(index(i), index(j)) for i, j in item])
    for i, j in found.links + found.possible:
        if i < 0 or j < 0:
            raise DataError(f"{place}: link ({i}, {j}) has a negative position; positions count from 0")
    return found


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Rates over all sentence pairs together, and the numbers they come from."""

    aer: float
    """`1 − (|A∩S| + |A∩P|) / (|A| + |S|)`, of answer A, sure links S and possible links P ⊇ S."""
    precision: float
    """`|A∩P| / |A|`."""
    recall: float
    """`|A∩S| / |S|`."""
    f1: float
    """Harmonic mean of precision and recall."""
    links: int
    """`|A|`."""
    sure: int
    """`|S|`."""
    possible: int
    """`|P|`; sure links are possible too."""
    pairs: int
    """Sentence pairs, those without any link included."""

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Evaluation:
        """Sum counts `[sentence pair, 5]` (see `dualign.measure.links`) and rate the sum."""
        total = counts.sum(axis=0)
        aer, precision, recall, f1 = map(float, rates(total))
        links, sure, possible = map(int, total[:3])
        return cls(aer, precision, recall, f1, links, sure, possible, pairs=len(counts))

    def as_dict(self) -> dict[str, float | int]:
        """Return the fields by name, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        rates = (("AER", self.aer), ("precision", self.precision), ("recall", self.recall), ("F1", self.f1))
        counts = ("pairs", self.pairs), ("links", self.links), ("sure gold links", self.sure)
        rows = [(name, f"{100 * value:.2f} %") for name, value in rates]
        return html_table(rows + [(name, f"{value:,}") for name, value in counts])


def evaluate(links: Iterable[LinkSet], gold: Iterable[LinkSet]) -> Evaluation:
    """Compare the links of each sentence pair with its gold links.

    Items of either side are `Alignment`s, Pharaoh lines or iterables of `(source, target)`, counted from 0.
    Gold possible links (`Alignment.possible`, `i?j`, `ipj`) cost nothing if found and nothing if missed; of
    the answer only sure links count. Precision is 1 if the answer is empty, recall is 1 if gold has no sure
    links, and AER is 0 if both hold.

    Och & Ney 2003, §5. Raises `DataError` if the two sides differ in length or an item is not a set of links.
    """
    return Evaluation.of(count(as_pairs(links, gold)))


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
    """Return how often each word occurs in tokenised sentences."""
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
    check_value("rare", rare, least=0)
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
