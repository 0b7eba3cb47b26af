"""`dualign phrases train`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign.cli import options
from dualign.cli.options import option
from dualign.cli.phrases.options import Features, MaxLength, Table
from dualign.cli.screen import on_screen


def train(
    table: Table,
    source: options.Source,
    target: options.Target = None,
    columns: options.Columns = None,
    output: options.Output = "-",
    rounds: Annotated[int, option("N", "Rounds of EM.", min=1)] = 5,
    model: Annotated[str, option("MODEL", "joint, or conditional: p(target|source).", "--model")] = "joint",
    pseudo_count: Annotated[
        float, option("K", "Added to the count of each entry; with 0, unused entries are dropped.", min=0)
    ] = 0.0,
    time_limit: options.TimeLimit = None,
    features: Features = None,
    max_length: MaxLength = 10,
    threads: options.Threads = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Re-estimate a phrase table by Viterbi EM over a text.

    Begins with the best alignments by TABLE and writes a table with one score, the probability of the model.
    The objective, on stderr, never gets worse from round to round.
    """
    with (
        on_screen(quiet, output, threads, errors) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
    ):
        jobs.train_phrases(
            jobs.TableText(table, text.source, text.target, features, max_length),
            output,
            rounds=rounds,
            model=model,
            pseudo_count=pseudo_count,
            time_limit=time_limit,
            run=run,
        )
