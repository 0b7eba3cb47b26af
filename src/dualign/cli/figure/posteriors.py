"""`dualign figure posteriors`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import Columns, Errors, OnErrors, Quiet, Source, Target, Threads, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, First, Gold, GoldFormat, Line, Projection


def posteriors(
    output: FigureFile,
    model: Annotated[str, option("MODEL", "Saved model.", "--model")],
    source: Source,
    target: Target = None,
    columns: Columns = None,
    projection: Projection = None,
    gold: Gold = None,
    line: Line = 1,
    gold_format: GoldFormat = None,
    first: First = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw a model's posteriors of a pair, both directions, before and after projection."""
    with (
        on_screen(quiet, output, threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, model=model, run=run) as text,
    ):
        files = jobs.ShownFiles(text.source, text.target, gold=gold, gold_format=gold_format, first=first)
        jobs.draw_posteriors(files, model, output, projection=projection, line=line, run=run)
