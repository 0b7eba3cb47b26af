"""`dualign figure posteriors`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.figure.options import FigureFile, Line, checked_line, write_figure
from dualign.cli.options import Errors, OnErrors, Quiet, Threads
from dualign.cli.showing import First, Gold, GoldFormat, Projection, Source, Target, dataset_of, model_view


def posteriors(
    output: FigureFile,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="Saved model.")],
    source: Source,
    target: Target = None,
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
    from dualign.show.figures import posterior_figure

    dataset = dataset_of(source, target, gold=gold, gold_format=gold_format, first=first, errors=errors)
    n = checked_line(line, len(dataset))
    seen = model_view(model, projection, threads, quiet)
    pair = dataset.pairs[n]
    array = next(seen.of_pairs([pair]))
    reference = None if dataset.gold is None else dataset.gold[n]
    write_figure(posterior_figure(*pair, array, reference, seen.projection), output, quiet)
