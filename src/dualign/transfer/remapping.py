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

*Files.* `remapped` reads links and tokens pair by pair, for `dualign remap`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import check_value
from dualign.text.checks import in_step, links_inside
from dualign.text.formats import NUMBER, REAL
from dualign.text.formats.pharaoh import parse_marked, pharaoh, sorted_links
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment
from dualign.text.utf8 import parsed, read_lines, tokenize
from dualign.transfer.tokens import MARKS, SCHEMES, Interval, covering, letters, locate, overlaps, word_groups

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
    every = (*alignment.links, *alignment.possible)
    left, right = (
        sharing([link[side] for link in every], places) for side, places in enumerate((source, target))
    )
    return Alignment(*_carried(alignment, left.__getitem__, right.__getitem__))


def sharing(wanted: Iterable[Interval], tokens: Sequence[Interval]) -> dict[Interval, list[int]]:
    """Return the tokens that share some character with each of the intervals."""
    ordered = sorted(set(wanted))
    return dict(zip(ordered, overlaps(ordered, tokens), strict=True))


def _carried(
    alignment: Alignment | OffsetAlignment,
    source: Callable[[Any], Iterable[Any]],
    target: Callable[[Any], Iterable[Any]],
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[float, ...] | None]:
    """Return links, possible links and probabilities if each side of a link becomes what the functions
    give."""
    best: dict[Any, float | None] = {}
    known = alignment.probabilities or (None,) * len(alignment.links)
    for (i, j), p in zip(alignment.links, known, strict=True):
        for new in ((a, b) for a in source(i) for b in target(j)):
            best[new] = p if p is None else max(p, best.get(new) or 0.0)
    return sorted_links(best, ((a, b) for i, j in alignment.possible for a in source(i) for b in target(j)))


def in_units(intervals: Iterable[Interval], text: str, unit: str) -> dict[Interval, Interval]:
    """Return intervals of characters in another unit."""
    offsets = _offsets(text, unit)
    return {(begin, end): (offsets[begin], offsets[end]) for begin, end in intervals}


def in_characters(intervals: Iterable[Interval], text: str, unit: str) -> dict[Interval, Interval]:
    """Return the characters of intervals given in a unit; `DataError` if one is outside, or cuts a
    character."""
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


def _offsets(text: str, unit: str) -> Sequence[int]:
    """Return where each character begins, and where the text ends, in a unit."""
    check_value("unit", unit, choices=UNITS)
    if unit == "characters" or text.isascii():
        return range(len(text) + 1)
    if unit == "bytes":
        return [0, *accumulate(len(character.encode()) for character in text)]
    return [0, *accumulate(1 + (character > "\uffff") for character in text)]


def format_offsets(alignment: OffsetAlignment) -> str:
    """Return one line, without the line end."""
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


@dataclass(frozen=True, slots=True)
class Side:
    """The files of one side: tokens that the given links are about, and those for the new ones."""

    given: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True)
class Remapping:
    """What is carried where; kinds are schemes of tokens (`SCHEMES`) or units of offsets (`UNITS`)."""

    links: str
    given: str
    new: str
    source: Side = Side()
    target: Side = Side()
    format: str | None = None
    pairs: int | None = None

    def __post_init__(self) -> None:
        for kind in (self.given, self.new):
            if kind not in SCHEMES + UNITS:
                raise UsageError(f"links cannot be about `{kind}`; there are {', '.join(SCHEMES + UNITS)}")
        for name, side in (("source", self.source), ("target", self.target)):
            for what, option in self._missing(name, side):
                values: dict[str, Any] = {option: ...}
                raise UsageError(f"{what} {{{option}=}}", **values)
        if {self.source.given, self.source.new, self.target.given, self.target.new} == {None}:
            raise UsageError(
                "nothing to carry links to; name files with {source_from=}, {source_to=} and so on",
                source_from=..., source_to=...,
            )  # fmt: skip
        if self.given in UNITS and (self.format is not None or self.pairs is not None):
            raise UsageError(
                "links of offsets have one format, a line for each pair; "
                "{format=} and {pairs=} are for others",
                format=..., pairs=...,
            )  # fmt: skip

    def _missing(self, name: str, side: Side) -> Iterator[tuple[str, str]]:
        """Yield what a side lacks, and the option that names it."""
        here, there = f"{name}_from", f"{name}_to"
        text = "offsets need the text that they count in; give it as"
        if self.given in UNITS and side.given is None:
            yield text, here
        if self.new in UNITS and side.new is None and not (self.given in UNITS and side.given):
            yield text, there
        both = (self.given, side.given, here), (self.new, side.new, there)
        if self.new in UNITS or self.given in UNITS:
            for kind, path, option in both:
                if kind in SCHEMES[1:] and path is None:
                    yield f"give the subwords of the {name} side as", option
        elif (side.given is None) != (side.new is None):
            (other, _, _), (missing, _, option) = both if side.new is None else both[::-1]
            if other == "words" or missing != "words":
                yield f"give the other tokens of the {name} side as", option


