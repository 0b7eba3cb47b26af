"""Expected counts of a block of sentence pairs from its posteriors (see `dualign.hmm.posteriors`).

Counting fertilities in the training text, with each word's most probable choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.hmm.blocks import Block
from dualign.hmm.cells import Lookup, lengths_of
from dualign.hmm.fertility import MOST_LINKS, Fertilities
from dualign.hmm.model import Model
from dualign.hmm.positions import starts, table_sizes
from dualign.hmm.posteriors import Output
from dualign.hmm.statistics import rounded
from dualign.text.corpus import Bitext


class ExpectedCounts(NamedTuple):
    """Expected counts, float64: of the lexicon's entries (entries, 2), and of null by word.

    They are exact sums (`dualign._core.kernel_arrays`): whoever adds up parts of a text, in any order,
    gets the same. No count is over the number of tokens of a side; `above` is a power of two over both.
    """

    links: Array
    null_target: Array
    null_source: Array


@kernel
def add_counts(
    v0: int, v1: int, end: int, lookup: Lookup, output: Output, counts: ExpectedCounts, above: float
) -> None:
    """Add the posteriors of the cells of source words v0..v1, the last of which ends at `end`, to the counts.

    Word by word, so that the counts of a word's row stay in cache. Ranges share no count.
    """
    index, entry, share, links = lookup.words, lookup.cells.entry, lookup.cells.score, counts.links
    for c in range(index.reach[v0], end):
        m = entry[c]
        links[m, 0] += rounded(share[c, 0], above)
        links[m, 1] += rounded(share[c, 1], above)
    for v in range(v0, v1):
        null = counts.null_source[v]
        for p in range(index.starts[v], index.starts[v + 1]):
            null += rounded(output.null_source[index.where[p]], above)
        counts.null_source[v] = null


@kernel
def add_null_counts(lookup: Lookup, output: Output, counts: ExpectedCounts, above: float) -> None:
    """Add the probability that each target token is linked to nothing to the counts of their words."""
    target, null_target = lookup.pairs.target, counts.null_target
    for k in range(len(target)):
        null_target[target[k]] += rounded(output.null_target[k], above)


@kernel
def add_positions(block: Block, posterior: Array, begins: Array, counts: Array, above: float) -> None:
    """Add posteriors (slots, 2) to expected counts (float64), laid out like `Positions.values`."""
    pairs, first = block.pairs, block.first
    for n in range(len(first) - 1):
        I, J = lengths_of(n, pairs)
        forward = counts[begins[n] : begins[n] + J * (I + 1)].reshape(J, I + 1)
        begin = begins[n] + J * (I + 1)
        backward = counts[begin : begin + I * (J + 1)].reshape(I, J + 1)
        for j in range(J):
            forward[j, 0] += 1
        for i in range(I):
            backward[i, 0] += 1
            for j in range(J):
                slot = first[n] + i * J + j
                p, q = rounded(posterior[slot, 0], above), rounded(posterior[slot, 1], above)
                forward[j, i + 1] += p
                forward[j, 0] -= p
                backward[i, j + 1] += q
                backward[i, 0] -= q


def estimate_fertilities(model: Model, parts: Iterable[tuple[Array, Block]]) -> Fertilities:
    """Fertilities of all words, from the posteriors of all blocks of a bitext without empty sides."""
    source = np.zeros((len(model.source), MOST_LINKS + 1), np.float32)
    target = np.zeros((len(model.target), MOST_LINKS + 1), np.float32)
    for posterior, block in parts:
        count_fertilities(block, posterior, source, target)
    return Fertilities(source, target)


@kernel
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


@part
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


class PositionCounts:
    """Expected position counts of Model 2, for all pairs of lengths in a bitext."""

    def __init__(self, bitext: Bitext) -> None:
        lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
        self.lengths, of_pair = np.unique(lengths, axis=0, return_inverse=True)
        self.of_pair = starts(self.lengths)[of_pair.ravel()]
        self.counts = np.zeros(table_sizes(self.lengths).sum())

    def add(self, block: Block, posterior: Array, span: tuple[int, int], above: float) -> None:
        """Add the posteriors of a block, a span of the pairs of the bitext."""
        add_positions(block, posterior, self.of_pair[slice(*span)], self.counts, above)
