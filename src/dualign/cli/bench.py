"""`dualign bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Quiet, Threads, one_standard_input
from dualign.core.errors import UsageError

_PAIRS = 10_000


def bench(
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", min=1, metavar="N", help=f"Sentence pairs of synthetic text ({_PAIRS})."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of the synthetic text (0).")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="FILE", help="Measure on this text instead.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", metavar="FILE", help="Its other side.")] = None,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Gold links of its lines, or of the first of them."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; rates are fractions, not per cent.")
    ] = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Measure speed, memory and quality of this installation.

    Trains on a text and aligns with the saved model, as commands of their own; the time is that of the whole
    command. Synthetic text is aligned that was not trained on; your own text is aligned itself.
    """
    if (source is None) != (target is None):
        raise UsageError("--source and --target go together; give both")
    if gold is not None and source is None:
        raise UsageError("--gold needs its text; give --source and --target too")
    if source is not None and (pairs is not None or seed is not None):
        raise UsageError("--pairs and --seed are for synthetic text, but --source names a text")
    one_standard_input(source, target, gold)
    if "-" in (source, target):
        raise UsageError("the text is read more than once and cannot be standard input; name a file")

    from dualign.cli.exits import say
    from dualign.core.threads import available
    from dualign.jobs.installation import Own, Synthetic, measure_installation
    from dualign.text.streams import open_output

    if source is not None and target is not None:
        text: Own | Synthetic = Own(source, target, gold, errors)
    else:
        text = Synthetic(_PAIRS if pairs is None else pairs, seed or 0)
    report = (lambda message: None) if quiet else say
    measured = measure_installation(text, available(threads), report)
    with open_output("-") as stream:
        stream.write((measured.as_json() if as_json else measured.as_text()) + "\n")
