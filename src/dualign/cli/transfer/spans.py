"""`dualign transfer spans`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from dualign import jobs
from dualign.cli.options import Cluster, Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, Work, argument
from dualign.cli.screen import on_screen
from dualign.cli.transfer.options import Discontinuous, Gap, LinksFile, OnDiscontinuous, ReportFile, Threshold


def spans(
    source: Annotated[
        str, argument("SOURCE", 'JSON lines: {"text": …, "spans": [{"start": 0, "end": 4, "label": …}]}.')
    ],
    target: Annotated[
        str,
        argument("TARGET", 'Text, one sentence per line; or JSON lines with "text", if it is called .jsonl.'),
    ],
    links: LinksFile,
    output: Output = "-",
    discontinuous: Discontinuous = OnDiscontinuous.LARGEST,
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
    """Carry spans, given by character offsets, to a translation.

    Links are about the words of "tokens", a list of strings in the JSON object, or else of the text split at
    white space. The output is JSON lines with "text", "spans" and "lost".
    """
    files = jobs.AnnotatedFiles(source, target, links, link_format=format, pairs=pairs)
    with on_screen(quiet, output, None, errors) as run:
        run = replace(run, cluster=cluster, work=work)
        jobs.transfer_spans(
            files, output, discontinuous=discontinuous, gap=gap, threshold=threshold, report=report, run=run
        )
