"""`dualign figure pruning`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.figure.options import FigureFile, records_of, write_figure
from dualign.cli.options import Errors, OnErrors, Quiet


def pruning(
    output: FigureFile,
    reports: Annotated[
        list[str], typer.Argument(metavar="[NAME=]REPORT...", help="Reports whose pairs have a `trace`.")
    ],
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw how much pruning leaves of the search space, round by round.

    The traces of a report have [bound, score, share left] for each round; the mean over pairs is drawn.
    """
    from dualign.show.plots import pruning_figure
    from dualign.text.reports import trace_of

    traced = records_of(reports, errors)
    write_figure(
        pruning_figure({name: [trace_of(record) for _, record in pairs] for name, pairs in traced}),
        output,
        quiet,
    )
