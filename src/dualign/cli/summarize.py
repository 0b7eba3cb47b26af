"""`dualign summarize`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Quiet
from dualign.cli.showing import Probabilities, Reports, Source, Target, dataset_of
from dualign.core.errors import UsageError
from dualign.text.streams import open_output

Links = Annotated[
    list[str] | None,
    typer.Option("--links", "-l", metavar="[NAME=]FILE", help="Links of the system that the page is about."),
]


def summarize(
    source: Source,
    target: Target = None,
    links: Links = None,
    probabilities: Probabilities = None,
    report: Reports = None,
    output: Output = "-",
    format: LinkFormat = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Write a page about aligned text: statistics and dictionary.

    Links may come from any aligner. `dualign align --html-report` writes the same page about its own run,
    with the objective of each round.
    """
    if max(len(links or ()), len(probabilities or ())) != 1:
        raise UsageError("the page is about one system; give --links or --probabilities once")
    from dataclasses import replace

    from dualign.show.summary import About, summary_page

    dataset = dataset_of(source, target, links, probabilities, report, None, format, errors=errors)
    system = dataset.systems[0]
    alignments = list(system.links)
    if system.cells is not None:
        alignments = [
            replace(alignment, probabilities=tuple(cells.get(link, float("nan")) for link in alignment.links))
            for alignment, cells in zip(alignments, system.cells, strict=True)
        ]
    about = About(f"{dataset.names[0]} – {dataset.names[1]}: {system.name}", records=system.records or ())
    with open_output(output) as stream:
        stream.write(summary_page(dataset.pairs, alignments, about))
