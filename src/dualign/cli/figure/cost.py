"""`dualign figure cost`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Errors, OnErrors, Quiet, argument, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile


def cost(
    output: FigureFile,
    files: Annotated[list[str], argument("[NAME=]FILE...", "JSON lines, as the benchmarks write them.")],
    x: Annotated[str, option("KEY", "Key of the horizontal axis.")] = "pairs",
    y: Annotated[str, option("KEY", "Key of the vertical axis.")] = "seconds",
    by: Annotated[str | None, option("KEY", "One line per value of this key.")] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw time, memory or another cost against size."""
    with on_screen(quiet, output, None, errors) as run:
        jobs.draw_cost(files, output, x=x, y=y, by=by, run=run)
