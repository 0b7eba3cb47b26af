"""`dualign figure calibration`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import Columns, Errors, OnErrors, Quiet, Source, Target, Threads, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, First, GoldFormat, Models, Probabilities


def calibration(
    output: FigureFile,
    gold: Annotated[str, option("FILE", "Gold links, sure and possible.")],
    source: Source,
    target: Target = None,
    columns: Columns = None,
    probabilities: Probabilities = None,
    model: Models = None,
    gold_format: GoldFormat = None,
    first: First = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw how many of the links with a probability of p are right.

    A file of probabilities is about the links that it has, a saved model about every pair of words.
    """
    if not (probabilities or model):
        raise UsageError("nothing to draw; give --probabilities or --model, any of them repeatedly")
    with (
        on_screen(quiet, output, threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
    ):
        files = jobs.ShownFiles(
            text.source, text.target, (), probabilities or (), (), gold, None, gold_format, first, text.ids
        )
        jobs.draw_calibration(files, output, models=model or (), run=run)
