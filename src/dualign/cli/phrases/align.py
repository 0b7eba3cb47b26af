"""`dualign phrases align`."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualign.cli.align import Source, Target
from dualign.cli.exits import say
from dualign.cli.options import Errors, OnErrors, Output, Quiet, Threads, one_standard_input, separate_outputs
from dualign.cli.phrases.files import Features, MaxLength, Table, compile_kernels, entry_weights
from dualign.text.streams import open_output

if TYPE_CHECKING:
    from dualign.phrase.alignment.forced import Forced


def align(
    table: Table,
    source: Source,
    target: Target = None,
    output: Output = "-",
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Also write a JSON object for each pair: line, feasible, score, bound, certified, seconds.",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="METHOD", help="exact, ilp (HiGHS) or greedy.")
    ] = "exact",
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
    """Find the best way to make each translation from the phrases of a table.

    Writes a line `i:j-k:l … ||| score ||| bound` for each pair: source words i to j-1 with target words k to
    l-1, counted from 0. A pair that the table cannot make, and that is proved, has no links and -inf twice.
    """
    one_standard_input(table, source, target)
    separate_outputs(output, report)

    from dualign.cli.progress import counted
    from dualign.core.errors import UsageError
    from dualign.core.threads import available
    from dualign.phrase.alignment.aligning import METHODS
    from dualign.phrase.alignment.forced import decode, format_line
    from dualign.phrase.table.occurrences import Occurrences
    from dualign.text.pairs import read_pairs

    if method not in METHODS:
        raise UsageError(f"--method {method}: there are {', '.join(METHODS)}")
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"--time-limit {time_limit}: must be more than 0 seconds")
    compile_kernels("align", quiet)
    with ExitStack() as stack:
        out = stack.enter_context(open_output(output))
        records = stack.enter_context(open_output(report)) if report else None
        occurrences = Occurrences(read_pairs(source, target, errors=errors), max_length).read(table, errors)
        answers = decode(
            occurrences,
            entry_weights(occurrences, features),
            method=method,
            time_limit=time_limit,
            threads=available(threads),
        )
        counts = {"aligned": 0, "certified": 0, "without": 0, "empty": 0}
        for line, answer in enumerate(counted(answers, "align", output=output, quiet=quiet), 1):
            out.write(format_line(answer) + "\n")
            record = _record(line, answer)
            if records is not None:
                records.write(json.dumps(record) + "\n")
            counts["empty"] += answer.empty
            counts["aligned"] += record["score"] is not None
            counts["certified"] += record["certified"] and not answer.empty
            counts["without"] += not record["feasible"]
    if not quiet:
        if occurrences.too_long:
            say(
                f"note: {occurrences.too_long:,} entries of {table} were left out: they have a phrase "
                f"of over {max_length} words (--max-length)"
            )
        say(
            f"{counts['aligned']:,} pairs aligned, {counts['without']:,} proved to have no alignment, "
            f"{counts['empty']:,} empty; {counts['certified']:,} answers certified"
        )


def _record(line: int, answer: Forced) -> dict[str, Any]:
    """One object of the report; what does not exist is null."""
    result = answer.result
    if result is None:
        proved = {"feasible": answer.empty, "score": None, "bound": None, "certified": True, "seconds": 0.0}
        return {"line": line, **proved}
    found = result.solution is not None
    return {
        "line": line,
        "feasible": True,
        "score": result.score if found else None,
        "bound": result.bound,
        "certified": result.certified,
        "seconds": round(result.seconds, 9),
    }
