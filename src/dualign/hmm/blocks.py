"""Blocks of sentence pairs as kernels see them: their cells, and the parameters that score them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part
from dualign.hmm.cells import CellBuffers, Cells, PairOffsets, find_cells, lengths_of, pairs_of
from dualign.hmm.encoding import add_unknown_cells
from dualign.hmm.jumps import Jumps
from dualign.text.corpus import UNPINNED, Bitext, Pins
from dualign.text.similarities import NO_SIMILARITIES, Similarities

if TYPE_CHECKING:
    from dualign.hmm.model import Model


class Given(NamedTuple):
    """Constraints on the posteriors of a block's pairs (see `dualign.hmm.constraints`); empty for none.

    Pair n has the constraints `pair_begin[n]` … `pair_begin[n + 1]`, constraint k the nodes `node_begin[k]` …
    `node_begin[k + 1]`; `bound` float32, `signed` uint8 (1: at most the bound; 0: equal to it). A `node`
    int32 (3) is direction, source position, target position, with a `coefficient` float32.
    """

    pair_begin: Array
    bound: Array
    signed: Array
    node_begin: Array
    node: Array
    coefficient: Array


class Warm(NamedTuple):
    """Multipliers that the projection of each pair ended with, where the next one begins; empty for none.

    Pair n has room from `begin[n]` to `begin[n + 1]`, of which `used[n]` are filled. `key` int32: the number
    of the constraint, the pair's own cells or words first, then those that are given for it.
    """

    begin: Array
    used: Array
    key: Array
    value: Array

    def of_pairs(self, begin: int, end: int) -> Warm:
        """Those of some consecutive pairs."""
        if not len(self.used):
            return self
        room = self.begin[begin : end + 1]
        part = slice(room[0], room[-1])
        return Warm(room - room[0], self.used[begin:end], self.key[part], self.value[part])


NOTHING_GIVEN = Given(
    np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.uint8),
    np.zeros(0, np.int64), np.zeros((0, 3), np.int32), np.zeros(0, np.float32),
)  # fmt: skip
COLD = Warm(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
"""No constraints; no multipliers, and no room to keep any."""

UNASKED = np.zeros((0, 2))
"""No room for likelihoods."""


class Block(NamedTuple):
    """Sentence pairs with their cells (see `dualign.hmm.cells.Cells`) and the parameters of their chains.

    `prior`, `prior_begin`: tables of position probabilities (see
    `dualign.hmm.positions`) where words choose without looking at their neighbours; empty for the HMM.
    `warm` is read and written by the projection. `likelihood` float64 (pairs, 2) is filled with each pair's
    log-likelihoods, p(target | source) first, before any projection; empty where nobody asks for them.
    `pins` are links that are known (see `dualign.hmm.emission`), `similar` what emissions are multiplied by.
    """

    pairs: PairOffsets
    first: Array
    begin: Array
    filled: Array
    position: Array
    score: Array
    null_target: Array
    null_source: Array
    weights: Array
    jumps: Jumps
    prior: Array
    prior_begin: Array
    given: Given
    warm: Warm = COLD
    likelihood: Array = UNASKED
    pins: Pins = UNPINNED
    similar: Similarities = NO_SIMILARITIES


class Batch(NamedTuple):
    """Sentence pairs of a block that are handled in step, one in each lane (see `dualign._core.lanes`).

    `pair` int64 (lanes): their numbers; only the first `used` are meant, the others repeat one of them.
    `I`, `J`: the longest source and target sentence among them.
    """

    pair: Array
    used: int
    I: int
    J: int


@part
def batch_of(W: int, order: Array, pairs: PairOffsets) -> Batch:
    """The pairs of `order`, at most W; the lanes that are left repeat the first."""
    chosen = np.full(W, order[0])
    I = J = 1
    for lane, n in enumerate(order):
        chosen[lane] = n
        length, breadth = lengths_of(n, pairs)
        I, J = max(I, length), max(J, breadth)
    return Batch(chosen, len(order), I, J)


Rules = Callable[[list[tuple[list[str], list[str]]]], Given]
"""What turns the pairs' words into constraints on their posteriors."""


def block_of(
    model: Model,
    part: Bitext,
    unknown: tuple[Sequence[str], Sequence[str]] = ((), ()),
    give: Rules | None = None,
    room_for: Callable[[int], CellBuffers] = CellBuffers.of,
) -> Block:
    """The block of a few thousand pairs; `unknown` lists the words numbered after the vocabularies' own."""
    return block_with(model, part, find_cells(part, model.lexicon, room_for), unknown, give)


def block_with(
    model: Model,
    part: Bitext,
    cells: Cells,
    unknown: tuple[Sequence[str], Sequence[str]] = ((), ()),
    give: Rules | None = None,
) -> Block:
    """`block_of`, when its cells have been found."""
    lexicon = model.lexicon
    if any(unknown):
        vocabularies = model.source, model.target
        add_unknown_cells(cells, part, lexicon, vocabularies, unknown, model.options.stem_letters)
    if model.positions is not None:
        prior, prior_begin = model.positions.tables(part)
    else:
        prior, prior_begin = np.empty(0, np.float32), np.empty(0, np.int64)
    pairs = pairs_of(part)
    given = NOTHING_GIVEN if give is None else give(words_of(model, pairs, unknown))
    return Block(
        pairs, cells.first, cells.begin, cells.filled, cells.position, cells.score,
        lexicon.null_target, lexicon.null_source, model.weights, model.jumps, prior, prior_begin, given,
        pins=part.pins, similar=part.similar,
    )  # fmt: skip


def words_of(
    model: Model, pairs: PairOffsets, unknown: tuple[Sequence[str], Sequence[str]]
) -> list[tuple[list[str], list[str]]]:
    """The words of each pair, as the model compares them."""
    sides = []
    for vocabulary, new, tokens, offsets in (
        (model.source, unknown[0], pairs.source, pairs.source_offsets),
        (model.target, unknown[1], pairs.target, pairs.target_offsets),
    ):
        words = [*vocabulary.words, *new]
        numbers = tokens.tolist()
        sides.append([[words[v] for v in numbers[a:b]] for a, b in pairwise(offsets.tolist())])
    return list(zip(*sides, strict=True))
