"""Blocks of sentence pairs, ready for the kernels: their cells, and the model that scores them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualign.model.cells import find_cells, pairs_of
from dualign.model.emission import Block
from dualign.model.model import Model
from dualign.model.unknown import add_unknown_cells
from dualign.text.corpus import Bitext

__all__ = ["block_of"]


def block_of(
    model: Model, part: Bitext, threads: int, unknown: tuple[Sequence[str], Sequence[str]] = ((), ())
) -> Block:
    """The block of a few thousand pairs; `unknown` lists the words numbered after the vocabularies' own."""
    lexicon = model.lexicon
    cells = find_cells(part, lexicon.rows, lexicon.columns, len(model.target), threads)
    if any(unknown):
        extra = add_unknown_cells(
            cells, part, lexicon, (model.source, model.target), unknown, model.options.stem_letters
        )
    else:
        extra = lexicon.table[:0]
    if model.positions is not None:
        prior, prior_begin = model.positions.tables(part)
    else:
        prior, prior_begin = np.empty(0, np.float32), np.empty(0, np.int64)
    return Block(
        pairs_of(part), cells.first, cells.count, cells.position, cells.entry, lexicon.table, extra,
        lexicon.null_target, lexicon.null_source, model.weights, prior, prior_begin,
    )  # fmt: skip
