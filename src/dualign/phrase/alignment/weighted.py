"""Weighted sentence pairs: the links a phrase alignment may use, and what each is worth.

A link is a pair of spans `(i, j, k, l)`, source words i..j−1 with target words k..l−1, counted from 0; its
weight is `log φ(e_ij, f_kl)` (DeNero & Klein 2008, §2). A link that is absent has φ = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError, UsageError

PhraseLink = tuple[int, int, int, int]
"""`(i, j, k, l)`: source words i..j−1 and target words k..l−1."""

LinkWeights = Mapping[PhraseLink, float]
"""`log φ` of each link that is possible."""

_HEAVIEST = 1e12


class WeightedPair(NamedTuple):
    """Links sorted by `(i, j, k, l)`."""

    spans: Array
    """int64 [links, 4]: i, j, k, l."""
    weights: Array
    """float64 [links], finite."""
    source_length: int
    target_length: int

    def link(self, number: int) -> PhraseLink:
        """The spans of one link."""
        i, j, k, l = self.spans[number].tolist()
        return i, j, k, l


def weighted_pair(weights: LinkWeights, source_length: int, target_length: int) -> WeightedPair:
    """Check what a user gave: spans within the sentences and not empty, weights that are logarithms.

    A weight of −∞ says, like a link that is absent, that the link is impossible.
    """
    lengths = _length(source_length, "source_length"), _length(target_length, "target_length")
    if not isinstance(weights, Mapping):
        raise DataError(f"weights is a dictionary {{(i, j, k, l): log weight}}, not {type(weights).__name__}")
    try:
        spans = np.array([[index(x) for x in link] for link in weights], dtype=np.int64)
        values = np.array([float(value) for value in weights.values()], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(_odd_item(weights)) from None
    if not len(values):
        spans = spans.reshape(0, 4)
    if spans.ndim != 2 or spans.shape[1] != 4:
        raise DataError(_odd_item(weights))
    low, high = spans[:, [0, 2]], spans[:, [1, 3]]
    wrong = ((low < 0) | (high > np.array(lengths)) | (low >= high)).any(axis=1)
    if wrong.any():
        link = tuple(spans[wrong.argmax()].tolist())
        raise DataError(
            f"link {link} has an empty span or one outside the sentences, of {lengths[0]} and {lengths[1]} "
            "words; (i, j, k, l) are words i..j−1 of the source and k..l−1 of the target, counted from 0"
        )
    wrong = ~((values == -np.inf) | (np.abs(values) <= _HEAVIEST))
    if wrong.any():
        at = wrong.argmax()
        raise DataError(
            f"link {tuple(spans[at].tolist())} has weight {values[at]}; weights are logarithms, −∞ or "
            f"numbers of at most {_HEAVIEST:g}"
        )
    possible = values > -np.inf
    spans, values = spans[possible], values[possible]
    order = np.lexsort(spans.T[::-1])
    return WeightedPair(np.ascontiguousarray(spans[order]), values[order], *lengths)


def _length(length: int, name: str) -> int:
    try:
        number = index(length)
    except TypeError:
        raise UsageError(f"{name}={length!r} is not a number of words") from None
    if number < 0:
        raise UsageError(f"{name}={number} is negative")
    return number


def _odd_item(weights: LinkWeights) -> str:
    for link, value in weights.items():
        try:
            spans = [index(x) for x in link]
            float(value)
        except (TypeError, ValueError, OverflowError):
            spans = []
        if len(spans) != 4:
            return f"weights has the item {link!r:.60}: {value!r:.30}; expected (i, j, k, l): log weight"
    return "weights has positions that are too large for any sentence"
