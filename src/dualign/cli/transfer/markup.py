"""`dualign transfer markup`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli import options
from dualign.cli.options import argument, option
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options as shared


def markup(
    source: Annotated[str, argument("SOURCE", "Text with XML or HTML tags, one segment per line.")],
    target: Annotated[str, argument("TARGET", "Its translation, without tags.")],
    links: shared.LinksFile,
    output: options.Output = "-",
    source_tokens: Annotated[
        str | None, option("FILE", "SOURCE tokenised, without tags; if not given, split at white space.")
    ] = None,
    target_tokens: Annotated[str | None, option("FILE", "The same for TARGET.")] = None,
    gap: shared.Gap = 2,
    threshold: shared.Threshold = 0.0,
    report: shared.ReportFile = None,
    format: options.LinkFormat = None,
    pairs: options.Pairs = None,
    cluster: options.Cluster = None,
    work: options.Work = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Insert the inline tags of a source into its translation.

    Every tag of a line is in the output line once, and tags nest as they do in the source. Tags around
    words that have no counterpart stand empty.
    """
    files = jobs.AnnotatedFiles(source, target, links, link_format=format, pairs=pairs)
    tokens = source_tokens, target_tokens
    with on_screen(quiet, output, None, errors, cluster=cluster, work=work) as run:
        jobs.transfer_markup(
            files, output, tokens=tokens, gap=gap, threshold=threshold, report=report, run=run
        )
