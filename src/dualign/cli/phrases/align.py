"""`dualign phrases align`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli.options import (
    Columns,
    Errors,
    OnErrors,
    Output,
    Quiet,
    Source,
    Target,
    Threads,
    TimeLimit,
    option,
)
from dualign.cli.phrases.options import Features, MaxLength, Table
from dualign.cli.screen import on_screen


def align(
    table: Table,
    source: Source,
    target: Target = None,
    columns: Columns = None,
    output: Output = "-",
    report: Annotated[
        str | None,
        option("FILE", "Also write JSON for each pair: line, feasible, score, bound, certified, seconds."),
    ] = None,
    method: Annotated[str, option("METHOD", "exact, ilp (HiGHS) or greedy.", "--method")] = "exact",
    time_limit: TimeLimit = None,
    features: Features = None,
    max_length: MaxLength = 10,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Find the best way to make each translation from the phrases of a table.

    Writes a line `i:j-k:l … ||| score ||| bound` for each pair: source words i to j-1 with target words k to
    l-1, counted from 0. A pair that the table cannot make, and that is proved, has no links and -inf twice.
    """
    with (
        on_screen(quiet, output, threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as plain,
    ):
        text = jobs.TableText(table, plain.source, plain.target, features, max_length)
        jobs.align_phrases(text, output, report=report, method=method, time_limit=time_limit, run=run)
