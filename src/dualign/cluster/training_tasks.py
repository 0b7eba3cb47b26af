"""What workers do in training. Each function returns the header and the arrays of the file that it makes.

Text, index and model are mapped from files, so that the workers of a machine share them. Counts are exact
sums (`dualign.core.kernels.exact_sums`): however a text is cut, adding up the parts gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dualign.cluster.crew import Made
from dualign.cluster.made_files import made, remembered
from dualign.core.arrays import Array
from dualign.core.errors import DataError, ModelError
from dualign.core.jit import kernel
from dualign.core.workspace import boundless
from dualign.infer.blocks import Warm
from dualign.infer.cells import pairs_of
from dualign.infer.chains import Sums
from dualign.learn.cooccurrence import Appearances, Corpus
from dualign.learn.em import warm_starts
from dualign.learn.expectation import Asked, Expectation
from dualign.learn.ibm1 import Range, kept_entries
from dualign.model.model import Model
from dualign.text.bitext import UNPINNED, Bitext, Pins, Sentences

SPARSE = 0.5
"""With a smaller share of the lexicon's entries, a file of counts lists those it has."""


class Part(NamedTuple):
    """Consecutive blocks of a text: pairs begin..end, and the bounds of each block, counted from `begin`."""

    begin: int
    end: int
    blocks: Sequence[tuple[int, int]]


def text_arrays(bitext: Bitext) -> dict[str, Array]:
    """The arrays of a text, for `text_of`."""
    arrays: dict[str, Array] = {}
    for name, side in (("source", bitext.source), ("target", bitext.target)):
        arrays |= {f"{name}_tokens": side.tokens, f"{name}_offsets": side.offsets}
    for name, array in bitext.pins._asdict().items():
        arrays[f"pins_{name}"] = array.view(np.uint8) if array.dtype == bool else array
    return arrays


@remembered
def text_of(path: str) -> Bitext:
    """The text of a training."""
    _, arrays = made(path)
    sides = [Sentences(arrays[f"{side}_tokens"], arrays[f"{side}_offsets"]) for side in ("source", "target")]
    pins = Pins(
        *(
            arrays[f"pins_{name}"].view(empty.dtype)
            for name, empty in zip(Pins._fields, UNPINNED, strict=True)
        )
    )
    return Bitext(*sides, pins=pins)


@remembered
def index_of(path: str) -> dict[str, Array]:
    """Where each source word occurs, and the sums that the first round needs."""
    return made(path)[1]


@remembered
def model_of(path: str) -> Model:
    """The model of a round."""
    try:
        return Model.load(path)
    except ModelError as error:
        raise DataError(f"{error}; repeat the same command, which makes this file again") from None


def first_rows(text: str, index: str, words: tuple[int, int], above: float, least: float) -> Made:
    """The rows of source words after the first round of Model 1, pruned."""
    bitext, arrays = text_of(text), index_of(index)
    where = Appearances(arrays["starts"], arrays["sentence"])
    corpus = Corpus(where, pairs_of(bitext), len(arrays["column_sums"]))
    found = kept_entries(corpus, Range(*words, arrays["column_sums"], above), least)
    return {}, {"rows": found.rows, "columns": found.columns, "table": found.table}


class Counting(NamedTuple):
    """The files of an E-step: the text, the model; the multipliers to begin with; whether to keep them.

    `ranges` are the bounds of the ranges of entries whose counts are merged by one task each.
    """

    text: str
    model: str
    ranges: Sequence[int]
    warm: str | None
    keep: bool


def count_part(files: Counting, part: Part, asked: Asked) -> Made:
    """The expected counts and statistics of a part of a text."""
    bitext = text_of(files.text).slice(part.begin, part.end)
    model = model_of(files.model)
    warm = _warm(bitext, part, files)
    step = Expectation(bitext, model, asked, boundless())
    step.run(part.blocks, warm)
    arrays = {"null_target": step.counts.null_target, "null_source": step.counts.null_source}
    for name in Sums._fields:
        arrays[f"sums_{name}"] = np.concatenate([getattr(sums, name) for sums in step.by_block])
    links = step.counts.links
    for n, (begin, end) in enumerate(zip(files.ranges, files.ranges[1:], strict=False)):
        # Where the directions agree, both columns are the same.
        mine = np.ascontiguousarray(links[begin:end, :1] if asked.agree else links[begin:end])
        filled = np.flatnonzero(mine[:, 0] + mine[:, -1])  # none is below 0
        if len(filled) < SPARSE * len(mine):
            arrays[f"entries_{n:04}"] = (filled + begin).astype(np.int64)
            mine = mine[filled]
        arrays[f"links_{n:04}"] = mine
    if files.keep:
        for name in ("used", "key", "value"):
            arrays[f"warm_{name}"] = np.concatenate([getattr(each, name) for each in warm])
    return {}, arrays


def _warm(bitext: Bitext, part: Part, files: Counting) -> list[Warm]:
    """The multipliers of each block, as the last round has left them."""
    if not files.keep and files.warm is None:
        return []
    warm = warm_starts(bitext, boundless(), part.blocks)
    if files.warm is not None:
        _, arrays = made(files.warm, ("warm_used", "warm_key", "warm_value"))
        for name in ("used", "key", "value"):
            begin = 0
            for each in warm:
                room = getattr(each, name)
                room[:] = arrays[f"warm_{name}"][begin : begin + len(room)]
                begin += len(room)
    return warm


def merge(counts: Sequence[str], number: int, begin: int, end: int) -> Made:
    """The counts of a range of entries, of all parts of the text."""
    total: Array | None = None
    for path in counts:
        names = f"links_{number:04}", f"entries_{number:04}"
        _, arrays = made(path, names)
        links = arrays[names[0]]
        if total is None:
            total = np.zeros((end - begin, links.shape[1]))
        if names[1] in arrays:
            add_at(arrays[names[1]], begin, links, total)
        else:
            total += links
    assert total is not None
    return {}, {"links": total}


@kernel()
def add_at(entries: Array, begin: int, links: Array, total: Array) -> None:
    """Add the counts of some entries, int64, to the totals of all entries from `begin` on."""
    for k in range(len(entries)):
        for d in range(links.shape[1]):
            total[entries[k] - begin, d] += links[k, d]
