"""`dualign transfer spans`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.transfer.options import (
    Discontinuous,
    Gap,
    LinksFile,
    OnDiscontinuous,
    ReportFile,
    Threshold,
    write,
)


def spans(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help='JSON lines: {"text": …, "spans": [{"start": 0, "end": 4, "label": …}]}.',
            show_default=False,
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help='Text, a sentence a line; or JSON lines with "text", if it is called .jsonl.',
            show_default=False,
        ),
    ],
    links: LinksFile,
    output: Output = "-",
    discontinuous: Discontinuous = OnDiscontinuous.LARGEST,
    gap: Gap = 2,
    threshold: Threshold = 0.0,
    report: ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry spans, given by character offsets, to a translation.

    Links are about the words of "tokens", a list of strings in the JSON object, or else of the text split at
    white space. The output is JSON lines with "text", "spans" and "lost".
    """
    one_standard_input(source, target, links)
    from dualign.text.json_lines import is_json
    from dualign.transfer import runs

    files = runs.Files(source, target, links, link_format=format, pairs=pairs, errors=errors)
    results = runs.spans(files, discontinuous, gap, threshold, is_json(target))
    write(results, lambda stream, line: stream.write(line + "\n"), output, report, "transfer", quiet)
