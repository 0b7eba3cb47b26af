"""`dualign figure trace`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.figure.options import FigureFile, records_of, write_figure
from dualign.cli.options import Errors, OnErrors, Quiet
from dualign.core.errors import UsageError

_FEW = 7


def trace(
    output: FigureFile,
    reports: Annotated[
        list[str], typer.Argument(metavar="[NAME=]REPORT...", help="Reports whose pairs have a `trace`.")
    ],
    line: Annotated[
        list[int] | None,
        typer.Option(
            "--line", min=1, metavar="N", help="Pairs to draw; the first with a trace if not given."
        ),
    ] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw how bound and score of a pair approach each other.

    A trace is a list with [bound, score] for each round.
    """
    from dualign.show.plots import trace_figure
    from dualign.text.reports import trace_of

    traces = {}
    several = len(reports) > 1
    for name, traced in records_of(reports, errors):
        known = dict(traced)
        for number in line or [traced[0][0]]:
            if number not in known:
                raise UsageError(f"--line {number}: {name} has no trace of that line")
            label = f"{name}, line {number}" if several else f"line {number}"
            traces[label] = trace_of(known[number])
    if len(traces) > _FEW:
        raise UsageError(f"{len(traces)} traces are too many for one figure; choose {_FEW} at most by --line")
    write_figure(trace_figure(traces), output, quiet)
