"""`Alignment`: the links of one sentence pair.

The links of a sentence pair as HTML, for notebooks: a matrix, or in long pairs a line per source word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from operator import itemgetter

from dualign._core.errors import DataError
from dualign.text.checks import links_inside

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
            None if self.probabilities is None else tuple(p for _, p in links if p is not None),
            None if self.words is None else (self.words[1], self.words[0]),
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
        source, target = ([str(at) for at in range(size)] for size in sizes)
    else:
        source, target = map(list, words)
    if not source or not target:
        return "<p>(no links)</p>" if words is None else "<p>(no words on one side)</p>"
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
