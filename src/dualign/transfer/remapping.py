"""Links carried from one tokenisation of a text to another: words, subwords, characters, bytes.

A link of token `i` becomes a link of every token that shares a letter with `i` (see
`dualign.transfer.tokens`); the same on the other side. If several links become one, it has the highest of
their probabilities, and it is sure if one of them is.

*Round trips.* If every new token lies within one old token (words to subwords, or to offsets), going there
and back gives the same links. From subwords to words, information is lost whenever a word's subwords have
different links.

*Offsets.* `begin:end-begin:end`, source first, counts characters (Unicode code points), bytes (UTF-8) or
UTF-16 units of the original lines; `end` is exclusive. Possible links are `begin:end?begin:end`; a
probability follows as in `0:5-0:4:0.87`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment
from dualign.text.formats import NUMBER, REAL, parse_marked
from dualign.transfer.tokens import Interval, overlaps

UNITS = ("characters", "bytes", "utf16")
"""What offsets count."""

_LINK = re.compile(rf"({NUMBER}:{NUMBER})([-?])({NUMBER}:{NUMBER})(?::({REAL}))?")

Spans = tuple[Interval, Interval]


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
    carried = _carried(
        alignment,
        lambda i: (i,) if source is None else source[i],
        lambda j: (j,) if target is None else target[j],
    )
    return Alignment(*carried)


def remap_to_offsets(
    alignment: Alignment, source: Sequence[Interval], target: Sequence[Interval]
) -> OffsetAlignment:
    """Carry links to the offsets of their tokens."""
    return OffsetAlignment(*_carried(alignment, lambda i: (source[i],), lambda j: (target[j],)))


def remap_from_offsets(
    alignment: OffsetAlignment, source: Sequence[Interval], target: Sequence[Interval]
) -> Alignment:
    """Carry links of offsets to the tokens with these offsets: to every token that shares a character."""
    tokens = []
    for side, places in enumerate((source, target)):
        wanted = sorted({link[side] for link in (*alignment.links, *alignment.possible)})
        tokens.append(dict(zip(wanted, overlaps(wanted, places), strict=True)))
    return Alignment(*_carried(alignment, tokens[0].__getitem__, tokens[1].__getitem__))


def _carried(
    alignment: Alignment | OffsetAlignment,
    source: Callable[[Any], Iterable[Any]],
    target: Callable[[Any], Iterable[Any]],
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[float, ...] | None]:
    """Links, possible links and probabilities if each side of a link becomes what the functions give."""
    best: dict[Any, float] = {}
    known = alignment.probabilities or (1.0,) * len(alignment.links)
    for (i, j), p in zip(alignment.links, known, strict=True):
        for new in ((a, b) for a in source(i) for b in target(j)):
            best[new] = max(p, best.get(new, 0.0))
    possible = {(a, b) for i, j in alignment.possible for a in source(i) for b in target(j)}
    links = tuple(sorted(best))
    probabilities = tuple(best[link] for link in links) if alignment.probabilities else None
    return links, tuple(sorted(possible - best.keys())), probabilities or None


def in_units(intervals: Iterable[Interval], text: str, unit: str) -> list[Interval]:
    """Intervals of characters in another unit."""
    if unit == "characters" or (text.isascii() and unit in UNITS):
        return list(intervals)
    offsets = _offsets(text, unit)
    return [(offsets[begin], offsets[end]) for begin, end in intervals]


def in_characters(intervals: Iterable[Interval], text: str, unit: str) -> dict[Interval, Interval]:
    """The characters of intervals given in a unit; `DataError` if one is outside, or cuts a character."""
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
    """Where each character begins, and where the text ends, in a unit."""
    if unit == "characters":
        return list(range(len(text) + 1))
    if unit == "bytes":
        return [0, *accumulate(len(character.encode()) for character in text)]
    if unit == "utf16":
        return [0, *accumulate(1 + (character > "\uffff") for character in text)]
    raise UsageError(f"unknown unit `{unit}`; there are {', '.join(UNITS)}")


def format_offsets(alignment: OffsetAlignment) -> str:
    """One line, without the line end."""
    known = alignment.probabilities or (None,) * len(alignment.links)
    marked = [
        (s, t, "-", "" if p is None else f":{p:.6f}")
        for (s, t), p in zip(alignment.links, known, strict=True)
    ]
    marked += [(s, t, "?", "") for s, t in alignment.possible]
    return " ".join(f"{s[0]}:{s[1]}{mark}{t[0]}:{t[1]}{p}" for s, t, mark, p in sorted(marked))


def parse_offsets(line: str) -> OffsetAlignment:
    """Read one line of offsets."""

    def interval(text: str) -> Interval:
        begin, end = text.split(":")
        return int(begin), int(end)

    def link(source: str, target: str) -> Spans:
        return interval(source), interval(target)

    return OffsetAlignment(*parse_marked(line, _LINK, link, "links of offsets, as in `0:5-0:4`"))
