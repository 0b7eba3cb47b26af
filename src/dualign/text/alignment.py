"""`Alignment`: the links of one sentence pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from dualign.core.errors import DataError
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
        from dualign.text.alignment_html import alignment_html  # only notebooks need it

        return alignment_html({(i, j): (sure, p) for i, j, sure, p in self.marked()}, self.words)

    def with_words(self, source: Sequence[str], target: Sequence[str]) -> Alignment:
        """The same links together with their sentence pair."""
        for name, words in (("source", source), ("target", target)):
            if isinstance(words, str):
                raise DataError(f"{name} is a string; give a list of tokens")
        links_inside(self.links + self.possible, len(source), len(target))
        return replace(self, words=(source, target))
