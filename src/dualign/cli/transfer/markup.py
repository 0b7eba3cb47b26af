"""`dualign transfer markup`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from dualign import jobs
from dualign.cli.options import (
    Cluster,
    Errors,
    LinkFormat,
    OnErrors,
    Output,
    Pairs,
    Quiet,
    Work,
    argument,
    option,
)
from dualign.cli.screen import on_screen
from dualign.cli.transfer.options import Gap, LinksFile, ReportFile, Threshold


def markup(
    source: Annotated[str, argument("SOURCE", "Text with XML or HTML tags, one segment per line.")],
    target: Annotated[str, argument("TARGET", "Its translation, without tags.")],
    links: LinksFile,
    output: Output = "-",
    source_tokens: Annotated[
        str | None, option("FILE", "SOURCE tokenised, without tags; if not given, split at white space.")
    ] = None,
    target_tokens: Annotated[str | None, option("FILE", "The same for TARGET.")] = None,
    gap: Gap = 2,
    threshold: Threshold = 0.0,
    report: ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    cluster: Cluster = None,
    work: Work = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Insert the inline tags of a source into its translation.

    Every tag of a line is in the output line once, and tags nest as they do in the source. Tags around
    words that have no counterpart stand empty.
    """
    files = jobs.AnnotatedFiles(source, target, links, link_format=format, pairs=pairs)
    tokens = source_tokens, target_tokens
    with on_screen(quiet, output, None, errors) as run:
        run = replace(run, cluster=cluster, work=work)
        jobs.transfer_markup(
            files, output, tokens=tokens, gap=gap, threshold=threshold, report=report, run=run
        )
