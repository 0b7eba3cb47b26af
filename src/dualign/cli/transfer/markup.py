"""`dualign transfer markup`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.transfer.options import Gap, LinksFile, ReportFile, Threshold, write


def markup(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="Text with XML or HTML tags, a line each.", show_default=False),
    ],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="Its translation, without tags.", show_default=False)
    ],
    links: LinksFile,
    output: Output = "-",
    source_tokens: Annotated[
        str | None,
        typer.Option(
            "--source-tokens",
            metavar="FILE",
            help="SOURCE tokenised, without tags: what links are about. Split at white space if not given.",
        ),
    ] = None,
    target_tokens: Annotated[
        str | None, typer.Option("--target-tokens", metavar="FILE", help="The same for TARGET.")
    ] = None,
    gap: Gap = 2,
    threshold: Threshold = 0.0,
    report: ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Set the inline tags of a source into its translation.

    Every tag of a line is in the output line once, and tags nest as they do in the source. Tags around
    words that have no counterpart stand empty.
    """
    one_standard_input(source, target, links, source_tokens, target_tokens)
    from dualign.transfer import runs

    files = runs.Files(source, target, links, link_format=format, pairs=pairs, errors=errors)
    results = runs.markup(files, source_tokens, target_tokens, gap, threshold)
    write(results, lambda stream, line: stream.write(line + "\n"), output, report, "transfer", quiet)
