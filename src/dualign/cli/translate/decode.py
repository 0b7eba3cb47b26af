"""`dualign translate decode`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Cluster, Errors, OnErrors, Output, Quiet, Threads, Work, argument, option
from dualign.cli.screen import on_screen


def decode(
    folder: Annotated[str, argument("DIR", "Folder that `dualign translate train` wrote.")],
    text: Annotated[
        str,
        argument(
            "INPUT",
            "Tokenised text, one sentence per line; trees if it was trained on them; or a folder of forests.",
        ),
    ],
    output: Output = "-",
    # The names stand here too because the module of `METHODS` imports NumPy, too slow for `--help`.
    method: Annotated[
        str, option("METHOD", "exact, relax, tighten, cube, exhaustive, ilp or lp.", "--method")
    ] = "exact",
    beam: Annotated[int, option("N", "Items per vertex, for cube.", min=1)] = 50,
    time_limit: Annotated[float, option("SECONDS", "For each sentence.", min=0.001)] = 10.0,
    gap: Annotated[
        float, option("X", "End when the score is within X of its bound, for exact.", "--gap", min=0.0)
    ] = 0.0,
    k: Annotated[
        int, option("N", "Up to N different translations, in lines `line ||| words ||| score`.", "-k", min=1)
    ] = 1,
    lm: Annotated[
        str | None, option("FILE", "Another language model for this text, in ARPA or KenLM format.")
    ] = None,
    forests: Annotated[
        str | None, option("DIR", "Also write the forest of each line, as DIR/LINE.json.")
    ] = None,
    report: Annotated[
        str | None,
        option(
            "FILE",
            "Also write a JSON object for each line: line, score, bound, certified, seconds; for "
            "tighten, partitions.",
        ),
    ] = None,
    cluster: Cluster = None,
    work: Work = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Translate text, one output line for each input line.

    Words without a rule are copied. A system of tree-to-string rules takes trees, in brackets, one per line.
    With --report, each answer comes with its score and with a bound that no translation of the same grammar
    and language model can exceed; certified means that the two are equal.
    """
    with on_screen(quiet, output, threads, errors, cluster=cluster, work=work) as run:
        search = {"method": method, "beam": beam, "time_limit": time_limit, "gap": gap, "k": k}
        jobs.translate(folder, text, output, report=report, lm=lm, forests=forests, run=run, **search)
