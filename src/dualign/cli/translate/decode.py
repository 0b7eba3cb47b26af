"""`dualign translate decode`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Output, Quiet, Threads, argument, option
from dualign.cli.screen import on_screen


def decode(
    folder: Annotated[str, argument("DIR", "Folder that `dualign translate train` has made.")],
    text: Annotated[
        str, argument("INPUT", "Tokenised text, one sentence per line; trees where it was trained on them.")
    ],
    output: Output = "-",
    # The names stand here too because the module of `METHODS` imports NumPy, too slow for `--help`.
    method: Annotated[
        str, option("METHOD", "exact, relax, tighten, cube, exhaustive, ilp or lp.", "--method")
    ] = "exact",
    beam: Annotated[int, option("N", "Items per vertex, for cube.", min=1)] = 50,
    time_limit: Annotated[float, option("SECONDS", "For each sentence.", min=0.001)] = 10.0,
    report: Annotated[
        str | None,
        option(
            "FILE",
            "Also write a JSON object for each line: line, score, bound, certified, seconds; for "
            "tighten, partitions.",
        ),
    ] = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Translate text, one output line for each input line.

    Words without a rule are copied. A system of tree-to-string rules takes trees, in brackets, one per line.
    With --report, each answer comes with its score and with a bound that no translation of the same grammar
    and language model can exceed; certified means that the two have met.
    """
    with on_screen(quiet, output, threads, errors) as run:
        jobs.translate(
            folder, text, output, method=method, beam=beam, time_limit=time_limit, report=report, run=run
        )
