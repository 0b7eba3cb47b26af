"""The two chains of sentence pairs, of several at once: emissions, jumps, and forward-backward of both.

Pairs whose links are known have chains with no other way: a word with sure links chooses among these and the
possible ones; a word with possible links alone may also choose null; a word without links has only null left.
Whatever else could be chosen gets the emission 0. That is EM with those alignments observed: posteriors and
jumps are those of the chain, given that it keeps to the known links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array, Rows
from dualign._core.jit import part
from dualign._core.lanes import Vector, load, prefetch, spread, store, width
from dualign.hmm.blocks import Batch, Block, lengths_of
from dualign.hmm.chain import STATISTICS, Chain, Edges, Passes, choose_evenly, fill_edges, forward_backward
from dualign.hmm.jumps import BESIDE, CLOSE, FLOOR, LEAST, NEAR, NULL, NULL_FLOOR, REACH, STARTS, STOPS
from dualign.hmm.statistics import UNIT, ChainStatistics, units


class Chains(NamedTuple):
    """Scratch for one batch at a time, flat, with W lanes next to each other; direction 0 first.

    `emission` (2, cells), as `emit` fills it, and `posterior` likewise: p(b_j = i) in
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
def lives(like: Vector, lengths: Array, longest: int, live: Array) -> None:
    """`live[p · W + lane]` = 1 if the lane has a position p, else 0, for p below `longest`."""
    W = width(like)
    for lane in range(W):
        for p in range(longest):
            live[p * W + lane] = np.float32(p < lengths[lane])


@part(allocates=False)
def emit(
    like: Vector, batch: Batch, block: Block, by_target: Array, by_source: Array, E: Array, null: Array
) -> None:
    """Fill the emissions of a batch, lanes next to each other.

    `E[0]` (J, I, W): p(t_j | s_i), target words choose; `E[1]` (I, J, W): p(s_i | t_j), source words choose.
    Every cell of a pair has at least the floor; beyond it there are zeros. `by_target` (J, W) and `by_source`
    (I, W) are the `lives` of both sides.
    """
    W = width(like)
    I, J = batch.I, batch.J
    E0, E1 = E[0], E[1]
    floor0, floor1 = spread(like, block.weights[0, FLOOR]), spread(like, block.weights[1, FLOOR])
    for j in range(J):
        x = load(like, by_target, j * W) * floor0
        for i in range(I):
            store(E0, (j * I + i) * W, load(like, by_source, i * W) * x)
    for i in range(I):
        x = load(like, by_source, i * W) * floor1
        for j in range(J):
            store(E1, (i * J + j) * W, load(like, by_target, j * W) * x)
    pairs, weights = block.pairs, block.weights
    position, score = block.position, block.score
    null_target, null_source = block.null_target, block.null_source
    for lane in range(W):
        n = batch.pair[lane]
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        length, breadth = lengths_of(n, pairs)
        for j in range(J):
            null[0, j * W + lane] = 0
            if j < breadth:
                w = pairs.target[t + j]
                null[0, j * W + lane] = weights[0, NULL_FLOOR]
                if w < len(null_target):
                    null[0, j * W + lane] += null_target[w]
        for i in range(I):
            null[1, i * W + lane] = 0
            if i >= length:
                continue
            v = pairs.source[s + i]
            null[1, i * W + lane] = weights[1, NULL_FLOOR]
            if v < len(null_source):
                null[1, i * W + lane] += null_source[v]
            begin = block.begin[s + i]
            soon = block.begin[min(s + i + 4, len(block.begin) - 1)]
            prefetch(position, soon)
            prefetch(score, 2 * soon)
            prefetch(score, 2 * soon + 16)
            for c in range(begin, begin + block.filled[s + i]):
                j = position[c]
                E0[(j * I + i) * W + lane] += score[c, 0]
                E1[(i * J + j) * W + lane] += score[c, 1]
    if len(block.similar.begin) > 0:
        weigh_by_similarity(W, batch, block, E)


@part(allocates=False)
def weigh_by_similarity(W: int, batch: Batch, block: Block, E: Array) -> None:
    """Multiply the emissions of a batch by what is known of the similarity of their words."""
    begin, factor = block.similar.begin, block.similar.factor
    for lane in range(W):
        n = batch.pair[lane]
        if begin[n] == begin[n + 1]:
            continue
        I, J = lengths_of(n, block.pairs)
        for i in range(I):
            for j in range(J):
                f = factor[begin[n] + i * J + j]
                E[0, (j * batch.I + i) * W + lane] *= f
                E[1, (i * batch.J + j) * W + lane] *= f


