"""`dualign decode`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.beside import plain_beside
from dualign.cli.options import Errors, OnErrors, Output, Quiet, Report, Threads, argument, flag, option
from dualign.cli.screen import on_screen


def decode(
    scores: Annotated[
        str, argument("SCORES", "Matrices of link scores: .npz, a directory of .npy files, or lines of JSON.")
    ],
    output: Output = "-",
    decoder: Annotated[
        str, option("submodular|matching|argmax|itermax|softmax|soft-union", "How links are chosen.")
    ] = "submodular",
    alpha: Annotated[float, option("A", "A word's links are worth their sum to this power.")] = 0.5,
    concave: Annotated[str, option("source|target|both", "Whose further links are worth less.")] = "both",
    source_limit: Annotated[
        int, option("N", "Maximum number of links of a source word; 0 for no limit.")
    ] = 1,
    target_limit: Annotated[
        int, option("N", "Maximum number of links of a target word; 0 for no limit.")
    ] = 1,
    threshold: Annotated[
        float | None,
        option("S", "Keep links that score more than this; default 0, softmax 0.001, soft-union by pair."),
    ] = None,
    clip: Annotated[bool, flag("--clip", "Count negative scores, such as cosines, as 0.")] = False,
    source: Annotated[str | None, option("FILE", "Source text, or bitext: check the sizes.")] = None,
    target: Annotated[str | None, option("FILE", "Target text: check the sizes.")] = None,
    report: Report = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Choose links from matrices of scores that another program wrote.

    Rows are source words, columns target words; scores are not negative, except for argmax, itermax and
    softmax. Writes one line of Pharaoh links for each matrix.
    """
    if target is not None and source is None:
        raise UsageError("--target needs --source")
    how = jobs.MatrixDecoder(decoder, alpha, concave, source_limit, target_limit, threshold, clip)
    with on_screen(quiet, output, threads, errors) as run, plain_beside(source, target, run) as (left, right):
        jobs.decode(scores, output, decoder=how, source=left, target=right, report=report, run=run)
