"""`dualign decode`: links from matrices of scores that another program wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from itertools import islice
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from dualign._core.errors import DataError
from dualign._core.fields import OptionRecord, arg, bundle, idle, opt
from dualign._core.files.streams import open_output
from dualign._core.progress import Clock
from dualign.commands.bundles import Computing, check_beside, output, report_file
from dualign.commands.command import Command
from dualign.commands.console import Reporter

if TYPE_CHECKING:
    from dualign._core.arrays import Array
    from dualign.decode.matchings.blocks import Decoded

CHUNK = 1024
"""Sentence pairs in memory at a time."""

EXACT = ("submodular", "matching")
SIGNED = ("argmax", "itermax", "softmax")
"""Decoders that take negative scores as they are."""

_SUBMODULAR = {"decoder": ("submodular",)}


@dataclass(frozen=True, slots=True)
class MatrixDecoder(OptionRecord):
    """How links are chosen; see `dualign.decode.submodular` and `dualign.decode.similarity`."""

    decoder: str = opt("submodular", "How links are chosen.", choices=(*EXACT, *SIGNED, "soft-union"))
    alpha: float = opt(
        0.5, "A word's links are worth their sum to this power.",
        metavar="A", over=0, most=1, used_with=_SUBMODULAR,
    )  # fmt: skip
    concave: str = opt(
        "both", "Whose further links are worth less.",
        choices=("source", "target", "both"), used_with=_SUBMODULAR,
    )  # fmt: skip
    source_limit: int = opt(
        1, "Maximum number of links of a source word; 0 for no limit.",
        metavar="N", least=0, used_with=_SUBMODULAR,
    )  # fmt: skip
    target_limit: int = opt(
        1, "Maximum number of links of a target word; 0 for no limit.",
        metavar="N", least=0, used_with=_SUBMODULAR,
    )  # fmt: skip
    threshold: float | None = opt(
        None, "Keep links that score more than this; default 0, softmax 0.001, soft-union by pair.",
        metavar="S", least=0,
    )  # fmt: skip
    clip: bool = opt(False, "Count negative scores, such as cosines, as 0.")

    @property
    def negative(self) -> str:
        """What becomes of negative scores: see `dualign.decode.matchings.api.as_scores`."""
        return "clip" if self.clip else "keep" if self.decoder in SIGNED else "refuse"

    def settings(self) -> dict[str, Any]:
        """Return the keywords of `decode_matrices`."""
        from dualign.decode.matchings.blocks import ORIENTATION

        limits = {"row_limit": self.source_limit or None, "column_limit": self.target_limit or None}
        how = {"decoder": self.decoder, "alpha": self.alpha, "concave": ORIENTATION[self.concave]}
        return how | limits | {"threshold": self.threshold or 0.0}


@dataclass(frozen=True)
class Decode(Command):
    """Choose links from matrices of scores that another program wrote.

    Rows are source words, columns target words; scores are not negative, except for argmax, itermax and
    softmax. Writes one line of Pharaoh links for each matrix.
    """

    scores: str = arg(
        "Matrices of link scores: .npz, a directory of .npy files, or lines of JSON.", file="in"
    )
    output: str = output()
    how: MatrixDecoder = bundle(MatrixDecoder)
    source: str | None = opt(None, "Source text, or bitext: check the sizes.", metavar="FILE", file="in")
    target: str | None = opt(None, "Target text: check the sizes.", metavar="FILE", file="in", needs="source")
    report: str | None = report_file()
    computing: Computing = bundle(Computing, "threads errors")

    def run(self, tell: Reporter) -> None:
        """Write a line of links for each matrix; the report gets a JSON object for each."""
        from dualign._core.threads import available

        changed = [f.name for f in fields(self.how) if getattr(self.how, f.name) != f.default]
        for name, other in idle(self.how, changed):
            both = {name: getattr(self.how, name), other: getattr(self.how, other)}
            tell.note(f"note: {{{name}=}} has no effect with {{{other}=}}", **both)
        check_beside(self.source, self.target)
        with open_output(self.output) as links, ExitStack() as stack:
            details = None if self.report is None else stack.enter_context(open_output(self.report))
            matrices = self._matrices()
            if self.how.decoder in EXACT:
                found = _decoded(matrices, self.how.settings(), available(self.computing.threads))
            else:
                found = _chosen(matrices, self.how)
            for line, (decoded, seconds) in enumerate(tell.counted(found, "decode"), 1):
                links.write(f"{decoded.alignment}\n")
                if details is not None:
                    details.write(json.dumps(_record(line, decoded, seconds)) + "\n")

    def _matrices(self) -> Iterator[Array]:
        """Return the matrices, each of the size of its sentence pair if there is a text."""
        from dualign.decode.matchings.api import as_scores
        from dualign.text.blocks import read_pairs
        from dualign.text.checks import in_step
        from dualign.text.score_matrices import read_matrices

        errors = self.computing.errors
        matrices = (
            (place, as_scores(matrix, place, self.how.negative))
            for place, matrix in read_matrices(self.scores, errors)
        )
        if self.source is None:
            yield from (matrix for _, matrix in matrices)
            return
        text = " with ".join(filter(None, (self.source, self.target)))
        streams = (self.scores, matrices), (text, read_pairs(self.source, self.target, errors=errors))
        both = in_step(*streams, unit="sentence pairs", remedy="give one matrix for each sentence pair")
        for number, ((place, matrix), pair) in enumerate(both, 1):
            lengths = len(pair[0]), len(pair[1])
            if 0 in lengths and matrix.size == 0:
                matrix = matrix.reshape(0, 0)
            elif matrix.shape != lengths:
                raise DataError(
                    f"a matrix of {matrix.shape[0]} × {matrix.shape[1]} scores, but line {number} of {text} "
                    f"has {lengths[0]} source and {lengths[1]} target words",
                    place=place,
                )
            yield matrix


def _chosen(matrices: Iterator[Array], how: MatrixDecoder) -> Iterator[tuple[Decoded, float]]:
    """Return links of each matrix by one of `CHOOSERS`, and the time for it."""
    import numpy as np

    from dualign.decode.matchings.blocks import Decoded
    from dualign.decode.similarity import CHOOSERS, own_threshold
    from dualign.text.links import Alignment

    choose, usual = CHOOSERS[how.decoder]
    threshold = usual if how.threshold is None else how.threshold
    for matrix in matrices:
        clock = Clock()
        chosen = choose(matrix, threshold)
        worth, bound = float(matrix[chosen].sum()), nan
        if how.decoder == "soft-union":
            worth = bound = float((matrix[chosen] - (threshold or own_threshold(matrix))).sum())
        links = tuple((i, j) for i, j in np.argwhere(chosen).tolist())
        yield Decoded(Alignment(links), worth, bound), clock.seconds


def _decoded(
    matrices: Iterator[Array], settings: dict[str, Any], threads: int
) -> Iterator[tuple[Decoded, float]]:
    """Return links of each matrix, and the mean time for one matrix of its chunk."""
    import numpy as np

    from dualign.decode.matchings.blocks import decode_matrices

    # Compiles the kernels, or loads them, before the clock starts.
    list(decode_matrices([np.ones((1, 1))], threads, **settings))
    while chunk := list(islice(matrices, CHUNK)):
        clock = Clock()
        found = list(decode_matrices(chunk, threads, **settings))
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
