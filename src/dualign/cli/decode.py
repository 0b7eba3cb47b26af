"""`dualign decode`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice, zip_longest
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualign.cli.exits import say
from dualign.cli.options import (
    Errors,
    OnErrors,
    Output,
    Quiet,
    Report,
    Threads,
    one_standard_input,
    separate_outputs,
)
from dualign.cli.progress import counted
from dualign.core.errors import DataError, UsageError
from dualign.model.options import USED_WITH

if TYPE_CHECKING:
    from dualign.decode.matchings.batch import Decoded, Settings

# Sentence pairs in memory at a time.
_CHUNK = 1024
_ALPHA, _CONCAVE, _LIMIT = 0.5, "both", 1


def decode(
    scores: Annotated[
        str,
        typer.Argument(
            metavar="SCORES",
            help="Matrices of link scores: an .npz file, a directory of .npy files, or lines of JSON.",
            show_default=False,
        ),
    ],
    output: Output = "-",
    decoder: Annotated[
        str, typer.Option("--decoder", metavar="submodular|matching", help="How links are chosen.")
    ] = "submodular",
    alpha: Annotated[
        float, typer.Option("--alpha", metavar="A", help="A word's links are worth their sum to this power.")
    ] = _ALPHA,
    concave: Annotated[
        str,
        typer.Option(
            "--concave", metavar="source|target|both", help="Whose further links are worth less and less."
        ),
    ] = _CONCAVE,
    source_limit: Annotated[
        int, typer.Option("--source-limit", metavar="N", help="Most links of a source word; 0 for no limit.")
    ] = _LIMIT,
    target_limit: Annotated[
        int, typer.Option("--target-limit", metavar="N", help="Most links of a target word; 0 for no limit.")
    ] = _LIMIT,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="S", help="Leave out links whose score is not over this.")
    ] = 0.0,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="FILE", help="Source text, or bitext: check the matrices' sizes."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="FILE", help="Target text: check the sizes.")
    ] = None,
    report: Report = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Choose links from matrices of scores that come from elsewhere.

    Rows are source words, columns target words; scores are not negative. Writes one line of Pharaoh links for
    each matrix.
    """
    from dualign.core.threads import available
    from dualign.decode.matchings.batch import Settings
    from dualign.decode.matchings.matching_blocks import ORIENTATION
    from dualign.text.streams import open_output

    if concave not in ORIENTATION:
        raise UsageError(f'concave="{concave}" is not one of {", ".join(ORIENTATION)}')
    if target is not None and source is None:
        raise UsageError("--target needs --source")
    for name, limit in (("--source-limit", source_limit), ("--target-limit", target_limit)):
        if limit < 0:
            raise UsageError(f"{name} {limit} must not be negative; use 0 for no limit")
    separate_outputs(output, report)
    one_standard_input(scores, source, target)
    limits = source_limit or None, target_limit or None
    settings = Settings(decoder, alpha, ORIENTATION[concave], *limits, threshold)
    changed = {
        "alpha": alpha != _ALPHA, "concave": concave != _CONCAVE,
        "source_limit": source_limit != _LIMIT, "target_limit": target_limit != _LIMIT,
    }  # fmt: skip
    for name, given in changed.items():
        if given and not quiet and decoder not in USED_WITH[name]["decoder"]:
            say(f"note: --{name.replace('_', '-')} has no effect with --decoder {decoder}")
    found = _decoded(_checked(scores, source, target, errors), settings, available(threads))
    with ExitStack() as stack:
        links = stack.enter_context(open_output(output))
        details = None if report is None else stack.enter_context(open_output(report))
        for line, (decoded, seconds) in enumerate(counted(found, "decode", output=output, quiet=quiet), 1):
            links.write(f"{decoded.alignment}\n")
            if details is not None:
                details.write(json.dumps(_record(line, decoded, seconds)) + "\n")


def _checked(scores: str, source: str | None, target: str | None, errors: str) -> Iterator[Any]:
    """The matrices, each of the size of its sentence pair if there is a text."""
    from dualign.decode.matchings.arguments import as_scores
    from dualign.text.matrices import read_matrices
    from dualign.text.pairs import read_pairs

    matrices = ((place, as_scores(matrix, place)) for place, matrix in read_matrices(scores, errors))
    if source is None:
        yield from (matrix for _, matrix in matrices)
        return
    text = source if target is None else f"{source} and {target}"
    for number, (item, pair) in enumerate(
        zip_longest(matrices, read_pairs(source, target, errors=errors)), 1
    ):
        if pair is None:
            raise DataError(f"{item[0]}: a matrix for pair {number}, but {text} ends before")
        if item is None:
            raise DataError(f"{scores}: no matrix for line {number} of {text}; give one for each pair")
        (place, matrix), lengths = item, (len(pair[0]), len(pair[1]))
        if 0 in lengths and matrix.size == 0:
            matrix = matrix.reshape(0, 0)
        elif matrix.shape != lengths:
            raise DataError(
                f"{place}: a matrix of {matrix.shape[0]} × {matrix.shape[1]} scores, but line {number} of "
                f"{text} has {lengths[0]} source and {lengths[1]} target words"
            )
        yield matrix


def _decoded(matrices: Iterator[Any], settings: Settings, threads: int) -> Iterator[tuple[Decoded, float]]:
    """Links of each matrix, and the mean time that one of its chunk took."""
    import numpy as np

    from dualign.decode.matchings.batch import decode_matrices

    # Compiles the kernels, or loads them, before the clock starts.
    list(decode_matrices([np.ones((1, 1))], settings, threads))
    while chunk := list(islice(matrices, _CHUNK)):
        began = perf_counter()
        found = list(decode_matrices(chunk, settings, threads))
        seconds = (perf_counter() - began) / len(chunk)
        yield from ((decoded, seconds) for decoded in found)


def _record(line: int, decoded: Decoded, seconds: float) -> dict[str, Any]:
    return {
        "line": line,
        "links": len(decoded.alignment),
        "score": decoded.score,
        "bound": decoded.bound,
        "certified": decoded.certified,
        "seconds": round(seconds, 9),
    }
