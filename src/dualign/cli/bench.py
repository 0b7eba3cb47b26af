"""`dualign bench`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import open_output
from dualign.cli.options import AsJson, Errors, OnErrors, Output, Quiet, Threads, flag, option
from dualign.cli.screen import on_screen
from dualign.options import PAIRS


def bench(
    pairs: Annotated[int | None, option("N", f"Sentence pairs of synthetic text ({PAIRS}).", min=1)] = None,
    seed: Annotated[int | None, option("N", "Seed of the synthetic text (0).", min=0)] = None,
    source: Annotated[str | None, option("FILE", "Measure on this text instead.")] = None,
    target: Annotated[str | None, option("FILE", "Its other side.")] = None,
    gold: Annotated[str | None, option("FILE", "Gold links of its lines, or of the first of them.")] = None,
    by_threads: Annotated[
        bool, flag("--by-threads", "Compare 1, 2, 4, … threads, up to --threads, and what they write.")
    ] = False,
    output: Output = "-",
    as_json: AsJson = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Measure speed, memory and quality of this installation.

    Times two commands: one trains on a text, the other aligns with the saved model. With synthetic text, the
    text to align is new; your own text is used for both. Also shows where both commands spend their processor
    time, phase by phase.
    """
    if (source is None) != (target is None):
        raise UsageError("--source and --target go together; give both")
    if gold is not None and source is None:
        raise UsageError("--gold needs its text; give --source and --target too")
    if source is not None and (pairs is not None or seed is not None):
        raise UsageError("--pairs and --seed are for synthetic text, but --source names a text")
    text: jobs.Own | jobs.Synthetic = jobs.Synthetic(pairs or PAIRS, seed or 0)
    if source is not None and target is not None:
        text = jobs.Own(source, target, gold)
    with kept_apart(), on_screen(quiet, "", threads, errors) as run:
        measured = jobs.bench(text, by_threads=by_threads, run=run)
        with open_output(output) as stream:
            stream.write((measured.as_json() if as_json else measured.as_text()) + "\n")
