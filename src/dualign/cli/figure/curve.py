"""`dualign figure curve`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from dualign.cli.figure.options import FigureFile, write_figure
from dualign.cli.options import Errors, LinkFormat, OnErrors, Quiet, Threads
from dualign.cli.showing import (
    First,
    GoldFormat,
    Links,
    Probabilities,
    Source,
    Target,
    dataset_of,
    model_view,
)
from dualign.core.errors import UsageError


def curve(
    output: FigureFile,
    gold: Annotated[str, typer.Option("--gold", metavar="FILE", help="Gold links, sure and possible.")],
    source: Source,
    target: Target = None,
    probabilities: Probabilities = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="[NAME=]MODEL", help="Saved model; its curve has every link."),
    ] = None,
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
    if not probabilities and not model and not links:
        raise UsageError("nothing to draw; give --probabilities, --model or --links, any of them repeatedly")
    from dualign.measure.curves import curve as curve_of
    from dualign.measure.quality import evaluate
    from dualign.show.dataset import named
    from dualign.show.plots import curve_figure

    read = partial(
        dataset_of, source, target,
        gold=gold, format=format, gold_format=gold_format, first=first, errors=errors,
    )  # fmt: skip
    scored = read(probabilities=probabilities)
    assert scored.gold is not None
    kept = [n for n, reference in enumerate(scored.gold) if reference is not None]
    reference = [alignment for alignment in scored.gold if alignment is not None]
    curves = {}
    for system in scored.systems:
        cells = system.cells or ()
        triples = [[(i, j, p) for (i, j), p in cells[n].items()] for n in kept]
        curves[system.name] = curve_of(triples, reference)
    for item in model or ():
        name, path = named(item)
        seen = model_view(path, None, threads, quiet)
        arrays = seen.of_pairs(scored.pairs[n] for n in kept)
        curves[name] = curve_of([array[1].mean(axis=0) for array in arrays], reference)
    points = {}
    if links:
        plain = read(links=links)
        points = {
            system.name: evaluate([system.links[n] for n in kept], reference) for system in plain.systems
        }
    write_figure(curve_figure(curves, points), output, quiet)
