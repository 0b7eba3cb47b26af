"""`dualign summarize`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import Columns, Errors, LinkFormat, OnErrors, Output, Quiet, Source, Target, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import Probabilities, Reports

Links = Annotated[list[str] | None, option("[NAME=]FILE", "Links of the system to describe.", "--links -l")]


def summarize(
    source: Source,
    target: Target = None,
    columns: Columns = None,
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
    given = links or (), probabilities or (), report or ()
    if max(len(given[0]), len(given[1])) != 1:
        raise UsageError("the page is about one system; give --links or --probabilities once")
    with (
        on_screen(quiet, output, None, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
    ):
        files = jobs.ShownFiles(text.source, text.target, *given, format=format)
        jobs.summarize(files, output, run=run)
