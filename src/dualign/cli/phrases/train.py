"""`dualign phrases train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.exits import say
from dualign.cli.options import Errors, OnErrors, Output, Quiet, Threads, one_standard_input
from dualign.cli.phrases.files import Features, MaxLength, Table, compile_kernels, entry_weights

if TYPE_CHECKING:
    from dualign.phrase.alignment.phrase_em import Round


def train(
    table: Table,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source text.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Target text.", show_default=False)],
    output: Output = "-",
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Rounds of EM.")] = 5,
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="MODEL", help="joint, or conditional: p(target phrase|source phrase)."
        ),
    ] = "joint",
    pseudo_count: Annotated[
        float,
        typer.Option(
            "--pseudo-count", min=0, metavar="K", help="Added to each entry; 0 lets unused ones go."
        ),
    ] = 0.0,
    time_limit: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="For each pair; none if not given."),
    ] = None,
    features: Features = None,
    max_length: MaxLength = 10,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Re-estimate a phrase table by Viterbi EM over a text.

    Begins with the best alignments by TABLE and writes a table with one score, the probability of the model.
    The objective, on stderr, never gets worse from round to round.
    """
    one_standard_input(table, source, target)

    from dualign.core.errors import UsageError
    from dualign.phrase.alignment import phrase_em as em
    from dualign.phrase.table.occurrences import Occurrences
    from dualign.text.pairs import read_pairs
    from dualign.text.streams import open_output

    def report(reached: Round) -> None:
        if not quiet:
            say(
                f"round {reached.number}: objective {reached.objective:.6f}, {reached.aligned:,} pairs "
                f"aligned ({reached.certified:,} certified), {reached.entries:,} phrase pairs"
            )

    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"--time-limit {time_limit}: must be more than 0 seconds")
    compile_kernels("train", quiet)
    with open_output(output) as out:
        occurrences = Occurrences(read_pairs(source, target, errors=errors), max_length).read(table, errors)
        parameters, counts = em.train(
            occurrences,
            entry_weights(occurrences, features),
            rounds=rounds,
            model=model,
            pseudo_count=pseudo_count,
            time_limit=time_limit,
            threads=threads,
            report=report,
        )
        em.write_table(occurrences, parameters, counts, out)