@part
def emissions(n: int, block: Block) -> tuple[Array, Array, Array, Array]:
    """Emissions of pair n alone, neither side of which is empty: `E0` (J, I), `E1` (I, J), nulls (J), (I)."""
    pairs = block.pairs
    I, J = lengths_of(n, pairs)
    one = np.ones(max(I, J), np.float32)
    E, null = np.empty((2, I * J), np.float32), np.empty((2, max(I, J)), np.float32)
    emit(np.float32(0), Batch(np.full(1, n), 1, I, J), block, one, one, E, null)
    return E[0].reshape(J, I), E[1].reshape(I, J), null[0, :J], null[1, :I]


@part(allocates=False)
def gather_jumps(W: int, batch: Batch, d: int, block: Block, jumps: Array) -> None:
    """Fill the weights of the jumps from each row of direction d's chains, flat (R, NEAR, W)."""
    weight, factor = block.jumps.weight, block.jumps.factor
    for lane in range(W):
        words, classes = choosers(batch.pair[lane], d, block)
        for j in range(batch.J if d == 0 else batch.I):
            # Rows beyond the sentence are never left; any weights will do.
            c = class_of(words[j], classes) if j < len(words) else 0
            e = class_of(words[j + 1], classes) if j + 1 < len(words) else 0
            for k in range(NEAR):
                jumps[(j * NEAR + k) * W + lane] = max(weight[d, c, k] * factor[d, e, k], np.float32(LEAST))


@part(allocates=False)
def gather_gains(W: int, batch: Batch, d: int, block: Block, gain: Array, gain_to: Array) -> None:
    """Fill the gains of direction d's chains, flat (CLOSE, S, W): see `dualign.hmm.chain.Edges`."""
    chosen = block.jumps.chosen
    S = batch.I if d == 0 else batch.J
    for k in range(CLOSE * S * W):
        gain[k] = gain_to[k] = np.float32(0)
    for lane in range(W):
        words, classes = choosers(batch.pair[lane], 1 - d, block)
        for i in range(len(words)):
            c = class_of(words[i], classes)
            for there in range(max(0, i - BESIDE), min(len(words), i + BESIDE + 1)):
                k = there - i + BESIDE
                e = class_of(words[there], classes)
                x = chosen[d, 0, c, k] * chosen[d, 1, e, k] - np.float32(1)
                gain[(k * S + i) * W + lane] = gain_to[(k * S + there) * W + lane] = x


@part(allocates=False)
def choosers(n: int, d: int, block: Block) -> tuple[Array, Array]:
    """The words of pair n that choose in direction d, and the classes of their side's jumps."""
    pairs = block.pairs
    if d == 0:
        words = pairs.target[pairs.target_offsets[n] : pairs.target_offsets[n + 1]]
        return words, block.jumps.by_target
    words = pairs.source[pairs.source_offsets[n] : pairs.source_offsets[n + 1]]
    return words, block.jumps.by_source


@part(allocates=False)
def class_of(word: int, classes: Array) -> int:
    """The class of a word's jumps."""
    return classes[word] if word < len(classes) else 0


@part
def jumps_of(n: int, d: int, block: Block) -> Array:
    """Weights of the jumps from each row of one chain of pair n, float32 (R, NEAR)."""
    pairs = block.pairs
    I, J = lengths_of(n, pairs)
    R = J if d == 0 else I
    jumps = np.empty(R * NEAR, np.float32)
    gather_jumps(1, Batch(np.full(1, n), 1, I, J), d, block, jumps)
    return jumps.reshape(R, NEAR)


@part
def close_gains(n: int, d: int, block: Block) -> Array:
    """What the chosen words of one chain of pair n add to the weights of close jumps, float32 (CLOSE, S)."""
    I, J = lengths_of(n, block.pairs)
    S = I if d == 0 else J
    gain, gain_to = np.empty(CLOSE * S, np.float32), np.empty(CLOSE * S, np.float32)
    gather_gains(1, Batch(np.full(1, n), 1, I, J), d, block, gain, gain_to)
    return gain.reshape(CLOSE, S)


@part(allocates=False)
def pin(W: int, batch: Batch, block: Block, E: Array, null: Array) -> None:
    """Change the emissions of a batch's pinned pairs."""
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
    like: Vector, batch: Batch, E: Array, block: Block, chains: Chains, collect: bool, tally: ChainStatistics
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
def add_statistics(
    W: int, batch: Batch, d: int, block: Block, chains: Chains, tally: ChainStatistics
) -> None:
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
def add_close(W: int, batch: Batch, d: int, block: Block, chains: Chains, tally: ChainStatistics) -> None:
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
