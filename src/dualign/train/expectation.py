"""Posteriors of a block of sentence pairs, both directions at once: the E-step, and the base of decoding."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.cells import Pairs
from dualign.model.chain import padded
from dualign.model.emission import MOST_PROJECTED, Block, Buffers, allocate, emit, shape
from dualign.model.positions import independent
from dualign.train.projection import BIJECTIVE, GIVEN, SYMMETRIC, Constraint, Sums, project, run_chains

__all__ = ["AGREEMENT", "KINDS", "LIKELIHOOD", "add_counts", "add_null_counts", "expect"]

LIKELIHOOD, AGREEMENT = 0, 1

KINDS = {
    "none": LIKELIHOOD,
    "agreement": AGREEMENT,
    "symmetric": SYMMETRIC,
    "bijective": BIJECTIVE,
    "given": GIVEN,
}
"""How posteriors become counts: as they are, multiplied with the other direction's, or projected."""


@kernel()
def expect(
    n0: int, n1: int, block: Block, constraint: Constraint, sums: Sums, nothing: Sums, posterior: Array
) -> None:
    """Posteriors of pairs n0..n1 into `posterior`, float32 (slots, 2); their statistics are added to `sums`.

    The cell (i, j) of pair n is at slot `first[n] + i · J + j`: p(b_j = i), then p(a_i = j). Pairs with an
    empty side are passed over. If `sums.jumps` is empty no statistics are collected.
    """
    pairs = block.pairs
    longest, most = sizes(n0, n1, pairs)
    buffers = allocate(longest, most, block.given)
    P0, P1 = buffers.work[0], buffers.work[3]
    collect = len(sums.jumps) > 0
    for n in range(n0, n1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        if I == 0 or J == 0:
            continue
        E0, E1 = shape(buffers.emission[0], J, I), shape(buffers.emission[1], I, J)
        emit(n, block, E0, E1, buffers.null[0], buffers.null[1])
        emission = buffers.emission
        independent_rows = len(block.prior) > 0
        constrained = constraint.how >= SYMMETRIC and I * J <= MOST_PROJECTED and not independent_rows
        if independent_rows:
            sums.totals[0] += run_independent(n, I, J, block, buffers)
            sums.totals[1] += 1
        if constrained:
            evaluations, divergence, likelihood = project(n, I, J, block, buffers, constraint, nothing)
            sums.totals[0] += likelihood
            sums.totals[1] += evaluations
            sums.totals[3] += divergence
            emission = buffers.projected
        if not independent_rows and (collect or not constrained):
            l0, l1 = run_chains(I, J, emission, block, buffers, sums)
            sums.totals[0] += 0.0 if constrained else l0 + l1
            sums.totals[1] += 1
        sums.totals[2] += 1
        PI, PJ = padded(I), padded(J)
        for i in range(I):
            slot = block.first[n] + i * J
            for j in range(J):
                posterior[slot + j, 0] = P0[j * PI + i]
                posterior[slot + j, 1] = P1[i * PJ + j]


@kernel()
def run_independent(n: int, I: int, J: int, block: Block, buffers: Buffers) -> float:
    """Posteriors of both directions by position tables, where `run_chains` leaves its own."""
    forward, backward = priors_of(n, I, J, block)
    E, work, null = buffers.emission, buffers.work, buffers.null
    likelihood = independent(J, I, shape(E[0], J, I), null[0], forward, shape(work[0], J, I))
    return likelihood + independent(I, J, shape(E[1], I, J), null[1], backward, shape(work[3], I, J))


@kernel()
def priors_of(n: int, I: int, J: int, block: Block) -> tuple[Array, Array]:
    """The position tables of pair n: (J, I + 1) where target words choose, (I, J + 1) for the others."""
    begin = block.prior_begin[n]
    middle = begin + J * (I + 1)
    end = middle + I * (J + 1)
    return block.prior[begin:middle].reshape(J, I + 1), block.prior[middle:end].reshape(I, J + 1)


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
def add_counts(
    v0: int, v1: int, block: Block, agree: bool, posterior: Array, counts: Array, null_source: Array
) -> None:
    """Add the posteriors of the cells of source words v0..v1 to the counts (float64) of their entries.

    If they `agree`, both directions count the product of their posteriors (Liang et al. 2006). `null_source`
    float64 (source words) gains what is left of each of their tokens. Each count gets its addends in corpus
    order whatever the ranges are, so threads may share the arrays.
    """
    pairs = block.pairs
    for n in range(len(pairs.source_offsets) - 1):
        J = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        s = pairs.source_offsets[n]
        for k in range(s, pairs.source_offsets[n + 1]):
            v = pairs.source[k]
            if v0 <= v < v1:
                slot = block.first[n] + (k - s) * J
                for c in range(slot, slot + block.filled[k]):
                    m = block.entry[c]
                    p = slot + block.position[c]
                    p0, p1 = posterior[p, 0], posterior[p, 1]
                    if agree:
                        p0 = p1 = p0 * p1
                    counts[m, 0] += p0
                    counts[m, 1] += p1
                rest = np.float32(1)
                for p in range(slot, slot + J):
                    rest -= posterior[p, 1]
                null_source[v] += max(np.float32(0), rest)


@kernel()
def add_null_counts(block: Block, posterior: Array, null_target: Array) -> None:
    """`null_target` float64 (target words) gains the probability that each token is linked to nothing."""
    pairs = block.pairs
    for n in range(len(pairs.source_offsets) - 1):
        I = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
        t = pairs.target_offsets[n]
        J = pairs.target_offsets[n + 1] - t
        for j in range(J):
            rest = np.float32(1)
            for i in range(I):
                rest -= posterior[block.first[n] + i * J + j, 0]
            null_target[pairs.target[t + j]] += max(np.float32(0), rest)
