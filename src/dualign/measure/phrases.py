"""How good phrase pairs are, against the phrase pairs of hand-made word links.

A pair of spans is *consistent* with links if a link is inside and none has one word inside and the other
outside. Gold links are sure (S) or only possible (P ⊇ S); words may have none (null). As for links, there are
two sets of gold phrase pairs, sure ones to be found and possible ones that may be found:

- sure: consistent with all of P, and a sure link is inside;
- possible: consistent with S where "inside" asks for any link of P: possible links may be cut.

A word whose links are all cut, or that has none, may stand at the edge of a phrase or not, so every sure pair
is a possible one. With answer A, `precision = |A ∩ possible| / |A|`, `recall = |A ∩ sure| / |sure|`. The
measure is that of Ayan & Dorr 2006 with possible links and nulls treated in the spirit of DeNero & Klein
2010.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dualign._core.errors import DataError
from dualign._core.fields import check_value
from dualign.measure.links import LinkSet, as_alignments, rates
from dualign.text.checks import links_inside, same_length
from dualign.text.links import Link

MOST_RECTANGLES = 1 << 25
"""Phrase pairs of a sentence pair that can be looked at, each with a link or not, in half a gigabyte."""

PhrasePair = tuple[int, int, int, int]
"""`(i, j, k, l)`: source words i..j−1 and target words k..l−1."""


@dataclass(frozen=True, slots=True)
class PhraseEvaluation:
    """Rates over all sentence pairs together, and the numbers they come from."""

    precision: float
    recall: float
    f1: float
    phrases: int
    """Phrase pairs of the answer."""
    sure: int
    """Gold phrase pairs that were to be found."""
    possible: int
    """Gold phrase pairs that might be found."""
    right: int
    """Of the answer, those that are possible."""
    found: int
    """Of the answer, those that are sure."""
    pairs: int
    """Sentence pairs."""

    def as_dict(self) -> dict[str, float | int]:
        """Return the fields by name, ready for JSON."""
        return asdict(self)


def evaluate_phrases(
    phrases: Iterable[Iterable[PhrasePair]],
    gold: Iterable[LinkSet],
    lengths: Iterable[tuple[int, int]],
    *,
    max_length: int = 7,
    tight: bool = False,
) -> PhraseEvaluation:
    """Compare the phrase pairs of each sentence pair with those of its gold links.

    `lengths` are the sentences' numbers of words. Gold phrase pairs, and those of the answer that count, have
    up to `max_length` words per side; with `tight` only those whose edge words have links (of P) count.
    """
    check_value("max_length", max_length, least=1)
    references = as_alignments(gold, "gold")
    answers, sizes = [set(answer) for answer in phrases], list(lengths)
    counts = ("phrases", len(answers)), ("gold", len(references)), ("lengths", len(sizes))
    same_length(*counts, unit="sentence pairs")
    totals = np.zeros(5, np.int64)
    for number, (answer, reference, (I, J)) in enumerate(zip(answers, references, sizes, strict=True), 1):
        every = {*reference.links, *reference.possible}
        links_inside(every, I, J, f"gold, sentence {number}")
        sure = _of(every, reference.links, I, J, max_length)
        possible = _of(reference.links, every, I, J, max_length)
        counted = {pair for pair in answer if max(pair[1] - pair[0], pair[3] - pair[2]) <= max_length}
        if tight:
            rows, columns = {i for i, _ in every}, {j for _, j in every}
            sure, possible, counted = (
                {p for p in group if _is_tight(p, rows, columns)} for group in (sure, possible, counted)
            )
        totals += [len(counted), len(sure), len(possible), len(counted & sure), len(counted & possible)]
    answered, wanted, allowed, found, right = totals.tolist()
    _, precision, recall, f1 = map(float, rates(totals))
    return PhraseEvaluation(
        precision, recall, f1, answered, wanted, allowed, right, found, pairs=len(references)
    )


def phrases_of_links(
    links: Iterable[LinkSet], lengths: Sequence[tuple[int, int]], *, max_length: int = 7
) -> list[set[PhrasePair]]:
    """Return the phrase pairs that extraction takes from the links of each sentence pair."""
    found = []
    for number, (alignment, (I, J)) in enumerate(zip(as_alignments(links, "links"), lengths, strict=True), 1):
        links_inside(alignment.links, I, J, f"links, sentence {number}")
        found.append(_of(alignment.links, alignment.links, I, J, max_length))
    return found


def _of(uncut: Iterable[Link], inside: Iterable[Link], I: int, J: int, longest: int) -> set[PhrasePair]:
    """Return spans that cut no link of `uncut` and contain one of `inside`; O(I J longest²)."""
    if I * J * longest**2 > MOST_RECTANGLES or max(I, J) * longest > MOST_RECTANGLES:
        raise DataError(
            f"a sentence pair of {I:,} and {J:,} words is too long to list its phrases; correct its links, "
            "or split it"
        )
    rows, columns = _spans(I, longest), _spans(J, longest)
    if not len(rows) or not len(columns):
        return set()
    # Links in a rectangle by prefix sums; a link is cut if it is in its rows or its columns but not in both.
    links = _matrix(uncut, I, J)
    whole = _inside(links, rows, columns)
    in_rows = _inside(links, rows, np.array([[0, J]]))
    in_columns = _inside(links, np.array([[0, I]]), columns)
    good = (whole == in_rows) & (whole == in_columns) & (_inside(_matrix(inside, I, J), rows, columns) > 0)
    a, b = np.nonzero(good)
    return {(i, j, k, l) for i, j, k, l in np.hstack((rows[a], columns[b])).tolist()}


def _matrix(links: Iterable[Link], I: int, J: int) -> NDArray[np.bool_]:
    matrix = np.zeros((I, J), np.bool_)
    matrix[tuple(np.array([*links], np.int64).reshape(-1, 2).T)] = True
    return matrix


def _spans(length: int, longest: int) -> NDArray[np.int64]:
    return np.array(
        [(i, j) for i in range(length) for j in range(i + 1, min(i + longest, length) + 1)], np.int64
    ).reshape(-1, 2)


def _inside(
    matrix: NDArray[np.bool_], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return how many are set in each rectangle, [rows, columns]."""
    sums = np.zeros((matrix.shape[0] + 1, matrix.shape[1] + 1), np.int32)
    sums[1:, 1:] = matrix.cumsum(axis=0, dtype=np.int32).cumsum(axis=1)
    bands = sums[rows[:, 1]] - sums[rows[:, 0]]
    return bands[:, columns[:, 1]] - bands[:, columns[:, 0]]


def _is_tight(pair: PhrasePair, rows: set[int], columns: set[int]) -> bool:
    i, j, k, l = pair
    return i in rows and j - 1 in rows and k in columns and l - 1 in columns
