"""Weighted sentence pairs: the links a phrase alignment may use, and what each is worth.

A link is a pair of spans `(i, j, k, l)`, source words i..j−1 with target words k..l−1, counted from 0; its
weight is `log φ(e_ij, f_kl)` (DeNero & Klein 2008, §2). A link that is absent has φ = 0.

`satisfiability_pair` and `matching_pair` make pairs that are hard by construction (§3), for tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import check_value
from dualign._search.certificate import ROUNDING

PhraseLink = tuple[int, int, int, int]
"""`(i, j, k, l)`: source words i..j−1 and target words k..l−1."""

LinkWeights = Mapping[PhraseLink, float]
"""`log φ` of each link that is possible."""

Constructed = tuple[dict[PhraseLink, float], int, int]
"""Weights, source length, target length: the arguments of `dualign.phrase.align`."""

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
        """Return the spans of one link."""
        i, j, k, l = self.spans[number].tolist()
        return i, j, k, l

    def score(self, links: Array | None) -> float:
        """Return the sum of the weights of some links; −∞ for none."""
        return -np.inf if links is None else float(self.weights[links].sum())


class PhraseSearchResult(NamedTuple):
    """What a method found."""

    links: Array | None
    """Numbers of the links of an alignment, int64; None if it found none."""
    bound: float
    """On any alignment; −∞ if there is none."""
    tolerance: float
    iterations: int
    open: bool = False
    """Whether there may be a better alignment."""


def tolerance_of(pair: WeightedPair) -> float:
    """Return a generous limit to rounding errors in sums of weights; 1e-9 for logarithms of probabilities."""
    heaviest = float(np.abs(pair.weights).max(initial=1.0))
    return max(ROUNDING, 1e-13 * heaviest * (pair.source_length + pair.target_length))


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
    what = f"{name}={{length!r}} is not a number of words"
    with refusing(TypeError, by=UsageError, what=what, length=length):
        number = index(length)
    check_value(name, number, least=0)
    return number


def _odd_item(weights: LinkWeights) -> str:
    for link, value in weights.items():
        with suppress(TypeError, ValueError, OverflowError):
            float(value)
            if len([index(x) for x in link]) == 4:
                continue
        return f"weights has the item {link!r:.60}: {value!r:.30}; expected (i, j, k, l): log weight"
    return "weights has positions that are too large for any sentence"


def satisfiability_pair(clauses: Sequence[Iterable[int]], variables: int) -> Constructed:
    """Return a sentence pair that has a phrase alignment, all of them with score log 1 = 0, iff SAT has a
    solution.

    Variable v (1..variables) is the literal `v`, its negation `−v`; a clause is a set of literals.

    The target has a word for each clause and one for each variable. The source has for each variable as many
    words as clauses with v, then as many as clauses with −v, at least one of each (as printed, §3.1 has none
    for a literal that is in no clause, and then may lack a word for the variable). A clause links to one word
    of one of its literals; the word of a variable links to all words of one literal, which is made false, and
    any number of its negation's that border on them.
    """
    check_value("variables", variables, least=0)
    sets = [_clause(clause, n, variables) for n, clause in enumerate(clauses)]
    weights: dict[PhraseLink, float] = {}
    begin = 0
    for v in range(1, variables + 1):
        true, false = (max(1, sum(literal in clause for clause in sets)) for literal in (v, -v))
        middle, end = begin + true, begin + true + false
        for n, clause in enumerate(sets):
            for literal, words in ((v, range(begin, middle)), (-v, range(middle, end))):
                if literal in clause:
                    weights |= {(i, i + 1, n, n + 1): 0.0 for i in words}
        column = len(sets) + v - 1
        weights |= {(begin, j, column, column + 1): 0.0 for j in range(middle, end + 1)}
        weights |= {(i, end, column, column + 1): 0.0 for i in range(begin, middle + 1)}
        begin = end
    return weights, begin, len(sets) + variables


def matching_pair(edges: Iterable[tuple[int, int]], size: int) -> Constructed:
    """Return a sentence pair whose sum is the number of perfect matchings of a graph of twice `size`
    vertices."""
    check_value("size", size, least=0)
    weights: dict[PhraseLink, float] = {}
    for left, right in edges:
        if not (0 <= left < size and 0 <= right < size):
            raise DataError(f"edge ({left}, {right}) is outside a graph of {size} and {size} vertices")
        weights[left, left + 1, right, right + 1] = 0.0
    return weights, size, size


def _clause(clause: Iterable[int], number: int, variables: int) -> set[int]:
    literals = {index(literal) for literal in clause}
    for literal in literals:
        if not 1 <= abs(literal) <= variables:
            raise DataError(f"clause {number} has the literal {literal}; there are ±1 to ±{variables}")
    return literals
