"""`dualign figure trace`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Quiet, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, TracedReports


def trace(
    output: FigureFile,
    reports: TracedReports,
    line: Annotated[
        list[int] | None, option("N", "Pairs to draw; the first with a trace if not given.", min=1)
    ] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw how bound and score of a pair approach each other.

    A trace is a list with [bound, score] for each round.
    """
    with on_screen(quiet, output, None, errors) as run:
        jobs.draw_trace(reports, output, lines=line or (), run=run)