Moves = Callable[[Sequence[Any]], Mapping[Any, Sequence[Any]]]
"""What each of some given positions, or intervals, becomes."""


def remapped(
    work: Remapping, warn: Callable[[str], None] = lambda message: None, errors: str = "strict"
) -> Iterator[tuple[str, DataError | None]]:
    """Return a line of links for each pair; if tokens and text differ, an empty one, with the error that says
    so.

    Links outside their sentences always raise. `warn` is called at the end about files of subwords in which
    no token has the mark of a subword.
    """
    if work.given in UNITS:
        links: Iterable[Any] = parsed(work.links, read_lines(work.links, errors), parse_offsets)
    else:
        links = read_links(work.links, work.format, errors, count=work.pairs)
    files = [
        (path, _watched(path, kind, errors, warn))
        for side in (work.source, work.target)
        for path, kind in ((side.given, work.given), (side.new, work.new))
        if path is not None
    ]
    streams = in_step((work.links, links), *files, unit="sentences")
    for number, (alignment, *lines) in enumerate(streams, 1):
        rest = iter(lines)
        try:
            sides = [_moves(work, side, rest, number) for side in (work.source, work.target)]
        except DataError as error:
            yield "", error
            continue
        place = f"{work.links}, sentence pair {number}"
        every = (*alignment.links, *alignment.possible)
        if work.given not in UNITS:
            links_inside(every, sides[0][0], sides[1][0], place)
        with refusing(DataError, place=place):
            left, right = (moves([link[k] for link in every]) for k, (_, moves) in enumerate(sides))
        found = _carried(alignment, left.__getitem__, right.__getitem__)
        offsets = work.new in UNITS
        yield format_offsets(OffsetAlignment(*found)) if offsets else pharaoh(Alignment(*found)), None


def _watched(path: str, kind: str, errors: str, warn: Callable[[str], None]) -> Iterator[str]:
    """Read a file of tokens; warn at the end if none has the mark of its kind."""
    marked, words = kind not in MARKS, False
    for line in read_lines(path, errors):
        if not marked and (tokens := tokenize(line)):
            marked, words = letters(tokens, kind) != tokens, True
        yield line
    if words and not marked:
        warn(f"no token of {path} has the mark of {kind}, `{MARKS[kind]}`; are they words?")


def _moves(work: Remapping, side: Side, lines: Iterator[str], number: int) -> tuple[int | None, Moves]:
    """Return the tokens of one side of a pair, if their number is known, and what positions become."""
    given = next(lines) if side.given is not None else None
    new = next(lines) if side.new is not None else None
    names = f"{side.given}:{number}", f"{side.new}:{number}"
    if work.given in UNITS:
        text = given or ""
        if work.new in UNITS:
            return None, partial(_in_other_units, text, work)
        if new is None:
            places = locate(tokenize(text), text, (names[0], "its text"))
        else:
            places = locate(letters(tokenize(new), work.new), text, names[::-1])
        return None, partial(_at_places, text, work.given, places)
    if work.new in UNITS:
        text = new or ""
        tokens = tokenize(text) if given is None else letters(tokenize(given), work.given)
        places = locate(tokens, text, names)
        offsets = in_units(places, text, work.new)
        return len(tokens), lambda wanted: {i: [offsets[places[i]]] for i in wanted}
    if given is None and new is None:
        return None, lambda wanted: {i: [i] for i in wanted}
    becomes: Sequence[Sequence[int]]
    if given is None:
        becomes = word_groups(tokenize(new or ""), work.new)
    elif new is None:
        groups = word_groups(tokenize(given), work.given)
        becomes = [[word] for word, group in enumerate(groups) for _ in group]
    else:
        sides = letters(tokenize(given), work.given), letters(tokenize(new), work.new)
        becomes = overlaps(*covering(*sides, names))
    return len(becomes), lambda wanted: {i: becomes[i] for i in wanted}


def _in_other_units(text: str, work: Remapping, wanted: Sequence[Interval]) -> dict[Interval, list[Interval]]:
    """Return intervals of a text in new units."""
    places = in_characters(wanted, text, work.given)
    offsets = in_units(places.values(), text, work.new)
    return {interval: [offsets[place]] for interval, place in places.items()}


def _at_places(
    text: str, unit: str, tokens: Sequence[Interval], wanted: Sequence[Interval]
) -> dict[Interval, list[int]]:
    """Return the tokens, given by their characters, that share some with each interval of a text."""
    places = in_characters(wanted, text, unit)
    found = sharing(places.values(), tokens)
    return {interval: found[place] for interval, place in places.items()}
