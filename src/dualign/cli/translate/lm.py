"""`dualign translate lm`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Quiet, argument, named_once, option
from dualign.cli.screen import on_screen


def lm(
    text: Annotated[str, argument("TEXT", "Tokenised text, one sentence per line.")],
    model: Annotated[
        str | None, argument("[MODEL]", "ARPA file to write, such as lm.arpa.gz; or name it with -o.")
    ] = None,
    output: Annotated[str | None, option("MODEL", "ARPA file to write.", "--output -o")] = None,
    order: Annotated[int, option("N", "Longest n-gram.", min=1, max=9)] = 3,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Train an n-gram language model on text and write it in ARPA format.

    Interpolated modified Kneser-Ney estimates; every word of the text is in the vocabulary.
    """
    place = named_once(model, output, "MODEL")
    with on_screen(quiet, place, None, errors) as run:
        jobs.train_language_model(text, place, order=order, run=run)
