"""Forced decoding: the best way to make a given translation from the entries of a phrase table.

The lines of a phrase alignment are `i:j-k:l …  ||| score ||| bound`, source words i..j−1 with target words
k..l−1, counted from 0, in the order of the source. Without an alignment the links are missing and both
numbers are −inf.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import DataError, Infeasible
from dualign._core.threads import ordered_map, spans
from dualign.phrase.aligning import PhraseAlignment, align_pair
from dualign.phrase.occurrences import Occurrences
from dualign.phrase.weights import PhraseLink
from dualign.text.utf8 import parsed, read_lines

_CHUNK = 256  # sentence pairs for one job of a thread
_LINK = re.compile(r"([0-9]{1,9}):([0-9]{1,9})-([0-9]{1,9}):([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Forced:
    """The answer for one sentence pair."""

    result: Certified[PhraseAlignment | None] | None
    """None if it is proved that the table has no alignment, or if a side is empty."""
    empty: bool
    """Whether a side has no words, so that there is nothing to align."""


def decode(
    occurrences: Occurrences,
    weights: Array,
    *,
    method: str = "exact",
    time_limit: float | None = None,
    threads: int = 1,
) -> Iterator[Forced]:
    """Align the phrases of each sentence pair of a text, by the weights [entries] of its table entries."""

    def work(job: tuple[int, int]) -> list[Forced]:
        return [_forced(occurrences, weights, number, method, time_limit) for number in range(*job)]

    for chunk in ordered_map(work, spans(len(occurrences), _CHUNK), threads):
        yield from chunk


def _forced(
    occurrences: Occurrences, weights: Array, number: int, method: str, time_limit: float | None
) -> Forced:
    pair, _ = occurrences.weighted(number, weights)
    if not pair.source_length or not pair.target_length:
        return Forced(None, empty=True)
    try:
        return Forced(align_pair(pair, method, time_limit), empty=False)
    except Infeasible:
        return Forced(None, empty=False)


def format_line(forced: Forced) -> str:
    """Return one line of output, without the line end; empty if a side has no words."""
    if forced.empty:
        return ""
    score = bound = -math.inf
    links: PhraseAlignment = ()
    if forced.result is not None:
        score, bound = forced.result.score, forced.result.bound
        links = forced.result.solution or ()
    text = " ".join(f"{i}:{j}-{k}:{l}" for i, j, k, l in links)
    return f"{text} ||| {score:.9g} ||| {bound:.9g}".lstrip()


def parse_line(line: str) -> list[PhraseLink]:
    """Return the links of one line; scores after them are ignored."""
    links = []
    for token in line.partition("|||")[0].split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise DataError(f"`{token:.40}` is not a phrase link; expected `i:j-k:l` with numbers")
        i, j, k, l = map(int, match.groups())
        if i >= j or k >= l:
            raise DataError(f"`{token}` has a span without words; expected `i:j-k:l` with i < j and k < l")
        links.append((i, j, k, l))
    return links


def read_alignments(path: str, errors: str = "strict") -> Iterator[list[PhraseLink]]:
    """Return the phrase links of each line of a file that `dualign phrases align` wrote."""
    return parsed(path, read_lines(path, errors), parse_line)
