"""`dualign transfer tree`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli import options
from dualign.cli.options import argument, flag
from dualign.cli.screen import on_screen
from dualign.cli.transfer import options as shared


def tree(
    source: Annotated[str, argument("SOURCE", "CoNLL-U with trees.")],
    target: shared.Target,
    links: shared.LinksFile,
    output: options.Output = "-",
    threshold: shared.Threshold = 0.0,
    pos: shared.Pos = shared.PosFilter.ANY,
    complete: Annotated[
        bool, flag("--complete", "Attach every word; otherwise some words have no head.")
    ] = False,
    surface: shared.Surface = False,
    target_format: shared.TargetFormat = None,
    report: shared.ReportFile = None,
    format: options.LinkFormat = None,
    pairs: options.Pairs = None,
    cluster: options.Cluster = None,
    work: options.Work = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Carry dependency trees from a source to its translation.

    An edge is kept if both its ends are aligned. The output is CoNLL-U; a word without a head has `_`
    there, and the confidence of an edge is `Projection` in MISC.
    """
    is_conllu = shared.is_conllu(target_format)
    files = jobs.AnnotatedFiles(source, target, links, True, is_conllu, format, pairs)
    settings = jobs.TransferSettings(threshold, pos, surface, complete)
    with on_screen(quiet, output, None, errors, cluster=cluster, work=work) as run:
        jobs.transfer_tree(files, output, settings=settings, report=report, run=run)
