"""Sentence pairs whose links are known: their chains have no other way.

A word with sure links chooses among these and the possible ones; a word with possible links alone may
also choose null; a word without links has only null left. Whatever else could be chosen gets the emission 0.
That is EM with those alignments observed: posteriors and jumps are those of the chain, given that it keeps
to the known links.
"""

from __future__ import annotations

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Batch, Block
from dualign.infer.cells import lengths_of


@kernel(allocates=False)
def pin(W: int, batch: Batch, block: Block, E: Array, null: Array) -> None:
    """Change the emissions of a batch's pinned pairs, as `dualign.infer.emission.emit` has filled them."""
    pins = block.pins
    if len(pins.pinned) == 0:
        return
    for lane in range(W):
        n = batch.pair[lane]
        if not pins.pinned[n]:
            continue
        # Emissions are positive: a minus marks those that stay.
        for k in range(pins.begin[n], pins.begin[n + 1]):
            i, j = pins.source[k], pins.target[k]
            there, back = (j * batch.I + i) * W + lane, (i * batch.J + j) * W + lane
            E[0, there] = -abs(E[0, there])
            E[1, back] = -abs(E[1, back])
            if pins.sure[k]:
                null[0, j * W + lane] = 0
                null[1, i * W + lane] = 0
        I, J = lengths_of(n, block.pairs)
        for i in range(I):
            for j in range(J):
                there, back = (j * batch.I + i) * W + lane, (i * batch.J + j) * W + lane
                E[0, there] = max(-E[0, there], 0)
                E[1, back] = max(-E[1, back], 0)
