"""`dualign symmetrize`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.progress import counted
from dualign.core.errors import DataError
from dualign.model.options import SYMMETRIZATIONS
from dualign.text.alignment import Alignment
from dualign.text.formats import read_links, write_links

# Sentence pairs in memory at a time; a few megabytes.
_CHUNK = 4096

_Both = tuple[Alignment, Alignment]


def symmetrize(
    forward: Annotated[
        str, typer.Argument(metavar="FORWARD", help="Links of source to target.", show_default=False)
    ],
    backward: Annotated[
        str,
        typer.Argument(
            metavar="BACKWARD",
            help="Links of target to source, but written like FORWARD, source word first.",
            show_default=False,
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="METHOD", help=f"{', '.join(SYMMETRIZATIONS[:-1])} or {SYMMETRIZATIONS[-1]}."
        ),
    ] = "grow-diag-final-and",
    output: Output = "-",
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Combine the links of the two directions into one set.

    Writes one line of Pharaoh links for each sentence pair. Memory does not grow with their number.
    """
    one_standard_input(forward, backward)
    both = _read_both(forward, backward, format, errors, pairs)
    combined = _combined(both, method, f"{forward} and {backward}")
    write_links(counted(combined, "symmetrize", output=output, quiet=quiet), output)


def _read_both(
    forward: str, backward: str, format: str | None, errors: str, pairs: int | None
) -> Iterator[_Both]:
    there = read_links(forward, format, errors, count=pairs)
    back = read_links(backward, format, errors, count=pairs)
    for number, (one, other) in enumerate(zip_longest(there, back)):
        if one is None or other is None:
            longer = number + 1 + sum(1 for _ in (back if one is None else there))
            counts = (number, longer) if one is None else (longer, number)
            raise DataError(
                f"{forward} has links for {counts[0]} sentence pairs but {backward} for {counts[1]}; "
                "give both directions of the same text (--pairs N for NAACL files without the last pairs)"
            )
        yield one, other


def _combined(both: Iterator[_Both], method: str, place: str) -> Iterator[Alignment]:
    from dualign.decode.symmetrize import symmetrize

    symmetrize([], [], method)  # a wrong method is an error for empty files too
    begin = 1
    while chunk := list(islice(both, _CHUNK)):
        there, back = zip(*chunk, strict=True)
        try:
            yield from symmetrize(there, back, method)
        except DataError as error:
            # The library counts the pairs that it was given, as `forward[7]`.
            raise DataError(f"{place}, where [0] is line {begin}: {error}") from None
        begin += len(chunk)
