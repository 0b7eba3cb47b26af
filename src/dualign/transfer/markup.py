"""Inline markup carried over links: the tags of a source line inserted into its translation.

`Click <b>Save</b>.<br/>` is text with *elements*, `<b>…</b>`, and *points*, `<br/>`. Links are about the
words of the text without its tags.

**Elements.** An element is a span of source words. Top to bottom, an element is placed inside its parent and
beside its siblings, heaviest first (see `dualign.transfer.spans` for runs and weights):

1. around all its runs, from the first to the last, if no run of a sibling lies between;
2. else around its heaviest run that meets no sibling's place;
3. else, and where no word of it is aligned, it stands empty at the point where its first word would come.

Since a parent's words include its children's, the first choice always lies inside the parent's.

**Points** come before the target word of the next source word, or after that of the last one: of the
nearest aligned source word in the same element, the next one among equals; never inside an element that
they were not in.

No tag is lost or doubled, and tags nest as in the source, which is what localisation tools check first.

**What is markup:** `<name …>`, `</name>`, `<name …/>`, comments, processing instructions. HTML's void
elements (`<br>`, `<img …>`, …) need no slash where nothing closes them. Any other `<` is text. Tags must
nest; tags that overlap, or are never closed, are errors. Character references (`&amp;`) are ordinary text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf

from dualign._core.errors import DataError
from dualign.text.links import WeightedLink
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tokens import Interval

_NAME = r"(?:[^\W\d]|:)[\w:.\-]*+"
# Possessive throughout: what is not a tag must not be tried in many ways.
_TAG = re.compile(
    rf"""<(/?)({_NAME})(?:\s++[^<>"'/=\s]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>=`]++))?+)*+\s*+(/?)>"""
)
_CLOSING = re.compile(rf"</({_NAME})\s*+>")
_SPECIAL = (("<!--", "-->"), ("<?", "?>"))
"""How comments and processing instructions begin and end."""

_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)

_DEEPEST = 100


@dataclass(slots=True)
class Element:
    """Tags, or a point (`closing` empty), at characters `begin` to `end` of the text without tags."""

    opening: str
    begin: int
    closing: str = ""
    end: int = 0
    children: list[Element] = field(default_factory=list)

    @property
    def is_point(self) -> bool:
        """Whether this is a tag that stands alone, or a pair with nothing between."""
        return self.begin == self.end


@dataclass(frozen=True, slots=True)
class Markup:
    """A line without its tags, and its elements, outermost in order."""

    text: str
    elements: list[Element]


@dataclass(frozen=True, slots=True)
class Placement:
    """The target line with tags, and what happened to elements that hold words: one status for each."""

    text: str
    statuses: list[str]


def parse_markup(line: str) -> Markup:
    """Split a line into text and tags; `DataError` for tags that do not nest."""
    pieces: list[str] = []
    length = at = 0
    outermost: list[Element] = []
    open_elements: list[tuple[str, Element]] = []
    last_closed = {match[1]: match.start() for match in _CLOSING.finditer(line)}
    for begin, end, (closes, name, slash) in _tags(line):
        pieces.append(line[at:begin])
        length += len(pieces[-1])
        at, tag = end, line[begin:end]
        siblings = open_elements[-1][1].children if open_elements else outermost
        if closes:
            if not open_elements:
                raise DataError(f"`{tag}` at character {begin} closes a tag that is not open")
            opened, element = open_elements.pop()
            if opened != name:
                raise DataError(
                    f"`{tag}` at character {begin} closes while `{element.opening[:40]}` is "
                    "open; tags must not overlap"
                )
            element.closing, element.end = tag, length
            continue
        element = Element(tag, length, end=length)
        siblings.append(element)
        void = name is not None and name.lower() in _VOID and last_closed.get(name, -1) < at
        if name is not None and not slash and not void:
            open_elements.append((name, element))
            if len(open_elements) > _DEEPEST:
                raise DataError(f"tags nest more than {_DEEPEST} deep; is this a line of text?")
    if open_elements:
        raise DataError(f"`{open_elements[-1][1].opening[:40]}` is never closed; close it on the same line")
    pieces.append(line[at:])
    return Markup("".join(pieces), outermost)


