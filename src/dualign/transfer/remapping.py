"""Links carried from one tokenisation of a text to another: words, subwords, characters, bytes.

A link of token `i` becomes a link of every token that shares a letter with `i` (see
`dualign.transfer.tokens`); the same on the other side. Where several links become one, it has the highest
of their probabilities, and it is sure if one of them is.

*Round trips.* If every new token lies within one old token (words to subwords, or to offsets), going there
and back gives the same links. From subwords to words something is lost whenever a word's subwords have
different links.

*Offsets.* `begin:end-begin:end`, source first, counts characters (Unicode code points), bytes (UTF-8) or
UTF-16 units of the original lines; `end` is not included. Possible links are `begin:end?begin:end`, a
probability follows as in `0:5-0:4:0.87`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment, Link
from dualign.text.formats import NUMBER, REAL, parse_probability
from dualign.transfer.tokens import Interval, overlaps

UNITS = ("characters", "bytes", "utf16")
"""What offsets count."""

_LINK = re.compile(rf"({NUMBER}):({NUMBER})([-?])({NUMBER}):({NUMBER})(?::({REAL}))?")

Spans = tuple[Interval, Interval]
L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class OffsetAlignment:
    """Links between pieces of two lines: the counterpart of `Alignment`, with intervals for positions."""

    links: tuple[Spans, ...] = ()
    possible: tuple[Spans, ...] = ()
    probabilities: tuple[float, ...] | None = None


def remap(
    alignment: Alignment, source: Sequence[Sequence[int]] | None, target: Sequence[Sequence[int]] | None
) -> Alignment:
    """Carry links to other tokens; `source[i]`, `target[j]`: the new ones of an old one, None: the same."""

    def sides(link: tuple[int, int]) -> Iterable[tuple[int, int]]:
        i, j = link
        return (
            (a, b)
            for a in ((i,) if source is None else source[i])
            for b in ((j,) if target is None else target[j])
        )

    weights = _weights(alignment.probabilities, len(alignment))
    pairs = zip(alignment.links, weights, strict=True)
    return _carried(pairs, alignment.possible, sides, alignment.probabilities is not None)


def remap_to_offsets(
    alignment: Alignment, source: Sequence[Interval], target: Sequence[Interval]
) -> OffsetAlignment:
    """Carry links to the offsets of their tokens."""
    weights = _weights(alignment.probabilities, len(alignment))
    best: dict[Spans, float] = {}
    for (i, j), p in zip(alignment.links, weights, strict=True):
        link = source[i], target[j]
        best[link] = max(p, best.get(link, 0.0))
    links = tuple(sorted(best))
    possible = sorted({(source[i], target[j]) for i, j in alignment.possible} - best.keys())
    probabilities = None if alignment.probabilities is None else tuple(best[link] for link in links)
    return OffsetAlignment(links, tuple(possible), probabilities)


def remap_from_offsets(
    alignment: OffsetAlignment, source: Sequence[Interval], target: Sequence[Interval]
) -> Alignment:
    """Carry links of offsets to the tokens with these offsets: to every token that shares a character."""
    tokens = []
    for side, places in enumerate((source, target)):
        wanted = sorted({link[side] for link in (*alignment.links, *alignment.possible)})
        tokens.append(dict(zip(wanted, overlaps(wanted, places), strict=True)))

    def sides(link: Spans) -> Iterable[tuple[int, int]]:
        return ((a, b) for a in tokens[0][link[0]] for b in tokens[1][link[1]])

    weights = _weights(alignment.probabilities, len(alignment.links))
    pairs = zip(alignment.links, weights, strict=True)
    return _carried(pairs, alignment.possible, sides, alignment.probabilities is not None)


def _carried(
    sure: Iterable[tuple[L, float]], possible: Iterable[L], sides: Callable[[L], Iterable[Link]], scored: bool
) -> Alignment:
    """The links that `sides` makes of each link, with their probabilities if `scored`."""
    best: dict[Link, float] = {}
    for link, p in sure:
        for new in sides(link):
            if p > best.get(new, -1.0):
                best[new] = p
    carried = Alignment.of(best, [new for link in possible for new in sides(link)])
    if not scored or not best:
        return carried
    return Alignment(carried.links, carried.possible, tuple(best[link] for link in carried.links))


def _weights(probabilities: Sequence[float] | None, count: int) -> Sequence[float]:
    return (1.0,) * count if probabilities is None else probabilities


def in_units(intervals: Sequence[Interval], text: str, unit: str) -> list[Interval]:
    """Intervals of characters in another unit."""
    if unit == "characters" or (text.isascii() and unit in UNITS):
        return list(intervals)
    offsets = _offsets(text, unit)
    return [(offsets[begin], offsets[end]) for begin, end in intervals]


def in_characters(intervals: Iterable[Interval], text: str, unit: str) -> dict[Interval, Interval]:
    """The characters of intervals given in a unit; `DataError` if one lies outside, or cuts a character."""
    place = {offset: at for at, offset in enumerate(_offsets(text, unit))}
    result = {}
    for interval in intervals:
        begin, end = interval
        if begin > end:
            raise DataError(f"{begin}:{end} ends before it begins")
        for offset in interval:
            if offset not in place:
                length = max(place)
                what = f"the line has {length} {unit}" if offset > length else "it is inside a character"
                raise DataError(f"{begin}:{end} lies outside the text: there is no place {offset}, {what}")
        result[interval] = place[begin], place[end]
    return result


def _offsets(text: str, unit: str) -> list[int]:
    """The place of each character's beginning, and of the end, in a unit."""
    if unit == "characters":
        return list(range(len(text) + 1))
    if unit == "bytes":
        return [0, *accumulate(len(character.encode()) for character in text)]
    if unit == "utf16":
        return [0, *accumulate(1 + (character > "\uffff") for character in text)]
    raise UsageError(f"unknown unit `{unit}`; there are {', '.join(UNITS)}")


def format_offsets(alignment: OffsetAlignment) -> str:
    """One line, without the line end."""
    probabilities = [""] * len(alignment.links)
    if alignment.probabilities is not None:
        probabilities = [f":{p:.6f}" for p in alignment.probabilities]
    marked = [(*link, "-", p) for link, p in zip(alignment.links, probabilities, strict=True)]
    marked += [(*link, "?", "") for link in alignment.possible]
    return " ".join(f"{s[0]}:{s[1]}{mark}{t[0]}:{t[1]}{p}" for s, t, mark, p in sorted(marked))


def parse_offsets(line: str) -> OffsetAlignment:
    """Read one line of offsets; `DataError` names the link that is none."""
    sure: dict[Spans, float | None] = {}
    possible = set()
    for token in line.split():
        match = _LINK.fullmatch(token)
        if match is None:
            raise DataError(f"`{token[:40]}` is no link of offsets; expected `0:5-0:4`")
        numbers = [int(match[group]) for group in (1, 2, 4, 5)]
        link = (numbers[0], numbers[1]), (numbers[2], numbers[3])
        if match[3] == "-":
            sure[link] = None if match[6] is None else parse_probability(match[6], token)
        elif match[6] is None:
            possible.add(link)
        else:
            raise DataError(f"`{token[:40]}`: only a sure link `0:5-0:4` can carry a probability")
    links = tuple(sorted(sure))
    given = tuple(p for link in links if (p := sure[link]) is not None)
    if given and len(given) < len(links):
        raise DataError("some links have a probability and some have none; give one to all or to none")
    return OffsetAlignment(links, tuple(sorted(possible - sure.keys())), given or None)
