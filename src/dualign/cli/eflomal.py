"""`dualign eflomal`."""

from __future__ import annotations

import os
from typing import Annotated, Any

from dualign import jobs
from dualign._core.errors import DataError, UsageError
from dualign.cli.options import Threads, flag, option
from dualign.cli.screen import on_screen


def eflomal(
    source: Annotated[str | None, option("FILE", "Source text.", "--source -s")] = None,
    target: Annotated[str | None, option("FILE", "Target text.", "--target -t")] = None,
    input: Annotated[str | None, option("FILE", "Lines `source ||| target`.", "--input -i")] = None,
    forward: Annotated[
        str | None, option("FILE", "Links; at most one per target word.", "--forward-links -f")
    ] = None,
    reverse: Annotated[
        str | None, option("FILE", "Links; at most one per source word.", "--reverse-links -r")
    ] = None,
    forward_scores: Annotated[
        str | None, option("FILE", "Cost of a target word, given the source.", "--forward-scores -F")
    ] = None,
    reverse_scores: Annotated[
        str | None, option("FILE", "Cost of a source word, given the target.", "--reverse-scores -R")
    ] = None,
    priors: Annotated[
        str | None, option("FILE", "Priors of eflomal-makepriors, or others.", "--priors -p")
    ] = None,
    model: Annotated[int, option("N", "1: IBM Model 1; 2 and 3: HMM.", "--model -m", min=1, max=3)] = 3,
    null_prior: Annotated[float | None, option("P", "Probability that a word has no link.")] = None,
    overwrite: Annotated[bool, flag("--overwrite", "Overwrite existing files.")] = False,
    length: Annotated[float | None, option("X", "Accepted but ignored.", "--length -l")] = None,
    ibm1_iters: Annotated[int | None, option("N", "Accepted but ignored.", "--ibm1-iters -1")] = None,
    hmm_iters: Annotated[int | None, option("N", "Accepted but ignored.", "--hmm-iters -2")] = None,
    fert_iters: Annotated[int | None, option("N", "Accepted but ignored.", "--fert-iters -3")] = None,
    samplers: Annotated[int | None, option("N", "Accepted but ignored.", "--n-samplers")] = None,
    score_model: Annotated[int | None, option("N", "Accepted but ignored.", "--score-model -M")] = None,
    source_prefix: Annotated[int | None, option("N", "Accepted but ignored.")] = None,
    source_suffix: Annotated[int | None, option("N", "Accepted but ignored.")] = None,
    target_prefix: Annotated[int | None, option("N", "Accepted but ignored.")] = None,
    target_suffix: Annotated[int | None, option("N", "Accepted but ignored.")] = None,
    verbose: Annotated[bool, flag("--verbose -v", "Show progress and notes on stderr.")] = False,
    debug: Annotated[bool, flag("--debug", "Accepted but ignored.")] = False,
    threads: Threads = None,
    quiet: Annotated[bool, flag("--quiet", "No progress and no notes, whatever -v says.")] = False,
) -> None:
    """Align as eflomal-align does, with its options.

    Writes the links of either direction, or of both. Words are what ASCII white space separates.
    """
    if (input is None) == (source is None or target is None) or (input and (source or target)):
        raise UsageError("name either -s and -t, or -i")
    for path in (forward, reverse):
        if path is not None and not overwrite and os.path.isfile(path):
            raise DataError(f"{path}: already exists; remove it, or use --overwrite")
    chosen: dict[str, Any] = {"model": "ibm1" if model == 1 else "hmm", "whitespace": "ascii"}
    if null_prior is not None:
        chosen["null"] = null_prior
    outputs = jobs.Directions(forward, reverse, None, forward_scores, reverse_scores)
    known = jobs.Knowledge(prior=priors)
    with on_screen(quiet or not verbose, "", threads) as run:
        jobs.align_directions(source or str(input), target, outputs, glossary=known, run=run, **chosen)
