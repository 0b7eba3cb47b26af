"""`dualign align`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli import settings
from dualign.cli.beside import plain_for_training
from dualign.cli.options import (  # fmt: skip
    Cluster,
    Columns,
    Device,
    DeviceMemory,
    Errors,
    Memory,
    OnErrors,
    Output,
    Profile,
    Quiet,
    Report,
    Scratch,
    Source,
    Target,
    Threads,
    Work,
    flag,
    option,
)
from dualign.cli.screen import on_screen
from dualign.options import POSITIONS


def align(
    source: Source,
    target: Target = None,
    output: Output = "-",
    model: Annotated[
        str | None, option("MODEL", "Align with this saved model instead of training one.", "--model")
    ] = None,
    save: Annotated[str | None, option("MODEL", "Save the model.")] = None,
    columns: Columns = None,
    tokenize: settings.Tokenize = None,
    positions: Annotated[
        str,
        option(
            "|".join(POSITIONS),
            "What links refer to: tokens, words between white space, or character offsets.",
        ),
    ] = "tokens",
    tokens: Annotated[str | None, option("FILE", "Also write the tokens, `source<TAB>target`.")] = None,
    whitespace: settings.WhiteSpace = None,
    skip_tokens: settings.SkipTokens = None,
    decoder: settings.Decoder = None,
    symmetrize: settings.Symmetrize = None,
    threshold: settings.Threshold = None,
    style: settings.Style = None,
    agreement: settings.Agreement = None,
    penalty: settings.Penalty = None,
    unsupported: settings.Unsupported = None,
    gold: settings.PinnedGold = None,
    tune: settings.Tune = None,
    tune_source: settings.TuneSource = None,
    tune_target: settings.TuneTarget = None,
    early_stop: settings.EarlyStop = False,
    probabilities: Annotated[str | None, option("FILE", "Also write links as `i-j:probability`.")] = None,
    report: Report = None,
    pair_scores: Annotated[
        str | None,
        option(
            "FILE",
            "Also write how well each pair fits: log-probability per word in both directions, "
            "mean link probability, share of unlinked words.",
            "--scores",  # `scores` is an option of the matching decoders
        ),
    ] = None,
    posteriors: Annotated[
        str | None,
        option("FILE.npz", "Also write the probability of every possible link, one matrix per pair."),
    ] = None,
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
    html_report: Annotated[str | None, option("FILE", "Also write a page about the run.")] = None,
    set_: settings.Set = None,
    resume: Annotated[
        bool, flag("--resume", "With --model: continue where the same command was stopped.")
    ] = False,
    line_buffered: Annotated[
        bool, flag("--line-buffered", "With --model: write the links of each line as soon as it is read.")
    ] = False,
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
    """Train on two parallel files and write the links of each line.

    A link is `i-j`: source word i and target word j, counted from 0. With --model nothing is
    trained: the saved model aligns the text, of any size, chunk by chunk. For a large text, train on a
    sample (dualign train --sample), then align all of it with the model.
    """
    chosen = settings.chosen(
        set_, tokenize=tokenize, whitespace=whitespace, skip_tokens=skip_tokens, model=model_type,
        decoder=decoder, symmetrize=symmetrize, threshold=threshold, style=style,
        agreement=agreement, penalty=penalty, unsupported=unsupported,
        constraint=constraint, rounds=rounds, max_length=max_length, lowercase=False if keep_case else None,
    )  # fmt: skip
    if html_report is not None and "-" in (source, target):
        raise UsageError("--html-report reads the text a second time; name files instead of -")
    outputs = jobs.Outputs(
        output, save, probabilities, report, html_report, pair_scores, posteriors, tokens,
        at_once=line_buffered, positions=positions,
    )  # fmt: skip
    tuning = settings.tuning_of(tune, tune_source, tune_target, early_stop, gold)
    if gold is not None and model is not None:
        raise UsageError("--gold is for training, but --model is given; to set the threshold, use --tune")
    if early_stop and model is not None:
        raise UsageError("--early-stop is for training, but --model is given")
    known = jobs.Knowledge(
        glossary,
        prior,
        prior_weight,
        background=background,
        times=background_ratio,
        similarity=similarity,
        similarity_weight=similarity_weight,
    )
    with (
        on_screen(
            quiet, output, threads, errors, rate=True, memory=memory, scratch=scratch, profile=profile,
            cluster=cluster, work=work, device=device, device_memory=device_memory,
        ) as run,
        jobs.plain_text(source, target, columns=columns, run=run) as text,
        plain_for_training(settings.with_ids(tuning, text.ids), known, run) as (tuning, known),
    ):  # fmt: skip
        if resume and text.copied:
            raise UsageError("--resume is for text files; write the columns of the table to files first")
        jobs.align(
            text.source, text.target, replace(outputs, ids=text.ids), load=model, tuning=tuning,
            glossary=known, resume=resume, run=run, **chosen,
        )  # fmt: skip
