"""`Alignment`: the links of one sentence pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dualign.core.errors import DataError

Link = tuple[int, int]
"""A link `(source position, target position)`, both counted from 0."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Links of one sentence pair, sorted; `str()` gives the Pharaoh form `0-0 1-2`.

    A decoder's answer has `links` and, where the decoder computed them, `probabilities` in the same order.
    Hand-made gold keeps its sure links in `links` and those that are only possible in `possible`. In a
    notebook it displays itself, with its sentence pair where `words` knows it.
    """

    links: tuple[Link, ...] = ()
    possible: tuple[Link, ...] = ()
    probabilities: tuple[float, ...] | None = field(default=None, compare=False)
    words: tuple[Sequence[str], Sequence[str]] | None = field(default=None, compare=False, repr=False)

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
        marked = [(i, j, "-") for i, j in self.links] + [(i, j, "?") for i, j in self.possible]
        return " ".join(f"{i}{mark}{j}" for i, j, mark in sorted(marked))

    def _repr_html_(self) -> str:
        # Here and late: drawing belongs to the last room, and files are read without it.
        from dualign.text.alignment_html import alignment_html

        return alignment_html(self)

    def with_words(self, source: Sequence[str], target: Sequence[str]) -> Alignment:
        """The same links, knowing their sentence pair."""
        for name, words, side in (("source", source, 0), ("target", target, 1)):
            if isinstance(words, str):
                raise DataError(f"{name} is a string; give a list of tokens")
            if any(link[side] >= len(words) for link in self.links + self.possible):
                raise DataError(f"a link is outside the {name} sentence, which has {len(words)} words")
        return replace(self, words=(source, target))
