"""`dualign convert`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Pairs, Quiet
from dualign.cli.progress import counted
from dualign.core.errors import UsageError
from dualign.text.formats import FORMATS, read_links, write_links
from dualign.text.places import in_place


def convert(
    input: Annotated[str, typer.Argument(metavar="IN", help="File of links.", show_default=False)],
    output: Annotated[str, typer.Argument(metavar="OUT", help="File to write.", show_default=False)],
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"Format of IN: {', '.join(FORMATS)}. Guessed from name and content if not given.",
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="Format of OUT: naacl, pharaoh, talp. Not needed if it is OUT's suffix, as in a.talp.gz.",
        ),
    ] = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Rewrite a file of links in another format.

    Pharaoh counts words from 0, the other formats from 1. Only NAACL files are written with probabilities.
    """
    links = read_links(input, from_format, errors, count=pairs)
    with in_place():  # OUT may be IN: nothing is lost, the links are the same
        write_links(
            counted(links, "convert", output=output, quiet=quiet), output, to_format or _by_suffix(output)
        )


def _by_suffix(path: str) -> str:
    name, suffix = os.path.splitext(path)
    if suffix in (".gz", ".xz", ".zst"):
        suffix = os.path.splitext(name)[1]
    if suffix[1:] not in FORMATS:
        raise UsageError(f"cannot tell the format to write from the name {path}; say it, like --to pharaoh")
    return suffix[1:]
