"""`dualign transfer tree`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.transfer.options import (
    LinksFile,
    Pos,
    PosFilter,
    ReportFile,
    Surface,
    Target,
    TargetFormat,
    Threshold,
    as_conllu,
    write,
)


def tree(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="CoNLL-U with trees.", show_default=False)],
    target: Target,
    links: LinksFile,
    output: Output = "-",
    threshold: Threshold = 0.0,
    pos: Pos = PosFilter.ANY,
    complete: Annotated[
        bool, typer.Option("--complete", help="Attach every word; without, words may stay without a head.")
    ] = False,
    surface: Surface = False,
    target_format: TargetFormat = None,
    report: ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry dependency trees from a source to its translation.

    An edge is kept if both its ends are aligned. The output is CoNLL-U; a word without a head has `_`
    there, and the confidence of an edge is `Projection` in MISC.
    """
    one_standard_input(source, target, links)
    from dualign.text.conllu import write_sentence
    from dualign.transfer.runs import Files, trees
    from dualign.transfer.sentences import Settings

    is_conllu = as_conllu(target_format, target)
    files = Files(source, target, links, True, is_conllu, format, pairs, errors)
    results = trees(files, Settings(threshold, pos, surface, complete))
    write(results, write_sentence, output, report, "transfer", quiet)
