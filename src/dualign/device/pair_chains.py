"""What a thread of the card does for its pair: the chains, projected or not, of `dualign.infer`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.device.layout import WARP, Groups, Room, chains_at, dual_at, statistics_at
from dualign.infer.blocks import Batch, Given, Warm
from dualign.infer.cells import Pairs, lengths_of
from dualign.infer.chain import STATISTICS, Passes, forward_backward
from dualign.infer.chains import Chains, Sums, chain_of, prepare_edges, run_evenly
from dualign.infer.emission import lives
from dualign.infer.multipliers import BASE, BEGUN, EVALUATIONS, VALUE, Constraint
from dualign.infer.posteriors import unlinked
from dualign.infer.projection import project
from dualign.model.jumps import NULL_FLOOR, Jumps


class Parameters(NamedTuple):
    """What the chains of a text's pairs are made of; see `dualign.infer.blocks.Block`."""

    pairs: Pairs
    null_target: Any
    null_source: Any
    weights: Any
    jumps: Jumps
    given: Given
    warm: Warm


class Work(NamedTuple):
    """All that a launch needs: `block` are `Parameters`; `collect` is 1 to have what EM needs, else 0.

    `totals` float64 (5, threads) gets the log-likelihoods of both directions, how often the chains were run,
    1, and the divergence.
    """

    groups: Groups
    room: Room
    block: Any
    constraint: Constraint
    collect: int
    totals: Any
    sums: Sums


@kernel(allocates=False)
def evenly(t: int, work: Work) -> None:
    """Posteriors by IBM Model 1 of thread t's pair, whose emissions are there."""
    if work.groups.pair[t] < 0:
        return
    like, batch = np.float32(0), batch_at(t, work.groups)
    chains = chains_at(t, work.groups, work.room, work.constraint.how)
    prepare_pair(like, batch, work.block, chains)
    run_evenly(like, batch, work.block, chains)
    keep_totals(t, chains.likelihood, work.totals)
    keep_rest(like, batch, chains)


@kernel(allocates=False)
def freely(t: int, work: Work) -> None:
    """Posteriors of thread t's pair by its chains, statistics, and what is left for null."""
    if work.groups.pair[t] < 0:
        return
    like, batch = np.float32(0), batch_at(t, work.groups)
    chains = chains_at(t, work.groups, work.room, work.constraint.how)
    prepare_pair(like, batch, work.block, chains)
    prepare_edges(like, batch, work.block, chains)
    run_collecting(like, t, batch, chains.emission, work, chains)
    keep_totals(t, chains.likelihood, work.totals)
    keep_rest(like, batch, chains)


@kernel(allocates=False)
def projected(t: int, work: Work) -> None:
    """The same, projected on the constraint."""
    if work.groups.pair[t] < 0:
        return
    like, batch, how = np.float32(0), batch_at(t, work.groups), work.constraint.how
    chains, dual = chains_at(t, work.groups, work.room, how), dual_at(t, work.groups, work.room, how)
    prepare_pair(like, batch, work.block, chains)
    prepare_edges(like, batch, work.block, chains)
    moved = project(like, batch, work.block, chains, dual, work.constraint, work.sums)
    keep_totals(t, dual.value[BASE:], work.totals)
    work.totals[2, t] = dual.state[EVALUATIONS, 0] + work.collect
    work.totals[4, t] = dual.value[BEGUN, 0] - dual.value[VALUE, 0]
    if work.collect:
        run_collecting(like, t, batch, dual.projected if moved else chains.emission, work, chains)
        keep_rest(like, batch, chains)


@kernel()
def expect_evenly(t: int, work: Work) -> None:
    """`evenly`, kept on disk by itself when it is compiled for the processor, to simulate a card."""
    evenly(t, work)


@kernel()
def expect_freely(t: int, work: Work) -> None:
    """`freely`, likewise."""
    freely(t, work)


@kernel()
def expect_projected(t: int, work: Work) -> None:
    """`projected`, likewise."""
    projected(t, work)


@kernel(allocates=False)
def batch_at(t: int, groups: Groups) -> Batch:
    """The pair of thread t alone, in the layout of its group."""
    g = t // WARP
    return Batch(groups.pair[t : t + 1], 1, int(groups.I[g]), int(groups.J[g]))


@kernel(allocates=False)
def keep_rest(like: np.float32, batch: Batch, chains: Chains) -> None:
    """What is left for null of each row, where it can be read by others."""
    unlinked(like, batch.J, batch.I, chains.posterior[0], chains.lines[0])
    unlinked(like, batch.I, batch.J, chains.posterior[1], chains.lines[1])


@kernel(allocates=False)
def keep_totals(t: int, likelihood: Array, totals: Array) -> None:
    """Write down the likelihoods of a pair, and that its chains were run once."""
    totals[0, t], totals[1, t] = likelihood[0, 0], likelihood[1, 0]
    totals[2, t] = totals[3, t] = 1
    totals[4, t] = 0


@kernel(allocates=False)
def prepare_pair(like: np.float32, batch: Batch, block: Any, chains: Chains) -> None:
    """Lengths and null emissions of a pair; see `dualign.infer.chains.prepare`."""
    n, pairs, weights = batch.pair[0], block.pairs, block.weights
    I, J = lengths_of(n, pairs)
    chains.length[0, 0], chains.length[1, 0] = J, I
    chains.edges.states[0, 0], chains.edges.states[1, 0] = np.float32(I), np.float32(J)
    lives(like, chains.length[0], batch.J, chains.live[0])
    lives(like, chains.length[1], batch.I, chains.live[1])
    s, t = pairs.source_offsets[n], pairs.target_offsets[n]
    for j in range(batch.J):
        x = np.float32(0)
        if j < J:
            x = weights[0, NULL_FLOOR] + block.null_target[pairs.target[t + j]]
        chains.null[0][j] = x
    for i in range(batch.I):
        x = np.float32(0)
        if i < I:
            x = weights[1, NULL_FLOOR] + block.null_source[pairs.source[s + i]]
        chains.null[1][i] = x


@kernel(allocates=False)
def run_collecting(like: np.float32, t: int, batch: Batch, E: Array, work: Work, chains: Chains) -> None:
    """Forward-backward of both directions; if asked for, with statistics, to be added up by others."""
    g, lane, pool = t // WARP, t % WARP, work.room.pool
    L = max(batch.I, batch.J)
    at = work.groups.base[g] + statistics_at(batch.I, batch.J, work.constraint.how)
    for d in range(2):
        R, S = (batch.J, batch.I) if d == 0 else (batch.I, batch.J)
        seen = at + d * L * (3 + STATISTICS)
        own = L if work.collect else 0
        passes = Passes(
            chains.posterior[d],
            chains.likelihood[d],
            pool[seen + 3 * L : seen + 3 * L + STATISTICS * own, lane],
            (
                pool[seen : seen + own, lane],
                pool[seen + L : seen + L + own, lane],
                pool[seen + 2 * L : seen + 2 * L + own, lane],
            ),
            chains.mass,
            chains.lines,
            chains.likelihood[2],
        )
        forward_backward(like, R, S, chain_of(E, d, work.block, chains), passes)
