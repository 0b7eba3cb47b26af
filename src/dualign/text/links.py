"""The links of sentence pairs: of one, `Alignment`; of many, `Links` in flat arrays.

An `Alignment` shows itself in notebooks: as a matrix, or in long pairs as a line per source word. NumPy is
loaded where arrays are made, so that what only names formats of links does without.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain, compress, pairwise
from math import isnan, nan
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from dualign._core.errors import DataError
from dualign.text.checks import links_inside, same_length

if TYPE_CHECKING:
    from dualign._core.arrays import Array

Item = TypeVar("Item")

BLOCK = 4096
"""Sentence pairs in memory at a time; a few megabytes."""

Link = tuple[int, int]
"""A link `(source position, target position)`, both counted from 0."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links of one sentence pair, sorted; `str()` gives the Pharaoh form `0-0 1-2`.

    A decoder's answer has `links` and, if the decoder computed them, `probabilities` in the same order.
    Hand-made gold keeps its sure links in `links` and those that are only possible in `possible`. In a
    notebook it displays itself, with its sentence pair if `words` is set.
    """

    links: tuple[Link, ...] = ()
    possible: tuple[Link, ...] = ()
    probabilities: tuple[float, ...] | None = field(default=None, compare=False)
    words: tuple[Sequence[str], Sequence[str]] | None = field(default=None, compare=False, repr=False)
    id: str | None = field(default=None, compare=False, repr=False)
    """The pair's id, where a file has one."""

    @classmethod
    def of(cls, links: Iterable[Link], possible: Iterable[Link] = ()) -> Alignment:
        """Sort and de-duplicate; a link that is sure is not repeated among the possible ones."""
        sure = set(links)
        return cls(tuple(sorted(sure)), tuple(sorted(set(possible) - sure)))

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __contains__(self, link: object) -> bool:
        return link in self.links

    def __str__(self) -> str:
        if not self.possible:
            return " ".join([f"{i}-{j}" for i, j in self.links])
        return " ".join(f"{i}{'-' if sure else '?'}{j}" for i, j, sure, _ in self.marked())

    def marked(self) -> list[tuple[int, int, bool, float | None]]:
        """All links in order, each with whether it is sure, and its probability."""
        known = self.probabilities or [None] * len(self.links)
        found = [(i, j, True, p) for (i, j), p in zip(self.links, known, strict=True)]
        found += [(i, j, False, None) for i, j in self.possible]
        return sorted(found, key=itemgetter(0, 1))

    def transposed(self) -> Alignment:
        """The same links with source and target exchanged."""
        known = self.probabilities or [None] * len(self.links)
        links = sorted(((j, i), p) for (i, j), p in zip(self.links, known, strict=True))
        return Alignment(
            tuple(link for link, _ in links),
            tuple(sorted((j, i) for i, j in self.possible)),
            self.probabilities and tuple(p for _, p in links if p is not None),
            self.words and (self.words[1], self.words[0]),
            self.id,
        )

    def _repr_html_(self) -> str:
        return alignment_html({(i, j): (sure, p) for i, j, sure, p in self.marked()}, self.words)

    def with_words(self, source: Sequence[str], target: Sequence[str]) -> Alignment:
        """The same links together with their sentence pair."""
        for name, words in (("source", source), ("target", target)):
            if isinstance(words, str):
                raise DataError(f"{name} is a string; give a list of tokens")
        links_inside(self.links + self.possible, len(source), len(target))
        return replace(self, words=(source, target))


WeightedLink = tuple[int, int, float]
"""Source position, target position, probability."""


