"""What every measure of links is made of: five counts per sentence pair, and the rates of such counts.

With A the answer, S the sure and P ⊇ S the possible gold links, the counts are `|A|, |S|, |P|, |A∩S|, |A∩P|`,
in this order (Och & Ney 2003, §5). They add up over sentence pairs, so a corpus, a bootstrap sample and a
point of a precision-recall curve are all sums of them, and one function turns any such sum into rates.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment, Link
from dualign.text.checks import same_length
from dualign.text.formats import parse_pharaoh

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
    """Counts `[sentence pair, 5]`; an answer's A is its `links`, without those it marks as possible."""
    rows = []
    for answer, reference in pairs:
        links, sure = set(answer.links), set(reference.links)
        possible = sure.union(reference.possible)
        rows.append((len(links), len(sure), len(possible), len(links & sure), len(links & possible)))
    return np.array(rows, dtype=np.int64).reshape(-1, 5)


def rates(counts: NDArray[np.int64]) -> Rates:
    """AER, precision, recall and F1 of counts `[..., 5]`.

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
        try:
            return parse_pharaoh(item)
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
    try:
        found = item if isinstance(item, Alignment) else Alignment.of([(index(i), index(j)) for i, j in item])
    except (TypeError, ValueError):
        raise DataError(
            f"{place}: expected an Alignment, a Pharaoh line or pairs of two integers, not {item!r:.60}"
        ) from None
    for i, j in found.links + found.possible:
        if i < 0 or j < 0:
            raise DataError(f"{place}: link ({i}, {j}) has a negative position; positions count from 0")
    return found
