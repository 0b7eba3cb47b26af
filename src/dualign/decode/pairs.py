"""Links and probabilities of a block of sentence pairs: the kernel behind every word-alignment decoder.

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
from dualign.model.chain import padded
from dualign.model.emission import MOST_PROJECTED, Block, Buffers, allocate, emit, shape
from dualign.model.viterbi import viterbi
from dualign.train.expectation import list_cells, sizes
from dualign.train.projection import posteriors, project_symmetric

__all__ = ["POSTERIOR", "SOFT_UNION", "VITERBI", "Found", "Settings", "find_links", "link_posteriors"]

SOFT_UNION, POSTERIOR, VITERBI = 0, 1, 2


class Settings(NamedTuple):
    """How to decode: decoder and symmetrisation by number, threshold, and the projection's settings."""

    decoder: int
    method: int
    threshold: float
    project: bool
    slack: float
    tolerance: float
    evaluations: int


class Found(NamedTuple):
    """Links of the block's pairs: those of pair n are at `room[n]` … `room[n] + count[n]`.

    `source`, `target` int32; `probability` float32; `count` int32 (pairs); `score` float64 (pairs): the value
    of the choice: Σ (probability − threshold), that of both directions' own posteriors, or the two paths'
    log-probability. Each is the maximum over all choices.
    """

    room: Array
    count: Array
    source: Array
    target: Array
    probability: Array
    score: Array


@kernel()
def pair_posteriors(n: int, I: int, J: int, block: Block, settings: Settings, buffers: Buffers) -> None:
    """Posteriors of pair n into `buffers.work[0]` (target chooses) and `[3]` (source chooses)."""
    E0, E1 = shape(buffers.emission[0], J, I), shape(buffers.emission[1], I, J)
    emit(n, block, E0, E1, buffers.null[0], buffers.null[1])
    if settings.project and I * J <= MOST_PROJECTED:
        cells = list_cells(n, I, J, block, buffers.active)
        project_symmetric(
            I, J, cells, block, buffers, settings.slack, settings.tolerance, settings.evaluations, False
        )
    else:
        posteriors(I, J, E0, E1, block, buffers)


@kernel()
def find_links(n0: int, n1: int, block: Block, settings: Settings, found: Found) -> None:
    """Decode pairs n0..n1; an empty side gives no links."""
    pairs = block.pairs
    longest, most = sizes(n0, n1, pairs)
    buffers = allocate(longest, most)
    P0, P1 = buffers.work[0], buffers.work[3]
    threshold = settings.threshold
    path = np.empty(longest, np.int32)
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        found.count[n] = 0
        found.score[n] = 0.0
        if I == 0 or J == 0:
            continue
        PI, PJ = padded(I), padded(J)
        pair_posteriors(n, I, J, block, settings, buffers)
        chosen = np.zeros((3, I, J), np.uint8)
        if settings.decoder == VITERBI:
            back = np.empty((2, max(I, J), max(I, J)), np.int32)
            E0, E1 = shape(buffers.emission[0], J, I), shape(buffers.emission[1], I, J)
            score = viterbi(J, I, E0, buffers.null[0], block.weights[0], buffers.lines, back, path)
            for j in range(J):
                if path[j] >= 0:
                    chosen[0, path[j], j] = 1
            score += viterbi(I, J, E1, buffers.null[1], block.weights[1], buffers.lines, back, path)
            for i in range(I):
                if path[i] >= 0:
                    chosen[1, i, path[i]] = 1
            found.score[n] = score
        else:
            for i in range(I):
                for j in range(J):
                    p, q = P0[j * PI + i], P1[i * PJ + j]
                    if settings.decoder == SOFT_UNION:
                        chosen[2, i, j] = np.float32(0.5) * (p + q) > threshold
                    else:
                        chosen[0, i, j] = p > threshold
                        chosen[1, i, j] = q > threshold
                        found.score[n] += max(0.0, p - threshold) + max(0.0, q - threshold)
        if settings.decoder != SOFT_UNION:
            symmetrize_links(chosen[0], chosen[1], settings.method, chosen[2])
        c = found.room[n]
        for i in range(I):
            for j in range(J):
                if chosen[2, i, j]:
                    p = np.float32(0.5) * (P0[j * PI + i] + P1[i * PJ + j])
                    found.source[c] = i
                    found.target[c] = j
                    found.probability[c] = p
                    c += 1
                    if settings.decoder == SOFT_UNION:
                        found.score[n] += p - threshold
        found.count[n] = c - found.room[n]


@kernel()
def link_posteriors(n0: int, n1: int, block: Block, settings: Settings, out: Array) -> None:
    """Posteriors of pairs n0..n1 into `out` float32 (slots, 2), pair n from slot `first[n]` on, row-major."""
    pairs = block.pairs
    longest, most = sizes(n0, n1, pairs)
    buffers = allocate(longest, most)
    P0, P1 = buffers.work[0], buffers.work[3]
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        if I == 0 or J == 0:
            continue
        pair_posteriors(n, I, J, block, settings, buffers)
        for i in range(I):
            for j in range(J):
                out[block.first[n] + i * J + j, 0] = P0[j * padded(I) + i]
                out[block.first[n] + i * J + j, 1] = P1[i * padded(J) + j]
