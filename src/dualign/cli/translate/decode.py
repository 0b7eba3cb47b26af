"""`dualign translate decode`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Output, Quiet, Threads


def decode(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="Folder that `dualign translate train` has made.")
    ],
    text: Annotated[
        str,
        typer.Argument(
            metavar="INPUT",
            help="Tokenised text to translate, a sentence a line; trees where it was trained on them.",
        ),
    ],
    output: Output = "-",
    # The names stand here too because the module of `METHODS` imports NumPy, too slow for `--help`.
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="METHOD", help="exact, relax, tighten, cube, exhaustive, ilp or lp."
        ),
    ] = "exact",
    beam: Annotated[int, typer.Option("--beam", min=1, metavar="N", help="Items a vertex, for cube.")] = 50,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.001, metavar="SECONDS", help="For each sentence.")
    ] = 10.0,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a JSON object for each line: line, score, bound, certified, seconds; for "
            "tighten, partitions.",
        ),
    ] = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Translate text, one output line for each input line.

    Words without a rule are copied. A system of tree-to-string rules takes trees, in brackets, one a line.
    With --report, each answer comes with its score and with a bound that no translation of the same grammar
    and language model can exceed; certified means that the two have met.
    """
    from dualign.jobs.translating import run

    run(folder, text, output, method, beam, time_limit, report, threads, errors, quiet)
