"""`dualign translate train`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Quiet, Threads, one_standard_input
from dualign.core.errors import UsageError

__all__ = ["train"]


def train(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Target text, parallel to it.")],
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder to write; made if it is not there.")],
    dev_source: Annotated[
        str | None,
        typer.Option(
            "--dev-source", metavar="FILE", help="Source text to tune on; else some pairs are kept apart."
        ),
    ] = None,
    dev_target: Annotated[
        str | None, typer.Option("--dev-target", metavar="FILE", help="Target text to tune on.")
    ] = None,
    order: Annotated[
        int, typer.Option("--order", min=1, max=9, metavar="N", help="Longest n-gram of the language model.")
    ] = 3,
    span: Annotated[
        int, typer.Option("--span", min=1, max=30, metavar="N", help="Longest phrase that a rule covers.")
    ] = 10,
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="N", help="Most target sides for one source side.")
    ] = 20,
    rounds: Annotated[
        int,
        typer.Option("--rounds", min=0, metavar="N", help="Rounds of tuning; 0 leaves the weights alone."),
    ] = 4,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Learn to translate from two parallel files: links, rules, language model, weights."""
    from dualign.cli.exits import say
    from dualign.cli.warm import compile_kernels
    from dualign.text.bitext import read_pairs
    from dualign.translate.extraction import Extraction
    from dualign.translate.system import train_system

    if (dev_source is None) != (dev_target is None):
        raise UsageError("--dev-source and --dev-target belong together; give both or none")
    one_standard_input(source, target, dev_source, dev_target)
    pairs = list(read_pairs(source, target, errors=errors))
    dev = None
    if dev_source is not None:
        dev = [pair for pair in read_pairs(dev_source, dev_target, errors=errors) if pair[0] and pair[1]]
    compile_kernels(quiet)
    train_system(
        pairs,
        folder,
        dev=dev,
        order=order,
        settings=Extraction(longest=span, limit=limit),
        rounds=rounds,
        threads=threads,
        report=(lambda message: None) if quiet else say,
    )
