"""`dualign transfer evaluate`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Pairs, Quiet, one_standard_input
from dualign.cli.transfer.options import (
    Discontinuous,
    Gap,
    LinksFile,
    OnDiscontinuous,
    Pos,
    PosFilter,
    Surface,
)
from dualign.core.errors import UsageError
from dualign.text.streams import open_output


def evaluate(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="Annotated source: CoNLL-U, or .jsonl with spans.", show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="Its translation, with annotation of its own.", show_default=False
        ),
    ],
    links: LinksFile,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            "--threshold", min=0.0, max=1.0, metavar="P", help="Thresholds on links; repeat for several."
        ),
    ] = None,
    at: Annotated[
        float,
        typer.Option(
            "--at", min=0.0, max=1.0, metavar="SHARE", help="Also give the accuracy at this share of edges."
        ),
    ] = 0.5,
    pos: Pos = PosFilter.ANY,
    surface: Surface = False,
    discontinuous: Discontinuous = OnDiscontinuous.LARGEST,
    gap: Gap = 2,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; rates are fractions, not per cent.")
    ] = False,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry annotation across and compare it with the target's own.

    Of CoNLL-U, edges, words with the right head (UAS, LAS), parts of speech and nominal phrases are compared,
    at several thresholds on the links' probabilities; of JSON lines, spans with their labels.
    """
    one_standard_input(source, target, links)
    from dualign.measure import transfer_quality as projection
    from dualign.text.json_lines import is_json
    from dualign.transfer import runs
    from dualign.transfer.sentences import Settings
    from dualign.transfer.weighted_links import check_threshold

    thresholds = sorted(threshold) if threshold else list(projection.THRESHOLDS)
    for value in thresholds:
        check_threshold(value)
    if at == 0:
        raise UsageError("--at 0: no edges have no accuracy; give more")
    files = runs.Files(source, target, links, link_format=format, pairs=pairs, errors=errors)
    if is_json(source) != is_json(target):
        raise UsageError("SOURCE and TARGET must both be CoNLL-U, or both be called .jsonl")
    report: projection.SpanReport | projection.TreeReport
    if is_json(source):
        report = projection.span_report(runs.record_pairs(files), thresholds, discontinuous, gap, links)
    else:
        settings = Settings(pos=pos, surface=surface)
        report = projection.tree_report(
            runs.sentence_pairs(files), thresholds, settings, links, at, discontinuous, gap
        )
    with open_output("-") as stream:
        stream.write((json.dumps(report.as_dict()) if as_json else report.as_text()) + "\n")
