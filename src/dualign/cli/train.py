"""`dualign train`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli import settings
from dualign.cli.beside import plain_for_training
from dualign.cli.options import (
    Cluster,
    Columns,
    Device,
    DeviceMemory,
    Errors,
    Memory,
    OnErrors,
    Profile,
    Quiet,
    Scratch,
    Threads,
    Work,
    argument,
    option,
)
from dualign.cli.screen import on_screen
from dualign.text.checks import number_of


def train(
    files: Annotated[
        list[str],
        argument(
            "SOURCE [TARGET] [MODEL]",
            "Two parallel files, or one with both sides (`source ||| target`, TSV); the file to write.",
        ),
    ],
    output: Annotated[
        str | None, option("MODEL", "The file to write, if it is not given as an argument.", "--output -o")
    ] = None,
    columns: Columns = None,
    tokenize: settings.Tokenize = None,
    whitespace: settings.WhiteSpace = None,
    skip_tokens: settings.SkipTokens = None,
    gold: settings.PinnedGold = None,
    tune: settings.Tune = None,
    tune_source: settings.TuneSource = None,
    tune_target: settings.TuneTarget = None,
    early_stop: settings.EarlyStop = False,
    model_type: settings.ModelName = None,
    constraint: settings.Constraint = None,
    rounds: settings.Rounds = None,
    max_length: settings.MaxLength = None,
    keep_case: settings.KeepCase = False,
    glossary: settings.GlossaryFile = None,
    prior: settings.PriorFile = None,
    prior_weight: settings.PriorWeight = 1.0,
    background: settings.Background = None,
    background_ratio: settings.BackgroundRatio = None,
    similarity: settings.Similarity = None,
    similarity_weight: settings.SimilarityWeight = None,
    set_: settings.Set = None,
    continue_: Annotated[
        str | None,
        option("MODEL", "Continue training this model, with its options and counts.", "--continue"),
    ] = None,
    sample: Annotated[
        str | None, option("N", "Train on this many pairs, drawn at random: 500000, 500k, 2.5M.")
    ] = None,
    seed: Annotated[int, option("N", "Seed for drawing the sample.")] = 0,
    threads: Threads = None,
    memory: Memory = None,
    device: Device = "cpu",
    device_memory: DeviceMemory = None,
    scratch: Scratch = None,
    cluster: Cluster = None,
    work: Work = None,
    profile: Profile = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Train an alignment model on two parallel files and save it."""
    chosen = settings.chosen(
        set_, tokenize=tokenize, whitespace=whitespace, skip_tokens=skip_tokens, model=model_type,
        constraint=constraint, rounds=rounds, max_length=max_length,
        lowercase=False if keep_case else None,
    )  # fmt: skip
    named = [*files, *([] if output is None else [output])]
    if not 2 <= len(named) <= 3:
        raise UsageError(
            f"{number_of(len(named), 'files')} named; write SOURCE TARGET -o MODEL, or BITEXT -o MODEL"
        )
    source, *others, model = named
    target = others[0] if others else None
    tuning = settings.tuning_of(tune, tune_source, tune_target, early_stop, gold)
    known = jobs.Knowledge(
        glossary,
        prior,
        prior_weight,
        model=continue_,
        background=background,
        times=background_ratio,
        similarity=similarity,
        similarity_weight=similarity_weight,
    )
    with (
        on_screen(
            quiet, "", threads, errors, memory=memory, scratch=scratch, profile=profile, cluster=cluster,
            work=work, device=device, device_memory=device_memory,
        ) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
        plain_for_training(settings.with_ids(tuning, text.ids), known, run) as (tuning, known),
    ):  # fmt: skip
        jobs.train(
            text.source, text.target, model, tuning=tuning, glossary=known, sample=sample, seed=seed, run=run,
            **chosen,
        )  # fmt: skip