def _tags(line: str) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Return where the tags of a line begin and end, and of each `/` or not, its name, `/` or not."""
    unended: set[str] = set()
    at = line.find("<")
    while at >= 0:
        end = -1
        for opening, closing in _SPECIAL:
            # Where one has no end, none after it has: looking for it again and again would take long.
            if closing not in unended and line.startswith(opening, at):
                end = line.find(closing, at + len(opening))
                if end < 0:
                    unended.add(closing)
                else:
                    end += len(closing)
                    yield at, end, (None, None, None)
        if end < 0 and (match := _TAG.match(line, at)):
            end = match.end()
            yield at, end, match.groups()
        at = line.find("<", max(end, at + 1))


def place_markup(
    markup: Markup,
    source: Sequence[Interval],
    target_text: str,
    target: Sequence[Interval],
    links: Iterable[WeightedLink],
    gap: int = GAP,
) -> Placement:
    """Insert the tags of a source line into a target line.

    `source` and `target` are the characters of each word, in `markup.text` and in `target_text`.
    """
    placer = _Placer(source, target, list(links), len(target_text), gap)
    placer.place(markup.elements, (0, len(source)), (0, len(target)))
    pieces, at = [], 0
    for where, tag in placer.tags:
        # Two words may share a character, as `f` and `i` share `ﬁ`; then the second tag comes after it.
        pieces += [target_text[at:where], tag]
        at = max(at, where)
    pieces.append(target_text[at:])
    return Placement("".join(pieces), placer.statuses)


class _Placer:
    """Places elements from the top down; `tags` collects them in the order in which they are written."""

    def __init__(
        self,
        source: Sequence[Interval],
        target: Sequence[Interval],
        links: list[WeightedLink],
        length: int,
        gap: int,
    ) -> None:
        self._begins, self._ends = [word[0] for word in source], [word[1] for word in source]
        self._target, self._length = target, length
        self._carrier = SpanCarrier(links, len(target), gap)
        self._linked: list[list[int]] = [[] for _ in source]
        for i, j, _ in sorted(links):
            self._linked[i].append(j)
        self.tags: list[tuple[int, str]] = []
        self.statuses: list[str] = []

    def place(self, elements: list[Element], words: Interval, window: Interval) -> None:
        """Place siblings within target words `window`; their parent holds the source words `words`."""
        if not elements:
            return
        spans = [self._words_of(element) for element in elements]
        places: list[Interval | None] = [None] * len(elements)
        statuses = ["unaligned"] * len(elements)
        runs = [
            [run for run in self._carrier.runs(*span) if window[0] <= run[0] and run[1] <= window[1]]
            for span in spans
        ]
        # How often siblings claim the words before each one; `taken` are words of places, and `ends` what
        # cannot be a point: where the place ends that a point would be inside of.
        claimed = Counter(j for own in runs for begin, end, _ in own for j in range(begin, end))
        before = accumulate((claimed[j] for j in range(*window)), initial=0)
        claims = dict(enumerate(before, window[0]))
        taken, ends = bytearray(window[1]), dict[int, int]()
        # Of equal weight the first: `sorted` is stable.
        for k in sorted(range(len(elements)), key=lambda k: -sum(run[2] for run in runs[k])):
            if not runs[k]:
                continue
            hull = runs[k][0][0], runs[k][-1][1]
            heaviest = sorted(runs[k], key=lambda run: (-run[2], run[0]))
            choices = [(begin, end) for begin, end, _ in heaviest]
            if claims[hull[1]] - claims[hull[0]] == sum(end - begin for begin, end in choices):
                choices.insert(0, hull)
            free = next((choice for choice in choices if taken.find(1, *choice) < 0), None)
            statuses[k] = "whole" if len(runs[k]) == 1 else "discontinuous"
            if free is not None:
                places[k] = free
                taken[slice(*free)] = bytes([1]) * (free[1] - free[0])
                ends.update(dict.fromkeys(range(free[0] + 1, free[1]), free[1]))
            else:
                statuses[k] = "overlapping"
        without = [k for k in range(len(elements)) if places[k] is None]
        found = self._points([spans[k][0] for k in without], words, window)
        points = {k: ends.get(point, point) for k, point in zip(without, found, strict=True)}
        # A point comes before an element that begins at the same word; points keep their order.
        order = sorted(
            range(len(elements)),
            key=lambda k: (points[k], 0, k) if k in points else ((places[k] or (-1, -1))[0], 1, k),
        )
        for k in order:
            element, place = elements[k], places[k]
            if element.closing and spans[k][0] < spans[k][1]:
                self.statuses.append(statuses[k])
            where = self._before(points[k], window) if place is None else self._target[place[0]][0]
            self.tags.append((where, element.opening))
            if place is None:
                self._place_empty(element.children, where)
                if element.closing:
                    self.tags.append((where, element.closing))
            else:
                self.place(element.children, spans[k], place)
                self.tags.append((self._target[place[1] - 1][1], element.closing))

    def _place_empty(self, elements: list[Element], where: int) -> None:
        """Elements inside one that has no words on the target side."""
        for element in elements:
            if element.closing and not element.is_point:
                self.statuses.append("unaligned")
            self.tags.append((where, element.opening))
            self._place_empty(element.children, where)
            if element.closing:
                self.tags.append((where, element.closing))

    def _words_of(self, element: Element) -> Interval:
        """Return the source words that an element touches; for a point, the empty span before the next
        word."""
        first = bisect_right(self._ends, element.begin)
        if element.is_point:
            return first, first
        return first, max(first, bisect_left(self._begins, element.end))

    def _points(self, places: list[int], words: Interval, window: Interval) -> list[int]:
        """Return for points before these source words the target words before which they come.

        That is the first target word of the nearest aligned word from there on, or the one after the last of
        the nearest aligned word before, whichever is nearer; of equals the first.
        """
        if not places:
            return []
        linked = {
            i: inside
            for i in range(*words)
            if (inside := [j for j in self._linked[i] if window[0] <= j < window[1]])
        }
        aligned = sorted(linked)
        found = []
        for at in places:
            number = bisect_left(aligned, at)
            after = aligned[number] if number < len(aligned) else inf
            before = aligned[number - 1] if number else -inf
            if after == inf and before == -inf:
                found.append(window[1])
            elif after - at <= at - 1 - before:
                found.append(linked[int(after)][0])
            else:
                found.append(linked[int(before)][-1] + 1)
        return found

    def _before(self, word: int, window: Interval) -> int:
        """Return the character where a tag before a target word goes; after the last word, at the window's
        end."""
        if word < window[1]:
            return self._target[word][0]
        if window[0] < window[1]:
            return self._target[window[1] - 1][1]
        return self._length
