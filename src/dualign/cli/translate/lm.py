"""`dualign translate lm`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Quiet


def lm(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Tokenised text, a sentence a line.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="ARPA file to write, such as lm.arpa.gz.")],
    order: Annotated[int, typer.Option("--order", min=1, max=9, metavar="N", help="Longest n-gram.")] = 3,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Learn an n-gram language model from text and write it in ARPA form.

    Interpolated modified Kneser-Ney estimates; every word of the text is in the vocabulary.
    """
    from dualign.cli.exits import say
    from dualign.text.arpa import write_arpa
    from dualign.text.lines import read_lines, tokenize
    from dualign.translate.lm.kneser_ney import estimate

    result = estimate((tokenize(line) for line in read_lines(text, errors)), order)
    write_arpa(result, model)
    if not quiet:
        counts = ", ".join(f"{len(grams.logprob):,} {n}-grams" for n, grams in enumerate(result.grams, 1))
        say(counts)
