"""Links of a block of sentence pairs from their posteriors: the kernel behind every word-alignment decoder.

All decoders share the link probability: the mean of the two directions' posteriors, after projection if one
is asked for. They choose links by it:

- soft union: the links whose probability is over the threshold; the choice that maximises
  Σ (probability − threshold), hence exact;
- posterior: in each direction the links whose own posterior is over the threshold; then symmetrised;
- viterbi: each direction's most probable path; then symmetrised.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.symmetrize import symmetrize_links
from dualign.model.cells import Pairs
from dualign.model.emission import Block, allocate, emit, shape
from dualign.model.viterbi import viterbi
from dualign.train.expectation import sizes

__all__ = ["Found", "choose_links", "mark_over_threshold", "mark_paths"]


class Found(NamedTuple):
    """Links of the block's pairs: those of pair n are at `room[n]` … `room[n] + number[n]`.

    `source`, `target` int32; `probability` float32; `number` int32 (pairs); `score` float64 (pairs), the
    value of the choice: Σ (probability − threshold), that of both directions' own posteriors, or the two
    paths' log-probability. Each is the maximum over all choices.
    """

    room: Array
    number: Array
    source: Array
    target: Array
    probability: Array
    score: Array


@kernel()
def mark_paths(n0: int, n1: int, block: Block, marks: Array, score: Array) -> None:
    """Mark each direction's most probable path in `marks`, uint8 (slots, 2); `score[n]`: log-probability."""
    pairs = block.pairs
    longest, most = sizes(n0, n1, pairs)
    buffers = allocate(longest, most, block.given)
    path = np.empty(longest, np.int32)
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        if I == 0 or J == 0:
            continue
        E0, E1 = shape(buffers.emission[0], J, I), shape(buffers.emission[1], I, J)
        emit(n, block, E0, E1, buffers.null[0], buffers.null[1])
        back = np.empty((2, max(I, J), max(I, J)), np.int32)
        score[n] = viterbi(J, I, E0, buffers.null[0], block.weights[0], buffers.lines, back, path)
        for j in range(J):
            if path[j] >= 0:
                marks[block.first[n] + path[j] * J + j, 0] = 1
        score[n] += viterbi(I, J, E1, buffers.null[1], block.weights[1], buffers.lines, back, path)
        for i in range(I):
            if path[i] >= 0:
                marks[block.first[n] + i * J + path[i], 1] = 1


@kernel()
def mark_over_threshold(
    n0: int, n1: int, first: Array, soft: bool, threshold: float, posterior: Array, marks: Array, score: Array
) -> None:
    """Mark the links over the threshold: by their mean (`soft`), or each direction by its own posterior."""
    for n in range(n0, n1):
        value = 0.0
        for c in range(first[n], first[n + 1]):
            p, q = posterior[c, 0], posterior[c, 1]
            if soft:
                p = q = np.float32(0.5) * (p + q)
            if p > threshold:
                marks[c, 0] = 1
                value += p - threshold
            if q > threshold:
                marks[c, 1] = 1
                value += 0.0 if soft else q - threshold
        score[n] = value


@kernel()
def choose_links(
    n0: int, n1: int, pairs: Pairs, first: Array, method: int, posterior: Array, marks: Array, found: Found
) -> None:
    """Symmetrise the marks of both directions by `method`, and list the links with their probabilities."""
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        forward = np.empty((I, J), np.uint8)
        backward = np.empty((I, J), np.uint8)
        chosen = np.empty((I, J), np.uint8)
        for i in range(I):
            for j in range(J):
                forward[i, j] = marks[first[n] + i * J + j, 0]
                backward[i, j] = marks[first[n] + i * J + j, 1]
        symmetrize_links(forward, backward, method, chosen)
        c = found.room[n]
        for i in range(I):
            for j in range(J):
                if chosen[i, j]:
                    found.source[c] = i
                    found.target[c] = j
                    slot = first[n] + i * J + j
                    mean = np.float32(0.5) * (posterior[slot, 0] + posterior[slot, 1])
                    found.probability[c] = min(mean, np.float32(1))  # rounding may exceed it
                    c += 1
        found.number[n] = c - found.room[n]
