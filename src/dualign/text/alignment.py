"""`Alignment`: the links of one sentence pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

__all__ = ["Alignment", "Link"]

Link = tuple[int, int]
"""A link `(source position, target position)`, both counted from 0."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links of one sentence pair, sorted; `str()` gives the Pharaoh form `0-0 1-2`.

    A decoder's answer has `links` and, where the decoder computed them, `probabilities` in the same order.
    Hand-made gold keeps its sure links in `links` and those that are only possible in `possible`.
    """

    links: tuple[Link, ...] = ()
    possible: tuple[Link, ...] = ()
    probabilities: tuple[float, ...] | None = field(default=None, compare=False)

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
        marked = [(i, j, "-") for i, j in self.links] + [(i, j, "?") for i, j in self.possible]
        return " ".join(f"{i}{mark}{j}" for i, j, mark in sorted(marked))
