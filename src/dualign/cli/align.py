"""`dualign align`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Output, Quiet, Report, Threads
from dualign.cli.settings import (
    Agreement,
    Constraint,
    Decoder,
    EarlyStop,
    GlossaryFile,
    KeepCase,
    MaxLength,
    ModelName,
    Penalty,
    Rounds,
    Set,
    Symmetrize,
    Threshold,
    Tune,
    TuneSource,
    TuneTarget,
    Unsupported,
    settings,
)

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Source text, a sentence a line; or both sides: see TARGET.")
]
Target = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        help="Target text. Without it, the lines of SOURCE are `source ||| target` or `source<TAB>target`.",
    ),
]


def align(
    source: Source,
    target: Target = None,
    output: Output = "-",
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Align with this saved model instead of training one."),
    ] = None,
    save: Annotated[str | None, typer.Option("--save", metavar="MODEL", help="Save the model.")] = None,
    decoder: Decoder = None,
    symmetrize: Symmetrize = None,
    threshold: Threshold = None,
    agreement: Agreement = None,
    penalty: Penalty = None,
    unsupported: Unsupported = None,
    tune: Tune = None,
    tune_source: TuneSource = None,
    tune_target: TuneTarget = None,
    early_stop: EarlyStop = False,
    probabilities: Annotated[
        str | None,
        typer.Option("--probabilities", metavar="FILE", help="Also write links as `i-j:probability`."),
    ] = None,
    report: Report = None,
    model_type: ModelName = None,
    constraint: Constraint = None,
    rounds: Rounds = None,
    max_length: MaxLength = None,
    keep_case: KeepCase = False,
    glossary: GlossaryFile = None,
    html_report: Annotated[
        str | None, typer.Option("--html-report", metavar="FILE", help="Also write a page about the run.")
    ] = None,
    set_: Set = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Learn from two parallel files and write the links of each line.

    A link is `i-j`: source word i and target word j, counted from 0. With --model nothing is
    learnt: the saved model aligns the text.
    """
    from dualign.jobs.aligning import Outputs, Tuning, run

    chosen = settings(
        set_, model=model_type, decoder=decoder, symmetrize=symmetrize, threshold=threshold,
        agreement=agreement, penalty=penalty, unsupported=unsupported,
        constraint=constraint, rounds=rounds, max_length=max_length, lowercase=False if keep_case else None,
    )  # fmt: skip
    run(
        source,
        target,
        model,
        chosen,
        Outputs(output, save, probabilities, report, html_report),
        Tuning(tune, tune_source, tune_target, early_stop),
        glossary,
        threads,
        errors,
        quiet,
    )
