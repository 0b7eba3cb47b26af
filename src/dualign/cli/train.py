"""`dualign train`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.options import Errors, OnErrors, Quiet, Threads, one_standard_input
from dualign.cli.settings import (
    Constraint,
    EarlyStop,
    GlossaryFile,
    KeepCase,
    MaxLength,
    ModelName,
    Rounds,
    Set,
    Tune,
    TuneSource,
    TuneTarget,
    note_idle,
    settings,
)
from dualign.core.errors import UsageError


def train(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE [TARGET] MODEL",
            help="Two parallel files, or one with both sides (`source ||| target`, TSV); the file to write.",
        ),
    ],
    tune: Tune = None,
    tune_source: TuneSource = None,
    tune_target: TuneTarget = None,
    early_stop: EarlyStop = False,
    model_type: ModelName = None,
    constraint: Constraint = None,
    rounds: Rounds = None,
    max_length: MaxLength = None,
    keep_case: KeepCase = False,
    glossary: GlossaryFile = None,
    set_: Set = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Learn an alignment model from two parallel files and save it."""
    from dualign.jobs.aligning import Outputs, Tuning, check_outputs, learn
    from dualign.jobs.warming import compile_kernels
    from dualign.model.options import Options

    chosen = settings(
        set_, model=model_type, constraint=constraint, rounds=rounds, max_length=max_length,
        lowercase=False if keep_case else None,
    )  # fmt: skip
    if not 2 <= len(files) <= 3:
        raise UsageError(f"{len(files)} files named; write SOURCE TARGET MODEL, or BITEXT MODEL")
    source, *others, model = files
    target = others[0] if others else None
    one_standard_input(source, target, tune, tune_source, tune_target, glossary)
    check_outputs(Outputs("-", model, None, None), source, target, tune, tune_source, tune_target, glossary)
    note_idle(Options.of(chosen), chosen, quiet, training=True)
    compile_kernels(quiet)
    tuning = Tuning(tune, tune_source, tune_target, early_stop)
    _, aligner = learn(source, target, chosen, tuning, glossary, threads, errors, quiet)
    aligner.save(model)
