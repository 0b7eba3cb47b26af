"""Blocks of sentence pairs, ready for the kernels: their cells, and the model that scores them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from dualign.infer.cells import find_cells, pairs_of
from dualign.infer.emission import Block, Given
from dualign.infer.unknown import add_unknown_cells
from dualign.model.model import Model
from dualign.text.bitext import Bitext

NOTHING_GIVEN = Given(
    np.zeros(0, np.int64),
    np.zeros(0, np.float32),
    np.zeros(0, np.uint8),
    np.zeros(0, np.int64),
    np.zeros((0, 3), np.int32),
    np.zeros(0, np.float32),
)


def block_of(
    model: Model,
    part: Bitext,
    threads: int,
    unknown: tuple[Sequence[str], Sequence[str]] = ((), ()),
    give: Callable[[list[tuple[list[str], list[str]]]], Given] | None = None,
) -> Block:
    """The block of a few thousand pairs; `unknown` lists the words numbered after the vocabularies' own.

    `give`, if there is one, turns the pairs' words into constraints on their posteriors.
    """
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
    given = NOTHING_GIVEN if give is None else give(words_of(model, part, unknown))
    return Block(
        pairs_of(part), cells.first, cells.count, cells.position, cells.entry, lexicon.table, extra,
        lexicon.null_target, lexicon.null_source, model.weights, model.jumps, prior, prior_begin,
        given,
    )  # fmt: skip


def words_of(
    model: Model, part: Bitext, unknown: tuple[Sequence[str], Sequence[str]]
) -> list[tuple[list[str], list[str]]]:
    """The words of each pair, as the model compares them."""
    sides = []
    for vocabulary, new, sentences in zip(
        (model.source, model.target), unknown, (part.source, part.target), strict=True
    ):
        words = [*vocabulary.words, *new]
        tokens, offsets = sentences.tokens.tolist(), sentences.offsets.tolist()
        sides.append([[words[v] for v in tokens[a:b]] for a, b in pairwise(offsets)])
    return list(zip(*sides, strict=True))
