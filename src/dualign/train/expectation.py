"""The E-step of the HMM over a block of sentence pairs, both directions at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.cells import Pairs
from dualign.model.chain import REACH, STARTS, STATISTICS, forward_backward, padded
from dualign.model.emission import MOST_PROJECTED, Block, Buffers, allocate, emit, shape
from dualign.train.projection import project_symmetric

__all__ = ["AGREEMENT", "LIKELIHOOD", "SYMMETRIC", "Expected", "add_counts", "expect", "list_cells", "sizes"]

LIKELIHOOD, AGREEMENT, SYMMETRIC = 0, 1, 2
"""How posteriors become counts: as they are, multiplied with the other direction's, or projected."""


class Expected(NamedTuple):
    """What the E-step adds up, direction 0 first.

    `jumps` float64 (2, 11): expected jumps of −5..5; `departures` float64 (2, L + 1, L): departures from
    position i of a chain with S states; `starts` float64 (2, 11): first positions 0..9 and beyond;
    `totals` float64 (3): log-likelihood, evaluations of the chains, pairs.
    `posterior` float32 (slots, 2): link posteriors of the block's cells; `null_target`, `null_source`
    float32 (tokens): probability that the token is linked to nothing.
    """

    jumps: Array
    departures: Array
    starts: Array
    totals: Array
    posterior: Array
    null_target: Array
    null_source: Array


@kernel()
def sizes(n0: int, n1: int, pairs: Pairs) -> tuple[int, int]:
    """Longest sentence and most padded cells among pairs n0..n1."""
    longest = 1
    most = 1
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        longest = max(longest, I, J)
        most = max(most, I * padded(J), J * padded(I))
    return longest, most


@kernel()
def list_cells(n: int, I: int, J: int, block: Block, active: Array) -> int:
    """Flat places of the pair's cells in E0 (`active[0]`) and E1 (`active[1]`); how many."""
    cells = 0
    token = block.pairs.source_offsets[n]
    PI, PJ = padded(I), padded(J)
    for i in range(I):
        slot = block.first[n] + i * J
        for c in range(slot, slot + block.count[token + i]):
            j = block.position[c]
            active[0, cells] = j * PI + i
            active[1, cells] = i * PJ + j
            cells += 1
    return cells


@kernel()
def statistics(
    R: int, S: int, d: int, E: Array, block: Block, buffers: Buffers, out: Expected
) -> float:
    """Posteriors of direction d into `work[3 d]`, and its jumps, departures and start into `out`."""
    w = buffers.work
    expected = buffers.expected
    for k in range(STATISTICS):
        for i in range(padded(S)):
            expected[k, i] = 0
    likelihood = forward_backward(
        R, S, E, buffers.null[d], block.weights[d],
        shape(w[3 * d], R, S), shape(w[3 * d + 1], R, S), shape(w[3 * d + 2], R, S), buffers.lines, expected,
    )  # fmt: skip
    for i in range(S):
        out.departures[d, S, i] += expected[0, i]
        out.starts[d, min(i, STARTS)] += expected[STATISTICS - 1, i]
    for k in range(2 * REACH + 1):
        z = np.float32(0)
        for i in range(S):
            z += expected[1 + k, i]
        out.jumps[d, k] += z * block.weights[d, k]
    return likelihood


@kernel()
def expect(
    n0: int, n1: int, block: Block, how: int, slack: float, tolerance: float, limit: int, mixture: bool,
    out: Expected,
) -> None:  # fmt: skip
    """Posteriors and statistics of pairs n0..n1, none of them empty."""
    pairs = block.pairs
    longest, most = sizes(n0, n1, pairs)
    buffers = allocate(longest, most)
    P0, P1 = buffers.work[0], buffers.work[3]
    for n in range(n0, n1):
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        I = pairs.source_offsets[n + 1] - s
        J = pairs.target_offsets[n + 1] - t
        PI, PJ = padded(I), padded(J)
        E0, E1 = shape(buffers.emission[0], J, I), shape(buffers.emission[1], I, J)
        emit(n, block, E0, E1, buffers.null[0], buffers.null[1])
        if how == SYMMETRIC and I * J <= MOST_PROJECTED:
            cells = list_cells(n, I, J, block, buffers.active)
            out.totals[1] += project_symmetric(I, J, cells, block, buffers, slack, tolerance, limit, mixture)
            E0, E1 = shape(buffers.projected[0], J, I), shape(buffers.projected[1], I, J)
        out.totals[0] += statistics(J, I, 0, E0, block, buffers, out)
        out.totals[0] += statistics(I, J, 1, E1, block, buffers, out)
        out.totals[1] += 1
        out.totals[2] += 1
        for j in range(J):
            z = np.float32(0)
            for i in range(I):
                z += P0[j * PI + i]
            out.null_target[t + j] = max(np.float32(0), np.float32(1) - z)
        for i in range(I):
            z = np.float32(0)
            for j in range(J):
                z += P1[i * PJ + j]
            out.null_source[s + i] = max(np.float32(0), np.float32(1) - z)
            slot = block.first[n] + i * J
            for c in range(slot, slot + block.count[s + i]):
                j = block.position[c]
                p, q = P0[j * PI + i], P1[i * PJ + j]
                if how == AGREEMENT:
                    p *= q
                    q = p
                out.posterior[c, 0] = p
                out.posterior[c, 1] = q


@kernel()
def add_counts(
    v0: int, v1: int, pairs: Pairs, first: Array, count: Array, entry: Array, posterior: Array, counts: Array
) -> None:
    """Add the posteriors of the cells of source words v0..v1 to the counts (float64) of their entries.

    Each entry gets its addends in corpus order whatever the ranges are, so threads may share `counts`.
    """
    for n in range(len(pairs.source_offsets) - 1):
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        s = pairs.source_offsets[n]
        for k in range(s, pairs.source_offsets[n + 1]):
            v = pairs.source[k]
            if v0 <= v < v1:
                slot = first[n] + (k - s) * J
                for c in range(slot, slot + count[k]):
                    counts[entry[c], 0] += posterior[c, 0]
                    counts[entry[c], 1] += posterior[c, 1]
