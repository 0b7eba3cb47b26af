"""`dualign figure pruning`."""

from __future__ import annotations

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Quiet
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, TracedReports


def pruning(
    output: FigureFile, reports: TracedReports, errors: Errors = OnErrors.STRICT, quiet: Quiet = False
) -> None:
    """Draw how much pruning leaves of the search space, round by round.

    The traces of a report have [bound, score, share left] for each round; the mean over pairs is drawn.
    """
    with on_screen(quiet, output, None, errors) as run:
        jobs.draw_pruning(reports, output, run=run)
