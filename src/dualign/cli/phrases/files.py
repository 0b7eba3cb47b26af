"""What the verbs of `dualign phrases` share: options, and texts with links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.exits import say
from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment
from dualign.text.formats import read_links
from dualign.text.pairs import read_pairs

if TYPE_CHECKING:
    from dualign.core.arrays import Array
    from dualign.phrase.table.occurrences import Occurrences

Pair = tuple[Sequence[str], Sequence[str]]

MaxLength = Annotated[
    int,
    typer.Option("--max-length", min=1, max=16, metavar="N", help="Words of a phrase at most, either side."),
]

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Moses phrase table.", show_default=False)]

Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="W,W,…",
        help="log φ = Σ W · log score, a W for each score of TABLE. Without: the third score alone, "
        "p(target|source) of a Moses table, or the only one.",
    ),
]


@dataclass(frozen=True, slots=True)
class LinkedText:
    """Sentence pairs with their links, which must be as many."""

    source: str
    target: str
    links: str
    format: str | None
    errors: str

    def __iter__(self) -> Iterator[tuple[Pair, Alignment]]:
        pairs = read_pairs(self.source, self.target, errors=self.errors)
        links = read_links(self.links, self.format, self.errors)
        for number, (pair, alignment) in enumerate(zip_longest(pairs, links)):
            if pair is None or alignment is None:
                more = number + 1 + sum(1 for _ in (links if pair is None else pairs))
                counts = (number, more) if pair is None else (more, number)
                raise DataError(
                    f"{self.source} and {self.target} have {counts[0]} lines but {self.links} has links for "
                    f"{counts[1]}; give the links of this text"
                )
            yield pair, alignment


def entry_weights(occurrences: Occurrences, features: str | None) -> Array:
    """`log φ` of each table entry by the option --features."""
    scores = occurrences.scores.shape[1]
    if features is None:
        chosen = 2 if scores > 2 else 0
        wanted = [float(number == chosen) for number in range(scores)]
    else:
        try:
            wanted = [float(weight) for weight in features.split(",")]
        except ValueError:
            raise UsageError(f"--features {features}: expected numbers with commas between") from None
    if not len(occurrences.scores):
        return occurrences.scores.sum(axis=1)  # no entry of the table occurs: no weights
    return occurrences.weights(wanted)


def compile_kernels(verb: str, quiet: bool) -> None:
    """Compile what a verb needs, or say that it will be compiled on the way; once for each version."""
    from dualign.core.jit import compiled_mark

    noted = compiled_mark(f"phrases-{verb}")
    if noted.exists():
        return
    if not quiet:
        say("compiling kernels, once for this version (some 10 to 30 s) …")
    if verb != "extract":
        from dualign.phrase.alignment.aligning import align

        # Not while the first pair is on the clock.
        align({(0, 1, 0, 1): 0.0}, 1, 1)
    noted.touch()
