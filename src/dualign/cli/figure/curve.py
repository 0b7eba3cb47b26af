"""`dualign figure curve`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import Columns, Errors, LinkFormat, OnErrors, Quiet, Source, Target, Threads, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, First, GoldFormat, Links, Models, Probabilities


def curve(
    output: FigureFile,
    gold: Annotated[str, option("FILE", "Gold links, sure and possible.")],
    source: Source,
    target: Target = None,
    columns: Columns = None,
    probabilities: Probabilities = None,
    model: Models = None,
    links: Links = None,
    format: LinkFormat = None,
    gold_format: GoldFormat = None,
    first: First = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw precision against recall of several systems.

    A file of probabilities gives a curve as far as its links go, a saved model a whole one, and a file of
    links a point.
    """
    if not (probabilities or model or links):
        raise UsageError("nothing to draw; give --probabilities, --model or --links, any of them repeatedly")
    systems = links or (), probabilities or ()
    with (
        on_screen(quiet, output, threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
    ):
        files = jobs.ShownFiles(
            text.source, text.target, *systems, (), gold, format, gold_format, first, text.ids
        )
        jobs.draw_curve(files, output, models=model or (), run=run)
