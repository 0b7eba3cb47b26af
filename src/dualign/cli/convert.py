"""`dualign convert`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Pairs, Quiet, argument, flag, named_once, option
from dualign.cli.screen import on_screen
from dualign.text.link_formats import FORMATS


def convert(
    input: Annotated[str, argument("IN", "File of links.")],
    out: Annotated[str | None, argument("[OUT]", "File to write; or name it with -o.")] = None,
    output: Annotated[
        str | None, option("OUT", "File to write; - is standard output.", "--output -o")
    ] = None,
    from_format: Annotated[
        str | None,
        option(
            "FORMAT",
            f"Format of IN: {', '.join(FORMATS)}. Guessed from name and content if not given.",
            "--from",
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        option(
            "FORMAT",
            "Format of OUT: naacl, pharaoh, talp. Not needed if it is OUT's suffix, as in a.talp.gz.",
            "--to",
        ),
    ] = None,
    pairs: Pairs = None,
    swap: Annotated[bool, flag("--swap", "Exchange source and target.")] = False,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Rewrite a file of links in another format.

    Pharaoh counts words from 0, the other formats from 1. Only NAACL files are written with probabilities.
    """
    place = named_once(out, output, "OUT")
    with on_screen(quiet, place, None, errors) as run:
        jobs.convert(
            input, place, from_format=from_format, to_format=to_format, pairs=pairs, swap=swap, run=run
        )
