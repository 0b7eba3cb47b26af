"""`dualign translate train`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import Columns, Errors, OnErrors, Quiet, Threads, argument, flag, option
from dualign.cli.screen import on_screen
from dualign.text.checks import number_of


def train(
    files: Annotated[
        list[str],
        argument(
            "SOURCE [TARGET] [DIR]",
            "Two parallel files, or one with both sides; the folder to write, created if necessary.",
        ),
    ],
    output: Annotated[
        str | None, option("DIR", "The folder to write, if it is not given as an argument.", "--output -o")
    ] = None,
    columns: Columns = None,
    dev_source: Annotated[
        str | None, option("FILE", "Source text to tune on; by default some pairs are held out.")
    ] = None,
    dev_target: Annotated[str | None, option("FILE", "Target text to tune on.")] = None,
    source_trees: Annotated[
        str | None, option("FILE", "Source trees in Penn brackets, one per line, for tree-to-string rules.")
    ] = None,
    dev_source_trees: Annotated[str | None, option("FILE", "Trees of the source text to tune on.")] = None,
    links: Annotated[
        str | None, option("FILE", "Word links from any aligner; by default dualign makes them.")
    ] = None,
    lm: Annotated[
        str | None, option("FILE", "Language model in ARPA format; by default one is trained on TARGET.")
    ] = None,
    order: Annotated[int, option("N", "Longest n-gram of the language model.", min=1, max=9)] = 3,
    span: Annotated[int, option("N", "Longest phrase that a rule covers.", min=1, max=30)] = 10,
    limit: Annotated[int, option("N", "Maximum number of target sides per source side.", min=1)] = 20,
    rounds: Annotated[
        int, option("N", "Maximum number of tuning rounds; 0 keeps the initial weights.", min=0)
    ] = 8,
    tuner: Annotated[
        str,
        option("mert|pro", "Tune BLEU itself by line searches, or the ranking of translations (steadier)."),
    ] = "mert",
    seed: Annotated[int, option("N", "Seed for tuning.", min=0)] = 0,
    resume: Annotated[
        bool, flag("--resume", "Continue tuning where an interrupted training left DIR.partial.")
    ] = False,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Train a translation system on two parallel files: links, rules, language model, weights.

    Rules are those of Hiero, or with --source-trees tree-to-string rules; `decode` then takes trees, too.
    """
    if (dev_source is None) != (dev_target is None):
        raise UsageError("--dev-source and --dev-target belong together; give both or none")
    if dev_source_trees is not None and (source_trees is None or dev_source is None):
        raise UsageError("--dev-source-trees belongs to --source-trees and --dev-source; give all three")
    if source_trees is not None and dev_source is not None and dev_source_trees is None:
        raise UsageError("--source-trees with --dev-source needs --dev-source-trees, the trees of that text")
    named = [*files, *([] if output is None else [output])]
    if not 2 <= len(named) <= 3:
        raise UsageError(
            f"{number_of(len(named), 'files')} named; write SOURCE TARGET -o DIR, or BITEXT -o DIR"
        )
    source, *others, folder = named
    dev = None
    if dev_source is not None and dev_target is not None:
        dev = jobs.ParallelText(dev_source, dev_target, dev_source_trees)
    with (
        on_screen(quiet, "", threads, errors) as run,
        jobs.plain_text(source, *others, columns=columns, run=run) as text,
    ):
        jobs.train_translation(
            jobs.ParallelText(text.source, text.target, source_trees, links), folder, dev=dev, order=order,
            span=span, limit=limit, rounds=rounds, tuner=tuner, seed=seed, resume=resume, lm=lm, run=run,
        )  # fmt: skip
