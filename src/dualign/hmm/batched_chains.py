"""The two chains of a batch of sentence pairs: room for them, and forward-backward of both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array, Rows
from dualign._core.jit import part
from dualign._core.lanes import Vector, width
from dualign.hmm.blocks import Batch, Block
from dualign.hmm.cells import lengths_of
from dualign.hmm.chain import STATISTICS, Chain, Edges, Passes, choose_evenly, fill_edges, forward_backward
from dualign.hmm.emission import choosers, class_of, emit, gather_gains, gather_jumps, lives, pin
from dualign.hmm.jumps import BESIDE, CLOSE, NEAR, NULL, REACH, STARTS, STOPS
from dualign.hmm.statistics import UNIT, Tally, units


class Chains(NamedTuple):
    """Scratch for one batch at a time, flat, with W lanes next to each other; direction 0 first.

    `emission` (2, cells), as `dualign.hmm.emission.emit` fills it, and `posterior` likewise: p(b_j = i) in
    `posterior[0]` (J, I, W), p(a_i = j) in `posterior[1]` (I, J, W). `null`, `live` (2, rows); the
    arrays of `edges` have a row for each direction; `mass`, `lines`, `expected`, `visits`, `close`: see
    `dualign.hmm.chain.Passes`. All float32, but `likelihood` float64 (3, W), whose last row is
    scratch, and `length` int64 (2, W), the lanes' own J and I.
    """

    emission: Rows
    posterior: Rows
    null: Rows
    live: Rows
    edges: Edges
    mass: Array
    lines: Rows
    expected: Array
    visits: Rows
    close: Rows
    likelihood: Array
    length: Array


@part
def make_chains(like: Vector, longest: int, cells: int) -> Chains:
    """Room for batches of at most `longest` words per side and `cells` cells."""
    W = width(like)
    return Chains(
        np.empty((2, cells * W), np.float32),
        np.empty((2, cells * W), np.float32),
        np.empty((2, longest * W), np.float32),
        np.empty((2, longest * W), np.float32),
        Edges(
            np.empty((2, longest * NEAR * W), np.float32),
            np.empty((2, W), np.float32),
            np.empty((2, (longest + REACH) * W), np.float32),
            np.empty((2, longest * W), np.float32),
            np.empty((2, cells * W), np.float32),
            np.empty((2, longest * W), np.float32),
            np.empty((2, longest * W), np.float32),
            np.empty((2, CLOSE * longest * W), np.float32),
            np.empty((2, CLOSE * longest * W), np.float32),
        ),
        np.empty(cells * W, np.float32),
        np.empty((4, (longest + 2 * REACH) * W), np.float32),
        np.empty(longest * STATISTICS * W, np.float32),
        np.empty((3, longest * W), np.float32),
        np.empty((2, CLOSE * longest * W), np.float32),
        np.empty((3, W)),
        np.empty((2, W), np.int64),
    )


@part(allocates=False)
def edges_of(chains: Chains, d: int) -> Edges:
    """The edges of one direction."""
    both = chains.edges
    return Edges(
        both.jumps[d], both.states[d], both.inside[d], both.far[d], both.leave[d], both.start[d],
        both.stop[d], both.gain[d], both.gain_to[d],
    )  # fmt: skip


@part(allocates=False)
def prepare(like: Vector, batch: Batch, block: Block, chains: Chains) -> None:
    """Lengths and emissions of a batch."""
    for lane in range(width(like)):
        I, J = lengths_of(batch.pair[lane], block.pairs)
        chains.length[0, lane], chains.length[1, lane] = J, I
        chains.edges.states[0, lane], chains.edges.states[1, lane] = I, J
    lives(like, chains.length[0], batch.J, chains.live[0])
    lives(like, chains.length[1], batch.I, chains.live[1])
    emit(like, batch, block, chains.live[0], chains.live[1], chains.emission, chains.null)
    pin(width(like), batch, block, chains.emission, chains.null)


@part(allocates=False)
def prepare_edges(like: Vector, batch: Batch, block: Block, chains: Chains) -> None:
    """How the chains of a batch move."""
    for d in range(2):
        R, S = (batch.J, batch.I) if d == 0 else (batch.I, batch.J)
        edges = edges_of(chains, d)
        gather_jumps(width(like), batch, d, block, edges.jumps)
        gather_gains(width(like), batch, d, block, edges.gain, edges.gain_to)
        fill_edges(like, R, S, block.weights[d], edges)


@part(allocates=False)
def run_evenly(like: Vector, batch: Batch, block: Block, chains: Chains) -> None:
    """Posteriors and likelihoods of both directions if no word looks at its neighbours, nor at positions."""
    for d in range(2):
        R, S = (batch.J, batch.I) if d == 0 else (batch.I, batch.J)
        choose_evenly(like, R, S, chain_of(chains.emission, d, block, chains), passes_of(chains, d, False))


@part(allocates=False)
def chain_of(E: Array, d: int, block: Block, chains: Chains) -> Chain:
    """The chains of direction d with emissions `E`."""
    return Chain(E[d], chains.null[d], chains.live[d], block.weights[d, NULL], edges_of(chains, d))


@part(allocates=False)
def passes_of(chains: Chains, d: int, collect: bool) -> Passes:
    """Where the posteriors of direction d go, and the statistics if asked to `collect` them."""
    return Passes(
        chains.posterior[d], chains.likelihood[d], chains.expected if collect else chains.expected[:0],
        chains.visits, chains.close, chains.mass, chains.lines, chains.likelihood[2],
    )  # fmt: skip


@part(allocates=False)
def run_chains(
    like: Vector, batch: Batch, E: Array, block: Block, chains: Chains, collect: bool, tally: Tally
) -> None:
    """Forward-backward of both directions over the emissions `E`; posteriors and likelihoods in `chains`.

    If asked to `collect`, it adds the statistics of the batch's pairs to `tally`.
    """
    for d in range(2):
        R, S = (batch.J, batch.I) if d == 0 else (batch.I, batch.J)
        forward_backward(like, R, S, chain_of(E, d, block, chains), passes_of(chains, d, collect))
        if collect:
            add_statistics(width(like), batch, d, block, chains, tally)
            add_close(width(like), batch, d, block, chains, tally)


@part(allocates=False)
def add_statistics(W: int, batch: Batch, d: int, block: Block, chains: Chains, tally: Tally) -> None:
    """Add what is known of direction d's jumps, for the words they lead from and to."""
    weight = chains.edges.jumps[d]
    for lane in range(batch.used):
        words, classes = choosers(batch.pair[lane], d, block)
        for i in range(chains.length[1 - d, lane]):
            tally.starts[d, min(i, STARTS)] += units(chains.visits[0][i * W + lane], UNIT)
            k = min(chains.length[1 - d, lane] - 1 - i, STOPS)
            tally.stops[d, 0, k] += units(chains.visits[1][i * W + lane], UNIT)
            tally.stops[d, 1, k] += units(chains.visits[2][i * W + lane], UNIT)
        for j in range(len(words) - 1):
            c, e = class_of(words[j], classes), class_of(words[j + 1], classes)
            at = j * STATISTICS * W + lane
            for k in range(NEAR + 1):
                n, m = chains.expected[at + k * W], chains.expected[at + (NEAR + 1 + k) * W]
                if k < NEAR:
                    m *= weight[(j * NEAR + k) * W + lane]
                expected, guessed = units(n, UNIT), units(m, UNIT)
                tally.jumps[d, 0, c, k] += expected
                tally.jumps[d, 1, e, k] += expected
                tally.foreseen[d, 0, c, k] += guessed
                tally.foreseen[d, 1, e, k] += guessed


@part(allocates=False)
def add_close(W: int, batch: Batch, d: int, block: Block, chains: Chains, tally: Tally) -> None:
    """Add what is known of direction d's close jumps, for the chosen words that they leave and reach."""
    S = batch.I if d == 0 else batch.J
    for lane in range(batch.used):
        words, classes = choosers(batch.pair[lane], 1 - d, block)
        for i in range(len(words)):
            c = class_of(words[i], classes)
            for there in range(max(0, i - BESIDE), min(len(words), i + BESIDE + 1)):
                k = there - i + BESIDE
                e, at = class_of(words[there], classes), (k * S + i) * W + lane
                expected = units(chains.close[0, at], UNIT)
                guessed = units(chains.close[1, at], UNIT)
                tally.chosen[d, 0, 0, c, k] += expected
                tally.chosen[d, 0, 1, e, k] += expected
                tally.chosen[d, 1, 0, c, k] += guessed
                tally.chosen[d, 1, 1, e, k] += guessed
