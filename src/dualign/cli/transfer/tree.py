"""`dualign transfer tree`."""

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
    flag,
)
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options


def tree(
    source: Annotated[str, argument("SOURCE", "CoNLL-U with trees.")],
    target: options.Target,
    links: options.LinksFile,
    output: Output = "-",
    threshold: options.Threshold = 0.0,
    pos: options.Pos = options.PosFilter.ANY,
    complete: Annotated[
        bool, flag("--complete", "Attach every word; otherwise some words have no head.")
    ] = False,
    surface: options.Surface = False,
    target_format: options.TargetFormat = None,
    report: options.ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    cluster: Cluster = None,
    work: Work = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry dependency trees from a source to its translation.

    An edge is kept if both its ends are aligned. The output is CoNLL-U; a word without a head has `_`
    there, and the confidence of an edge is `Projection` in MISC.
    """
    is_conllu = options.is_conllu(target_format)
    files = jobs.AnnotatedFiles(source, target, links, True, is_conllu, format, pairs)
    settings = jobs.TransferSettings(threshold, pos, surface, complete)
    with on_screen(quiet, output, None, errors) as run:
        run = replace(run, cluster=cluster, work=work)
        jobs.transfer_tree(files, output, settings=settings, report=report, run=run)
