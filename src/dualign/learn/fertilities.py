"""Counting fertilities in the training text, with each word's most probable choice."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Block, block_of
from dualign.infer.cells import block_bounds, lengths_of
from dualign.infer.posteriors import posteriors_of_block
from dualign.model.fertility import MOST_LINKS, Fertilities
from dualign.model.model import Model
from dualign.text.bitext import Bitext


def estimate_fertilities(model: Model, bitext: Bitext, threads: int) -> Fertilities:
    """Fertilities of all words, from one pass over a bitext without empty sides; the cost of an EM round."""
    source = np.zeros((len(model.source), MOST_LINKS + 1), np.float32)
    target = np.zeros((len(model.target), MOST_LINKS + 1), np.float32)
    for begin, end in block_bounds(bitext):
        block = block_of(model, bitext.slice(begin, end), threads)
        posterior = posteriors_of_block(model.options, block, "none", threads)
        count_fertilities(block, posterior, source, target)
    return Fertilities(source, target)


@kernel()
def count_fertilities(block: Block, posterior: Array, source: Array, target: Array) -> None:
    """Add the fertilities of a block's tokens to the counts of their words, float32 (words, MOST_LINKS + 1).

    A target token's links are the source tokens that choose it, each by its largest posterior if that is
    over the one of null, and the other way round; `posterior` float32 (slots, 2) as in `expect`.
    """
    pairs, first = block.pairs, block.first
    for n in range(len(first) - 1):
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        I, J = lengths_of(n, pairs)
        P = posterior[first[n] : first[n + 1]].reshape(I, J, 2)
        chosen = np.zeros(J, np.int64)
        count_choices(P[:, :, 1], chosen)
        for j in range(J):
            target[pairs.target[t + j], min(chosen[j], MOST_LINKS)] += 1
        chosen = np.zeros(I, np.int64)
        count_choices(P[:, :, 0].T, chosen)
        for i in range(I):
            source[pairs.source[s + i], min(chosen[i], MOST_LINKS)] += 1


@kernel()
def count_choices(P: Array, chosen: Array) -> None:
    """Add 1 to the column that each row of posteriors `P` prefers, unless it prefers null."""
    for i in range(P.shape[0]):
        best, most, null = -1, np.float32(0), np.float32(1)
        for j in range(P.shape[1]):
            null -= P[i, j]
            if P[i, j] > most:
                best, most = j, P[i, j]
        if best >= 0 and most > null:
            chosen[best] += 1
