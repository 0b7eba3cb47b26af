"""`dualign figure matrix`."""

from __future__ import annotations

from dualign import jobs
from dualign.cli.options import Columns, Errors, LinkFormat, OnErrors, Quiet, Source, Target
from dualign.cli.screen import on_screen
from dualign.cli.showing import FigureFile, First, Gold, GoldFormat, Line, Links, Probabilities


def matrix(
    output: FigureFile,
    source: Source,
    target: Target = None,
    columns: Columns = None,
    links: Links = None,
    gold: Gold = None,
    probabilities: Probabilities = None,
    line: Line = 1,
    format: LinkFormat = None,
    gold_format: GoldFormat = None,
    first: First = False,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw the links of a sentence pair as a matrix.

    Squares are gold links, with a border if sure; circles are links, as large as they are probable, and
    crossed out where gold does not have them.
    """
    systems = links or (), probabilities or ()
    with (
        on_screen(quiet, output, None, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
    ):
        files = jobs.ShownFiles(text.source, text.target, *systems, (), gold, format, gold_format, first)
        jobs.draw_matrix(files, output, line=line, run=run)
