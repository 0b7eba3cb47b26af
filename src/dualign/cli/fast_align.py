"""`dualign fast-align`."""

from __future__ import annotations

from typing import Annotated, Any

from dualign import jobs
from dualign._core.errors import DataError, UsageError
from dualign.cli.options import Threads, flag, option
from dualign.cli.screen import on_screen
from dualign.text.blocks import OR_TWO_FILES


def fast_align(
    input: Annotated[str, option("FILE", "Lines `source ||| target`.", "--input -i")],
    reverse: Annotated[
        bool, flag("--reverse -r", "Link each source word to at most one target word.")
    ] = False,
    scores: Annotated[bool, flag("--scores -s", "Write `links ||| log-probability`.")] = False,
    parameters: Annotated[
        str | None, option("MODEL", "Save the model, in dualign's format.", "--conditional_probabilities -p")
    ] = None,
    force: Annotated[
        str | None,
        option("MODEL", "Align with a model that -p saved, instead of training one.", "--force_align -f"),
    ] = None,
    p0: Annotated[float | None, option("P", "Probability that a word has no link.", "--p0 -q")] = None,
    diagonal: Annotated[bool, flag("--favor_diagonal -d", "Accepted but ignored: an HMM does this.")] = False,
    tension: Annotated[bool, flag("--optimize_tension -o", "Accepted but ignored.")] = False,
    bayes: Annotated[bool, flag("--variational_bayes -v", "Accepted but ignored.")] = False,
    no_null: Annotated[bool, flag("--no_null_word -N", "Accepted but ignored.")] = False,
    iterations: Annotated[int | None, option("N", "Accepted but ignored.", "--iterations -I")] = None,
    start_tension: Annotated[
        float | None, option("X", "Accepted but ignored.", "--diagonal_tension -T")
    ] = None,
    alpha: Annotated[float | None, option("X", "Accepted but ignored.", "--alpha -a")] = None,
    beam: Annotated[float | None, option("X", "Accepted but ignored.", "--beam_threshold -t")] = None,
    multiplier: Annotated[
        float | None, option("X", "Accepted but ignored.", "--mean_srclen_multiplier -m")
    ] = None,
    buffer: Annotated[int | None, option("N", "Accepted but ignored.", "--thread_buffer_size -b")] = None,
    threads: Threads = None,
    quiet: Annotated[bool, flag("--quiet", "Show no progress and no notes on stderr.")] = False,
) -> None:
    """Align as fast_align does, with its options.

    Writes the links of one direction to standard output. Words are what ASCII white space separates.
    fast_align's files of probabilities are neither read nor written: -p and -f save and load a model of
    dualign.
    """
    if force is not None and parameters is not None:
        raise UsageError("-f and -p exclude each other: a model is either loaded or saved")
    chosen: dict[str, Any] = {} if p0 is None else {"null": p0}
    outputs = jobs.Directions(
        None if reverse else "-", "-" if reverse else None, parameters, after_links=scores
    )
    with on_screen(quiet, "-", threads) as run:
        try:
            jobs.align_directions(input, None, outputs, load=force, run=run, whitespace="ascii", **chosen)
        except DataError as error:
            remedy = "; for two files there is `dualign align SOURCE TARGET`"
            error.args = (str(error).replace(OR_TWO_FILES, remedy),)
            raise
