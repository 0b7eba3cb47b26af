"""`dualign transfer spans`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli import options
from dualign.cli.options import argument
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options as shared


def spans(
    source: Annotated[
        str, argument("SOURCE", 'JSON lines: {"text": …, "spans": [{"start": 0, "end": 4, "label": …}]}.')
    ],
    target: Annotated[
        str,
        argument("TARGET", 'Text, one sentence per line; or JSON lines with "text", if it is called .jsonl.'),
    ],
    links: shared.LinksFile,
    output: options.Output = "-",
    discontinuous: shared.Discontinuous = shared.OnDiscontinuous.LARGEST,
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
    """Carry spans, given by character offsets, to a translation.

    Links are about the words of "tokens", a list of strings in the JSON object, or else of the text split at
    white space. The output is JSON lines with "text", "spans" and "lost".
    """
    files = jobs.AnnotatedFiles(source, target, links, link_format=format, pairs=pairs)
    with on_screen(quiet, output, None, errors, cluster=cluster, work=work) as run:
        jobs.transfer_spans(
            files, output, discontinuous=discontinuous, gap=gap, threshold=threshold, report=report, run=run
        )
