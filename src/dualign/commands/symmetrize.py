"""`dualign symmetrize`: the links of two directions as one set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError
from dualign._core.fields import arg, bundle, opt
from dualign.commands.bundles import Computing, link_format, output, pairs
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.options import SYMMETRIZATIONS

if TYPE_CHECKING:
    from dualign.text.links import Links

LEAST_LINKS = 20
"""With fewer links, nothing is suspected."""

CHUNK = 4096
"""Sentence pairs in memory at a time; a few megabytes."""


@dataclass(frozen=True)
class Symmetrize(Command):
    """Combine the links of the two directions into one set.

    Writes one line of Pharaoh links for each sentence pair. Memory does not grow with their number.
    """

    forward: str = arg("Links of source to target.", file="in")
    backward: str = arg(
        "Links of target to source, but written like FORWARD, source word first (GIZA files may not be).",
        file="in",
    )
    method: str = opt(
        "grow-diag-final-and",
        f"{', '.join(SYMMETRIZATIONS[:-1])} or {SYMMETRIZATIONS[-1]}. Short names such as gdfa work.",
        metavar="METHOD",
    )
    output: str = output()
    format: str | None = link_format()
    pairs: int | None = pairs()
    swap: bool = opt(False, "BACKWARD is written target word first.")
    computing: Computing = bundle(Computing, "errors")

    def run(self, tell: Reporter) -> None:
        """Read, combine and write links, some thousand sentence pairs at a time."""
        from dualign.decode.symmetrize import method_of
        from dualign.text.link_formats import link_blocks, link_writer
        from dualign.text.links import in_step

        names, errors = (self.forward, self.backward), self.computing.errors
        there, back = (link_blocks(name, self.format, errors, count=self.pairs, size=CHUNK) for name in names)
        method_of(self.method)  # a wrong method is an error for empty files too
        remedy = "give both directions of the same text (--pairs N for NAACL files without the last pairs)"
        both = in_step(names, there, back, remedy)
        done = 0
        with link_writer(self.output) as write:
            tell.progress(done, "symmetrize")
            for directions in self._turned(both, tell):
                for links in self._combined(*directions, done + 1):
                    write(links)
                done += len(directions[0])
                tell.progress(done, "symmetrize")

    def _turned(self, both: Iterable[tuple[Links, Links]], tell: Reporter) -> Iterator[tuple[Links, Links]]:
        """Yield the links of both directions, the second turned where it is written target first."""
        number, common = 1, (0, 0)
        for there, back in both:
            if there.ids != back.ids:
                self._compare_ids(there, back, number)
            if there.words is not None and back.words is not None:
                self._compare_words(there.words, back.words, number)
                back = back.transposed()
            elif self.swap:
                back = back.transposed()
            elif number == 1:
                common = _common(there, back), _common(there, back.transposed())
            if number == 1 and len(there) == CHUNK:
                self._suspect(*common, tell)
                common = 0, 0
            yield there, back
            number += len(there)
        self._suspect(*common, tell)

    def _compare_ids(self, there: Links, back: Links, first: int) -> None:
        from dualign.text.checks import same_ids

        every = (links.ids or [None] * len(links) for links in (there, back))
        for number, (one, other) in enumerate(zip(*every, strict=True), first):
            same_ids((f"{self.forward}:{number}", [one]), (f"{self.backward}:{number}", [other]))

    def _compare_words(self, there: Sequence[Any], back: Sequence[Any], first: int) -> None:
        """Refuse GIZA files that are not the two directions of one text."""
        for number, (one, other) in enumerate(zip(there, back, strict=True), first):
            place = f"{self.forward} and {self.backward}"
            if other == one != one[::-1]:
                raise DataError(
                    "GIZA files of the same direction: sentence pair {number} has the same words in both",
                    place=place, remedy="give one file of each direction", number=number,
                )  # fmt: skip
            if other != one[::-1]:
                raise DataError(
                    "the words of sentence pair {number} differ",
                    place=place, number=number,
                    remedy="give GIZA files of the same text, one of each direction",
                )  # fmt: skip

    def _suspect(self, kept: int, turned: int, tell: Reporter) -> None:
        """Warn where the directions have more links in common if one is turned."""
        if turned > 1.5 * kept and turned > LEAST_LINKS:
            tell.warn(
                "{one} and {other} share {kept:,} links, but {turned:,} if one of them is written target "
                "word first; if so, set {swap=}",
                one=self.forward, other=self.backward, kept=kept, turned=turned, swap=True,
            )  # fmt: skip

    def _combined(self, there: Links, back: Links, first: int) -> Iterator[Links]:
        from dualign.decode.symmetrize import symmetrized

        try:
            yield from symmetrized(there, back, self.method)
        except DataError as error:
            # It counts the pairs that it was given, as `forward[7]`.
            place = f"{self.forward} and {self.backward}, where [0] is line {first}"
            raise DataError("{error}", place=place, error=error) from None


def _common(one: Links, other: Links) -> int:
    """The number of sure links that both have."""
    columns = ((each.pair, each.source, each.target) for each in (one.sure(), other.sure()))
    first, second = ({*zip(*(each.tolist() for each in side), strict=True)} for side in columns)
    return len(first & second)