class PositionMap(NamedTuple):
    """New positions of the tokens of many sentences: token i of sentence n has `place[offsets[n] + i]`."""

    place: Array
    offsets: Array


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links of many sentence pairs: pair n has those from `offsets[n]` to `offsets[n + 1]`.

    `offsets` int64 (pairs + 1) from 0; `source` and `target` int32, sorted in each pair. `probability` is
    float32 where a model computed it and float64 where a file has it, NaN for a link without; `possible` bool
    marks links that are only possible. `ids` and `words` are those of the pairs. What no pair has is None.
    Iteration and `[n]` give an `Alignment`.
    """

    offsets: Array
    source: Array
    target: Array
    probability: Array | None = None
    possible: Array | None = None
    ids: list[str | None] | None = None
    words: list[tuple[Sequence[str], Sequence[str]] | None] | None = None

    @classmethod
    def of(cls, alignments: Iterable[Alignment]) -> Links:
        """Pack the links of each pair, in their order."""
        import numpy as np

        every = list(alignments)
        counts = [len(each.links) + len(each.possible) for each in every]
        possible = probability = None
        if any(each.possible for each in every):
            rows = list(chain.from_iterable(each.marked() for each in every))
            links: Iterable[Link] = (row[:2] for row in rows)
            possible = np.array([not sure for _, _, sure, _ in rows], np.bool_)
            scores: list[Any] = [nan if p is None else p for *_, p in rows]
        else:
            links = chain.from_iterable(each.links for each in every)
            scores = [p for each in every for p in each.probabilities or [nan] * len(each.links)]
        if any(each.probabilities for each in every):
            probability = np.array(scores, np.float64)
        flat = np.fromiter(chain.from_iterable(links), np.int64, 2 * sum(counts))
        if len(flat) and flat.max() > np.iinfo(np.int32).max:
            raise DataError(f"a link has position {flat.max()}; positions go up to 2³¹ − 1")
        source, target = flat.astype(np.int32).reshape(-1, 2).T.copy()
        return cls(
            np.cumsum([0, *counts]),
            source,
            target,
            probability,
            possible,
            None if all(each.id is None for each in every) else [each.id for each in every],
            None if all(each.words is None for each in every) else [each.words for each in every],
        )

    @classmethod
    def of_columns(
        cls,
        counts: Sequence[int],
        source: Sequence[int],
        target: Sequence[int],
        probability: Sequence[float] | None = None,
        *,
        ids: list[str | None] | None = None,
    ) -> Links:
        """Pack links in any order within a pair, given the number of each pair's; equal ones become one."""
        import numpy as np

        columns = np.array(source, np.int32), np.array(target, np.int32)
        known = None if probability is None else np.array(probability, np.float64)
        return cls(np.cumsum([0, *counts]), *columns, known, ids=ids)._sorted()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, n: int) -> Alignment:
        return next(iter(self.slice(n, n + 1)))

    def __iter__(self) -> Iterator[Alignment]:
        links = list(zip(self.source.tolist(), self.target.tolist(), strict=True))
        scores = None if self.probability is None else self.probability.tolist()
        marks = None if self.possible is None else self.possible.tolist()
        for n, (begin, end) in enumerate(pairwise(self.offsets.tolist())):
            sure = links[begin:end]
            possible: tuple[Link, ...] = ()
            known = None if scores is None else scores[begin:end]
            if marks is not None and any(here := marks[begin:end]):
                possible = tuple(compress(sure, here))
                inside = [not mark for mark in here]
                sure, known = list(compress(sure, inside)), known and list(compress(known, inside))
            yield Alignment(
                tuple(sure),
                possible,
                tuple(known) if known and not isnan(known[0]) else None,
                None if self.words is None else self.words[n],
                None if self.ids is None else self.ids[n],
            )

    @property
    def counts(self) -> Array:
        """The number of links of each pair."""
        return self.offsets[1:] - self.offsets[:-1]

    @property
    def pair(self) -> Array:
        """The number of the pair that each link is of."""
        import numpy as np

        return np.repeat(np.arange(len(self)), self.counts)

    def slice(self, begin: int, end: int) -> Links:
        """Those of pairs begin..end; the arrays are views."""
        if begin == 0 and end >= len(self):
            return self
        offsets = self.offsets[begin : end + 1]
        return Links(
            offsets - offsets[0],
            ids=None if self.ids is None else self.ids[begin:end],
            words=None if self.words is None else self.words[begin:end],
            **self._columns(slice(offsets[0], offsets[-1])),
        )

    def chosen(self, kept: Array) -> Self:
        """The links that are marked, bool (links), of all pairs."""
        import numpy as np

        offsets = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return replace(self, offsets=offsets, **self._columns(kept))

    def _columns(self, at: Any) -> dict[str, Any]:
        """What is known of links, by their places."""
        columns = {name: getattr(self, name) for name in ("source", "target", "probability", "possible")}
        return {name: None if column is None else column[at] for name, column in columns.items()}

    def sure(self) -> Self:
        """The links that are not only possible."""
        return self if self.possible is None else replace(self.chosen(~self.possible), possible=None)

    def over(self, threshold: float) -> Self:
        """The sure links more probable than `threshold`; one without a probability has 1."""
        sure = self.sure()
        return sure if sure.probability is None else sure.chosen(~(sure.probability <= threshold))

    def transposed(self) -> Self:
        """The same links with source and target exchanged."""
        words = None if self.words is None else [each and (each[1], each[0]) for each in self.words]
        return replace(self, source=self.target, target=self.source, words=words)._sorted()

    def moved(self, source: PositionMap | None, target: PositionMap | None) -> Self:
        """Move the links, None for a side that stays; of those that become one, the most probable stays."""
        left, right, pair = self.source, self.target, self.pair
        if source is not None:
            left = source.place[source.offsets[pair] + left]
        if target is not None:
            right = target.place[target.offsets[pair] + right]
        return replace(self, source=left, target=right)._sorted()

    def _sorted(self) -> Self:
        """Sort the links of each pair; of equal ones, the most probable stays."""
        import numpy as np

        pair, left, right = self.pair, self.source, self.target

        def later(pair: Array, left: Array, right: Array) -> Array:
            """Whether each link but the first comes after the one before it."""
            steps = [np.diff(each) for each in (pair, left, right)]
            return (steps[0] > 0) | (steps[0] == 0) & ((steps[1] > 0) | (steps[1] == 0) & (steps[2] > 0))

        if later(pair, left, right).all():
            return self
        keys = (right, left, pair) if self.probability is None else (-self.probability, right, left, pair)
        order = np.lexsort(keys)
        in_order = replace(self, **self._columns(order))
        first = later(pair[order], in_order.source, in_order.target)
        return in_order.chosen(np.concatenate(([True], first)))


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last perhaps shorter; an error comes after the items before it."""
    chunk: list[Item] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except DataError:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk


def in_blocks(alignments: Iterable[Alignment], size: int = BLOCK) -> Iterator[Links]:
    """Pack alignments into `Links` of `size` pairs each."""
    return map(Links.of, chunks(alignments, size))


def in_step(
    names: tuple[str, str], first: Iterator[Links], second: Iterator[Links], remedy: str
) -> Iterator[tuple[Links, Links]]:
    """Yield the links of the same pairs of two files, whose blocks may end in different places.

    Where one file ends before the other, the message has the numbers of both.
    """
    done, one, other = 0, Links.of(()), Links.of(())
    while True:
        one = one if len(one) else next(first, one)
        other = other if len(other) else next(second, other)
        if (size := min(len(one), len(other))) == 0:
            break
        yield one.slice(0, size), other.slice(0, size)
        done += size
        one, other = one.slice(size, len(one)), other.slice(size, len(other))
    counts = done + len(one) + sum(map(len, first)), done + len(other) + sum(map(len, second))
    if counts[0] != counts[1]:
        same_length(*zip(names, counts, strict=True), unit="sentence pairs", remedy=remedy)


Marks = Mapping[tuple[int, int], tuple[bool, float | None]]
"""Links, each with whether it is sure, and its probability."""

MOST = 50
"""Up to this many words per side, a matrix is drawn."""

_CELL = "width:1.5em;height:1.5em;text-align:center;border:1px solid rgba(128,128,128,.3);padding:0"
_NAME = "text-align:right;padding:0 .4em;white-space:nowrap"
_HEAD = "vertical-align:bottom;text-align:center;padding:.3em 0"
_VERTICAL = "writing-mode:vertical-rl;white-space:nowrap"
# One hue in two strengths that is legible on white and on black; the marks say the same without colour.
_SURE, _POSSIBLE = "rgba(0,114,178,.35)", "rgba(128,128,128,.25)"


def alignment_html(marks: Marks, words: tuple[Sequence[str], Sequence[str]] | None) -> str:
    """HTML without scripts; words are escaped. If the words are unknown, their positions are shown."""
    if words is None:
        sizes = [1 + max((link[side] for link in marks), default=-1) for side in (0, 1)]
        words = ([str(at) for at in range(sizes[0])], [str(at) for at in range(sizes[1])])
        if not marks:
            return "<p>(no links)</p>"
    source, target = words
    if not source or not target:
        return "<p>(no words on one side)</p>"
    draw = _listing if max(len(source), len(target)) > MOST else _matrix
    return draw(source, target, marks)


def _matrix(source: Sequence[str], target: Sequence[str], marks: Marks) -> str:
    heads = "".join(
        f'<th style="{_HEAD}"><span dir="auto" style="{_VERTICAL}">{escape(word)}</span></th>'
        for word in target
    )
    rows = []
    for i, word in enumerate(source):
        cells = "".join(_cell(marks.get((i, j))) for j in range(len(target)))
        rows.append(f'<tr><th style="{_NAME}" dir="auto">{escape(word)}</th>{cells}</tr>')
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;width:auto">'
        f"<tr><td></td>{heads}</tr>{''.join(rows)}</table></div>"
    )


def _cell(mark: tuple[bool, float | None] | None) -> str:
    if mark is None:
        return f'<td style="{_CELL}"></td>'
    sure, probability = mark
    title = "" if probability is None else f' title="{probability:.3f}"'
    dot = "●" if sure else "○"
    size = 100 if probability is None else 40 + 60 * probability
    return (
        f'<td style="{_CELL};background:{_SURE if sure else _POSSIBLE}"{title}>'
        f'<span style="font-size:{size:.0f}%">{dot}</span></td>'
    )


def _listing(source: Sequence[str], target: Sequence[str], marks: Marks) -> str:
    rows = []
    for i, word in enumerate(source):
        found = []
        for j, other in enumerate(target):
            if (mark := marks.get((i, j))) is not None:
                sure, probability = mark
                note = "" if sure else " (possible)"
                note += "" if probability is None else f" {probability:.2f}"
                found.append(f"<bdi>{escape(other)}</bdi>{note}")
        rows.append(
            f'<tr><th style="{_NAME}" dir="auto">{escape(word)}</th>'
            f'<td style="text-align:left">{", ".join(found)}</td></tr>'
        )
    return f'<table style="width:auto">{"".join(rows)}</table>'
