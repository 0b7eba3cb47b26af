"""From lexicon entries to the emission matrices of a sentence pair's two chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.cells import Pairs
from dualign.model.chain import FLOOR, NULL_FLOOR, REACH, STATISTICS, padded

__all__ = [
    "COLD",
    "MEMORY",
    "MOST_PROJECTED",
    "Block",
    "Buffers",
    "Given",
    "Warm",
    "allocate",
    "emit",
    "shape",
]

MEMORY = 8
"""Moves that L-BFGS remembers."""

MOST_PROJECTED = 1 << 18
"""Pairs with more cells are not projected: their multipliers would take more memory than their chains."""


class Given(NamedTuple):
    """Constraints on the posteriors of a block's pairs (see `dualign.train.constraints`); empty for none.

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
    of a constraint that no cell brought along, or how many these are plus the cell, i · J + j.
    """

    begin: Array
    used: Array
    key: Array
    value: Array


COLD = Warm(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
"""No multipliers, and nowhere to keep them."""


class Block(NamedTuple):
    """Sentence pairs with their cells (see `dualign.model.cells`) and the parameters that score them.

    `filled` is the cells' `count`. Cells with an entry beyond `table` read `extra` (float32, same layout):
    words that the lexicon does not know. `prior`, `prior_begin`: tables of position probabilities (see
    `dualign.model.positions`) where words choose without looking at their neighbours; empty for the HMM.
    `warm` is read and written by the projection.
    """

    pairs: Pairs
    first: Array
    filled: Array
    position: Array
    entry: Array
    table: Array
    extra: Array
    null_target: Array
    null_source: Array
    weights: Array
    prior: Array
    prior_begin: Array
    given: Given
    warm: Warm = COLD


class Buffers(NamedTuple):
    """Scratch for one sentence pair at a time, reused; flat, cut to the pair's shape by `shape`."""

    emission: Array
    projected: Array
    work: Array
    null: Array
    lines: Array
    expected: Array
    multiplier: Array
    bound: Array
    signed: Array
    node: Array
    coefficient: Array
    exponent: Array
    listed: Array


@kernel()
def allocate(longest: int, most_cells: int, given: Given) -> Buffers:
    """Buffers for pairs of at most `longest` words a side and `most_cells` padded cells."""
    constraints = min(most_cells, MOST_PROJECTED) + 2 * longest
    nodes = 2 * min(most_cells, MOST_PROJECTED)
    most_given = most_nodes = 0
    for n in range(len(given.pair_begin) - 1):
        begin, end = given.pair_begin[n], given.pair_begin[n + 1]
        most_given = max(most_given, end - begin)
        most_nodes = max(most_nodes, given.node_begin[end] - given.node_begin[begin])
    constraints += most_given
    nodes += most_nodes
    return Buffers(
        np.zeros((2, most_cells), np.float32),
        np.zeros((2, most_cells), np.float32),
        np.zeros((6, most_cells), np.float32),
        np.zeros((2, longest), np.float32),
        np.zeros((7, padded(longest) + 2 * REACH), np.float32),
        np.zeros((STATISTICS, padded(longest)), np.float32),
        np.zeros((6 + 2 * MEMORY, constraints), np.float32),
        np.zeros(constraints, np.float32),
        np.zeros(constraints, np.uint8),
        np.zeros((3, nodes), np.int32),
        np.zeros(nodes, np.float32),
        np.zeros((2, most_cells), np.float32),
        np.zeros(most_cells, np.int32),
    )


@kernel()
def shape(flat: Array, rows: int, states: int) -> Array:
    """The beginning of a flat buffer as a matrix with padded rows."""
    P = padded(states)
    return flat[: rows * P].reshape(rows, P)


@kernel()
def emit(n: int, block: Block, E0: Array, E1: Array, null0: Array, null1: Array) -> None:
    """Fill the emissions of pair n.

    `E0` (J, padded I): p(t_j | s_i), target words choose; `E1` (I, padded J): p(s_i | t_j), source words
    choose. Every cell has at least the floor, the padding is 0.
    """
    pairs = block.pairs
    s = pairs.source_offsets[n]
    t = pairs.target_offsets[n]
    I = pairs.source_offsets[n + 1] - s
    J = pairs.target_offsets[n + 1] - t
    for j in range(J):
        row = E0[j]
        for i in range(I):
            row[i] = block.weights[0, FLOOR]
        for i in range(I, len(row)):
            row[i] = 0
        w = pairs.target[t + j]
        null0[j] = block.weights[0, NULL_FLOOR]
        if w < len(block.null_target):
            null0[j] += block.null_target[w]
    for i in range(I):
        row = E1[i]
        for j in range(J):
            row[j] = block.weights[1, FLOOR]
        for j in range(J, len(row)):
            row[j] = 0
        v = pairs.source[s + i]
        null1[i] = block.weights[1, NULL_FLOOR]
        if v < len(block.null_source):
            null1[i] += block.null_source[v]
        slot = block.first[n] + i * J
        for c in range(slot, slot + block.filled[s + i]):
            j = block.position[c]
            m = block.entry[c]
            if m < len(block.table):
                E0[j, i] += block.table[m, 0]
                row[j] += block.table[m, 1]
            else:
                m -= len(block.table)
                E0[j, i] += block.extra[m, 0]
                row[j] += block.extra[m, 1]
