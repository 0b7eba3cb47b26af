"""`dualign symmetrize`: the links of two directions as one set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dualign._core.errors import DataError
from dualign._core.fields import arg, bundle, opt
from dualign.commands.bundles import link_format, output, pairs
from dualign.commands.command import Command
from dualign.commands.computing import Computing
from dualign.commands.console import Reporter
from dualign.options import SYMMETRIZATIONS

if TYPE_CHECKING:
    from dualign.text.links import Alignment

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
        from dualign.text.checks import in_step
        from dualign.text.link_formats import read_links, write_links

        names, errors = (self.forward, self.backward), self.computing.errors
        both = in_step(
            *((name, read_links(name, self.format, errors, count=self.pairs)) for name in names),
            unit="sentence pairs",
            remedy="give both directions of the same text (--pairs N for NAACL files without the last pairs)",
        )
        combined = _combined(self._turned(both, tell), self.method, f"{self.forward} and {self.backward}")
        write_links(tell.counted(combined, "symmetrize"), self.output)

    def _turned(
        self, both: Iterable[tuple[Alignment, Alignment]], tell: Reporter
    ) -> Iterator[tuple[Alignment, Alignment]]:
        """Return the links of both directions, the second turned where it is written target first."""
        from dualign.text.checks import same_ids

        names = self.forward, self.backward
        seen = Counter[str]()
        for number, (there, back) in enumerate(both, 1):
            if there.id != back.id:
                same_ids((f"{names[0]}:{number}", [there.id]), (f"{names[1]}:{number}", [back.id]))
            if there.words is not None and back.words is not None:
                if back.words == there.words != there.words[::-1]:
                    raise DataError(
                        "GIZA files of the same direction: sentence pair {number} has the same words in both",
                        place=" and ".join(names), remedy="give one file of each direction", number=number,
                    )  # fmt: skip
                if back.words != there.words[::-1]:
                    raise DataError(
                        "the words of sentence pair {number} differ",
                        place=" and ".join(names), number=number,
                        remedy="give GIZA files of the same text, one of each direction",
                    )  # fmt: skip
                back = back.transposed()
            elif self.swap:
                back = back.transposed()
            elif number <= CHUNK:
                seen["kept"] += len({*there.links} & {*back.links})
                seen["turned"] += len({*there.links} & {*back.transposed().links})
            if number == CHUNK:
                self._suspect(seen, tell)
            yield there, back
        if sum(seen.values()) and number < CHUNK:
            self._suspect(seen, tell)

    def _suspect(self, seen: Counter[str], tell: Reporter) -> None:
        """Warn where the directions have more links in common if one is turned."""
        kept, turned = seen["kept"], seen["turned"]
        if turned > 1.5 * kept and turned > LEAST_LINKS:
            tell.warn(
                "{one} and {other} share {kept:,} links, but {turned:,} if one of them is written target "
                "word first; if so, set {swap=}",
                one=self.forward, other=self.backward, kept=kept, turned=turned, swap=True,
            )  # fmt: skip


def _combined(both: Iterator[tuple[Alignment, Alignment]], method: str, place: str) -> Iterator[Alignment]:
    from dualign.decode.symmetrize import symmetrize

    symmetrize([], [], method)  # a wrong method is an error for empty files too
    begin = 1
    while chunk := list(islice(both, CHUNK)):
        there, back = zip(*chunk, strict=True)
        try:
            yield from symmetrize(there, back, method)
        except DataError as error:
            # The library counts the pairs that it was given, as `forward[7]`.
            raise DataError("{error}", place=f"{place}, where [0] is line {begin}", error=error) from None
        begin += len(chunk)
