"""Links from matrices of scores that another program wrote: `decode`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from itertools import islice
from math import inf, isnan, nan
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import open_output
from dualign._core.progress import Clock
from dualign._core.threads import available
from dualign.decode.matchings.api import as_scores
from dualign.decode.matchings.blocks import DECODERS, ORIENTATION, Decoded, MatchingSettings, decode_matrices
from dualign.decode.similarity import CHOOSERS, own_threshold
from dualign.jobs.running import SILENT, Run, job, one_standard_input, separate_outputs
from dualign.options import USED_WITH
from dualign.text.blocks import read_pairs
from dualign.text.checks import in_step
from dualign.text.links import Alignment
from dualign.text.score_matrices import read_matrices

_CHUNK = 1024  # sentence pairs in memory at a time


@dataclass(frozen=True, slots=True)
class MatrixDecoder:
    """How links are chosen; see `dualign.decode.submodular` and `dualign.decode.similarity`."""

    decoder: str = "submodular"
    alpha: float = 0.5
    concave: str = "both"
    """Whose further links are worth less and less: `source`, `target` or `both`."""
    source_limit: int = 1
    """The most links of a source word; 0 for no limit."""
    target_limit: int = 1
    threshold: float | None = None
    """Leave out links whose score is not over this, 0 if None. For `softmax` (1e-3) it is a share of row and
    column, for `soft-union` a probability; 0 then means each pair's own (see `dualign align`)."""
    clip: bool = False
    """Whether negative scores count as 0. Otherwise argmax, itermax and softmax take them as they are, and
    the others refuse them."""

    @property
    def negative(self) -> str:
        """What becomes of negative scores: see `as_scores`."""
        return "clip" if self.clip else "keep" if self.decoder in _SIGNED else "refuse"

    def chooser(self) -> Callable[[Array], Decoded]:
        """How a matrix is decoded by one of `CHOOSERS`."""
        choose, usual = CHOOSERS[self.decoder]
        threshold = usual if self.threshold is None else self.threshold
        if not 0 <= threshold < inf:
            raise UsageError(f"threshold={threshold} must be at least 0 and finite")

        def decode(matrix: Array) -> Decoded:
            chosen = choose(matrix, threshold)
            links = tuple((int(i), int(j)) for i, j in np.argwhere(chosen))
            if self.decoder == "soft-union":
                worth = float((matrix[chosen] - (threshold or own_threshold(matrix))).sum())
                return Decoded(Alignment(links), worth, worth)
            return Decoded(Alignment(links), float(matrix[chosen].sum()), nan)

        return decode

    def settings(self) -> MatchingSettings:
        """The same for the kernels, checked."""
        if self.decoder not in DECODERS:
            names = ", ".join((*DECODERS, *CHOOSERS))
            raise UsageError(f'decoder="{self.decoder}" is not one of {names}')
        if self.concave not in ORIENTATION:
            raise UsageError(f'concave="{self.concave}" is not one of {", ".join(ORIENTATION)}')
        for name in ("source_limit", "target_limit"):
            if (limit := getattr(self, name)) < 0:
                raise UsageError(f"{name}={limit} must not be negative; use 0 for no limit")
        limits = self.source_limit or None, self.target_limit or None
        return MatchingSettings(
            self.decoder, self.alpha, ORIENTATION[self.concave], *limits, self.threshold or 0.0
        )

    def idle(self) -> list[str]:
        """Settings that were changed but have no effect with this decoder."""
        changed = (field.name for field in fields(self) if getattr(self, field.name) != field.default)
        return [
            n
            for n in changed
            if n in USED_WITH and n != "threshold" and self.decoder not in USED_WITH[n]["decoder"]
        ]


_SIGNED = ("argmax", "itermax", "softmax")


USUAL = MatrixDecoder()


@job
def decode(
    scores: str,
    output: str = "-",
    *,
    decoder: MatrixDecoder = USUAL,
    source: str | None = None,
    target: str | None = None,
    report: str | None = None,
    run: Run = SILENT,
) -> None:
    """Choose links from matrices of scores, and write a line of Pharaoh links for each.

    `scores` is an .npz file, a directory of .npy files, or lines of JSON: rows are source words, columns
    target words. With a text, the matrices must have the sizes of its sentence pairs. `report` gets a JSON
    object for each matrix.
    """
    if target is not None and source is None:
        raise UsageError("a target text is given without its source text; give both")
    matrices = _checked(scores, source, target, decoder.negative, run.errors)
    if decoder.decoder in CHOOSERS:
        found = _chosen(matrices, decoder.chooser())
    else:
        found = _decoded(matrices, decoder.settings(), available(run.threads))
    separate_outputs(output, report)
    one_standard_input(scores, source, target)
    for name in decoder.idle():
        run.note(f"note: {name}={getattr(decoder, name)} has no effect with decoder={decoder.decoder}")
    with ExitStack() as stack:
        links = stack.enter_context(open_output(output))
        details = None if report is None else stack.enter_context(open_output(report))
        for line, (decoded, seconds) in enumerate(run.counted(found, "decode"), 1):
            links.write(f"{decoded.alignment}\n")
            if details is not None:
                details.write(json.dumps(_record(line, decoded, seconds)) + "\n")


def _checked(
    scores: str, source: str | None, target: str | None, negative: str, errors: str
) -> Iterator[Array]:
    """The matrices, each of the size of its sentence pair if there is a text."""
    matrices = (
        (place, as_scores(matrix, place, negative)) for place, matrix in read_matrices(scores, errors)
    )
    if source is None:
        yield from (matrix for _, matrix in matrices)
        return
    text = source if target is None else f"{source} with {target}"
    streams = (scores, matrices), (text, read_pairs(source, target, errors=errors))
    remedy = "give one matrix for each sentence pair"
    both = in_step(*streams, unit="sentence pairs", remedy=remedy)
    for number, ((place, matrix), pair) in enumerate(both, 1):
        lengths = len(pair[0]), len(pair[1])
        if 0 in lengths and matrix.size == 0:
            matrix = matrix.reshape(0, 0)
        elif matrix.shape != lengths:
            raise DataError(
                f"{place}: a matrix of {matrix.shape[0]} × {matrix.shape[1]} scores, but line {number} of "
                f"{text} has {lengths[0]} source and {lengths[1]} target words"
            )
        yield matrix


def _chosen(matrices: Iterator[Array], decode: Callable[[Array], Decoded]) -> Iterator[tuple[Decoded, float]]:
    """Links of each matrix, and the time for it."""
    for matrix in matrices:
        clock = Clock()
        yield decode(matrix), clock.seconds


def _decoded(
    matrices: Iterator[Array], settings: MatchingSettings, threads: int
) -> Iterator[tuple[Decoded, float]]:
    """Links of each matrix, and the mean time for one matrix of its chunk."""
    # Compiles the kernels, or loads them, before the clock starts.
    list(decode_matrices([np.ones((1, 1))], settings, threads))
    while chunk := list(islice(matrices, _CHUNK)):
        clock = Clock()
        found = list(decode_matrices(chunk, settings, threads))
        seconds = clock.seconds / len(chunk)
        yield from ((decoded, seconds) for decoded in found)


def _record(line: int, decoded: Decoded, seconds: float) -> dict[str, Any]:
    return {
        "line": line,
        "links": len(decoded.alignment),
        "score": decoded.score,
        "bound": None if isnan(decoded.bound) else decoded.bound,
        "certified": decoded.certified,
        "seconds": round(seconds, 9),
    }
