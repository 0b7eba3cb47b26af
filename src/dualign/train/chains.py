"""The two chains of a batch of sentence pairs: room for them, and forward-backward of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.core.lanes import Vector, width
from dualign.model.chain import FAR, REACH, STARTS, STATISTICS, forward_backward, transition
from dualign.model.emission import Batch, Block, emit, lives

__all__ = ["Chains", "Sums", "make_chains", "prepare", "run_chains"]


class Sums(NamedTuple):
    """What the chains of many pairs add up, direction 0 first; empty arrays where nothing is wanted.

    `jumps` float64 (2, 11): expected jumps of −5..5; `departures` float64 (2, L + 1, L): departures from
    position i of a chain with S states; `starts` float64 (2, 11): first positions 0..9 and beyond;
    `totals` float64 (4): log-likelihood, evaluations of the chains, pairs, and Σ D(0) − D(λ), the divergence
    KL(q ‖ p) of the projections when ε = 0.
    """

    jumps: Array
    departures: Array
    starts: Array
    totals: Array


class Chains(NamedTuple):
    """Scratch for one batch at a time, flat, with W lanes next to each other; direction 0 first.

    `emission` (2, cells), as `dualign.model.emission.emit` fills it, and `posterior` likewise: p(b_j = i) in
    `posterior[0]` (J, I, W), p(a_i = j) in `posterior[1]` (I, J, W). `null`, `live` (2, rows); `leave`,
    `start` (2, states); `mass`, `lines`, `expected`: see `dualign.model.chain`. All float32, but `likelihood`
    float64 (3, W), whose last row is scratch, and `length` int64 (2, W), the lanes' own J and I.
    """

    emission: Array
    posterior: Array
    null: Array
    live: Array
    leave: Array
    start: Array
    mass: Array
    lines: Array
    expected: Array
    likelihood: Array
    length: Array


@kernel()
def make_chains(like: Vector, longest: int, cells: int) -> Chains:
    """Room for batches with at most `longest` words a side and so many cells."""
    W = width(like)
    return Chains(
        np.empty((2, cells * W), np.float32),
        np.empty((2, cells * W), np.float32),
        np.empty((2, longest * W), np.float32),
        np.empty((2, longest * W), np.float32),
        np.empty((2, longest * W), np.float32),
        np.empty((2, longest * W), np.float32),
        np.empty(cells * W, np.float32),
        np.empty((4, (longest + 2 * REACH) * W), np.float32),
        np.empty((STATISTICS, longest * W), np.float32),
        np.empty((3, W)),
        np.empty((2, W), np.int64),
    )


@kernel(allocates=False)
def prepare(like: Vector, batch: Batch, block: Block, chains: Chains) -> None:
    """Emissions and edges of a batch."""
    W = width(like)
    pairs = block.pairs
    for lane in range(W):
        n = batch.pair[lane]
        chains.length[0, lane] = pairs.target_offsets[n + 1] - pairs.target_offsets[n]
        chains.length[1, lane] = pairs.source_offsets[n + 1] - pairs.source_offsets[n]
    lives(like, chains.length[0], batch.J, chains.live[0])
    lives(like, chains.length[1], batch.I, chains.live[1])
    emit(like, batch, block, chains.live[0], chains.live[1], chains.emission, chains.null)
    for d in range(2):
        S = batch.I if d == 0 else batch.J
        leave, start = chains.leave[d], chains.start[d]
        leave[: S * W] = 0
        start[: S * W] = 0
        for lane in range(W):
            transition(chains.length[1 - d, lane], block.weights[d], W, leave[lane:], start[lane:])


@kernel(allocates=False)
def run_chains(
    like: Vector, batch: Batch, E: Array, weights: Array, chains: Chains, collect: bool, sums: Sums
) -> None:
    """Forward-backward of both directions over the emissions `E`; posteriors and likelihoods in `chains`.

    If asked to `collect`, it adds the statistics of the batch's pairs to `sums`.
    """
    W = width(like)
    expected = chains.expected if collect else chains.expected[:0]
    for d in range(2):
        R, S = (batch.J, batch.I) if d == 0 else (batch.I, batch.J)
        for k in range(len(expected)):
            expected[k, : S * W] = 0
        forward_backward(
            like, R, S, E[d], chains.null[d], chains.live[d], weights[d], chains.leave[d],
            chains.start[d], chains.posterior[d], chains.mass, chains.lines, chains.likelihood[2],
            chains.likelihood[d], expected,
        )  # fmt: skip
        if collect:
            for lane in range(batch.used):
                states = chains.length[1 - d, lane]
                for i in range(states):
                    sums.departures[d, states, i] += expected[0, i * W + lane]
                    sums.starts[d, min(i, STARTS)] += expected[STATISTICS - 1, i * W + lane]
                for k in range(FAR):
                    sums.jumps[d, k] += expected[1 + k, lane] * weights[d, k]
