"""Expected counts of a block of sentence pairs from its posteriors (see `dualign.infer.posteriors`)."""

from __future__ import annotations

from typing import NamedTuple

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.kernels.exact_sums import rounded
from dualign.infer.blocks import Block
from dualign.infer.cells import Lookup, lengths_of
from dualign.infer.posteriors import Output


class Counts(NamedTuple):
    """Expected counts, float64: of the lexicon's entries (entries, 2), and of null by word.

    They are exact sums (`dualign.core.kernels.exact_sums`): whoever adds up parts of a text, in any order,
    gets the same. No count is over the number of tokens of a side; `above` is a power of two over both.
    """

    links: Array
    null_target: Array
    null_source: Array


@kernel()
def add_counts(
    v0: int, v1: int, end: int, lookup: Lookup, output: Output, counts: Counts, above: float
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


@kernel()
def add_null_counts(lookup: Lookup, output: Output, counts: Counts, above: float) -> None:
    """Add the probability that each target token is linked to nothing to the counts of their words."""
    target, null_target = lookup.pairs.target, counts.null_target
    for k in range(len(target)):
        null_target[target[k]] += rounded(output.null_target[k], above)


@kernel()
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
