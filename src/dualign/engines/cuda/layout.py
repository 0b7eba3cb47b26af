"""A pair while a warp handles it: where its numbers lie, and those that its chains are made of.

A block of the card is one warp. Its threads are called lanes; what is written to memory by one lane can be
read by the others after they have met.

Each block of the card has room for one pair at a time: a row of `DeviceBuffers.pool`, which begins with
arrays of a number for each pair of words, followed by lines of a number or more for each word, and by the
vectors of a projection; and, in the memory that the lanes of a warp share, lines for the row of a chain that
is computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.engines.cuda.device import card_function, cuda, simulated, simulated_block
from dualign.hmm import jumps as weighed
from dualign.hmm.batched_chains import class_of
from dualign.hmm.blocks import PairOffsets, lengths_of
from dualign.hmm.jumps import BESIDE, CLOSE, FLOOR, LEAST, NEAR, NULL_FLOOR, REACH, STARTS, Jumps
from dualign.hmm.lbfgs import MEMORY
from dualign.hmm.multipliers import BIJECTIVE, SYMMETRIC, Constraint

LANES = 4 if simulated() else 32

at = np.uint64
"""Of a place in an array: numba looks at each index whether it is below 0, and then counts from the end; not
at those without a sign. That would take longer than all else."""

if simulated():
    # numba's simulator has neither shuffles nor warps; few lanes, because each is a thread of Python's.

    def meet() -> None:
        """Wait for the other lanes."""
        simulated_block().syncthreads()

    def total(x: Any) -> Any:
        """The sum of the lanes' numbers, added in the same order for each lane."""
        context = simulated_block()
        shared = context.shared.array(LANES, "f8")
        shared[context.threadIdx.x] = x
        context.syncthreads()
        found = type(x)(shared.sum())
        context.syncthreads()
        return found

    def add_to(array: Any, place: Any, x: Any) -> Any:
        """Add to a number of an array, to which others add as well; what it was before."""
        return simulated_block().atomic.add(array, place, x)

else:

    @card_function
    def meet() -> None:
        """Wait for the other lanes."""
        cuda.syncwarp()

    @card_function
    def total(x: Any) -> Any:
        """The sum of the lanes' numbers, added in the same order for each lane."""
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 16)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 8)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 4)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 2)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)
        return x

    @card_function
    def add_to(array: Any, place: Any, x: Any) -> Any:
        """Add to a number of an array, to which others add as well; what it was before."""
        return cuda.atomic.add(array, place, x)


@card_function
def wrapped(i: int, j: int, J: int) -> tuple[int, int]:
    """Row and column of a cell whose column may be beyond the last."""
    while j >= J:
        i += 1
        j -= J
    return i, j


card_lengths_of, card_class_of = card_function(lengths_of), card_function(class_of)

NO_WORD, FIRST = weighed.NULL, weighed.START
"""Places of the null probability and of the first start weight among a direction's weights."""

LONGEST = 128
"""Pairs with a longer sentence are left to the processor: shared lines have room for no more words."""

EMISSION, POSTERIOR, LEAVE, MASS, PROJECTED, CELLS = 0, 2, 4, 6, 7, 9
"""Arrays of I · J numbers at the beginning; both directions where there are two."""

NULL, START, JUMPS, CHOSEN = 0, 2, 4, 4 + 2 * NEAR
VISITS = CHOSEN + 2 * CLOSE
SHORT = VISITS + 3
LINES = SHORT + 2 * CLOSE
"""Lines of max(I, J) numbers, as they are counted there; both directions where there are two.

JUMPS (R, NEAR): w(d) − 1 of each row, but w(d) of close jumps. CHOSEN (CLOSE, S): s(i, i + d) of the close
jumps that leave each state, 1 if they lead outside. It has no gaps: what lies beyond the end of one jump's
numbers belongs to another jump, and may be read where it is multiplied by 0. VISITS and SHORT have one
direction at a time; see `visits` and `close` of `dualign.hmm.chain.Passes`. SHORT is without s, which does
not differ from row to row.
"""

POINT, GRADIENT, TRIAL, TRIAL_GRADIENT, DIRECTION, DIAGONAL, FRESH, STEPS = range(8)
CHANGES = STEPS + MEMORY
VECTORS = CHANGES + MEMORY
"""Vectors with a number for each multiplier: see `dualign.hmm.lbfgs`."""

OLD, NEW, HERE, AHEAD, RATE, STOPPED, SCALES, KNOWN, SHARED = range(9)
"""Shared lines: two for what goes from row to row, with margins; four of numbers by state; the scale of each
row; statistics of a row's jumps."""

WIDTH = LONGEST + 2 * REACH

EMPTY = -1
"""No entry."""

WORDS = 256
"""More than a sentence has."""


class Parameters(NamedTuple):
    """What the chains of a text's pairs are made of; see `dualign.hmm.blocks.Block`."""

    pairs: PairOffsets
    null_target: Any
    null_source: Any
    weights: Any
    jumps: Jumps


class Index(NamedTuple):
    """Lexicon entries by their words: a hash table, `slot` int64 (2^k, 2): v · words + w or EMPTY, and the
    entry; `shift` 64 − k; `words`: target words. `table` float32 (entries, 2): see `Lexicon`."""

    slot: Any
    shift: int
    words: int
    table: Any


class DeviceBuffers(NamedTuple):
    """Of each block: `pool` float32 (blocks, numbers): see above; `entry` int32 (blocks, cells): the lexicon
    entries of cells i · J + j, or −1. Of each pair: `totals` float64 (pairs, 5): the log-likelihoods of both
    directions; then for EM, how often the chains were run, 1, and the divergence; otherwise where the pair's
    links begin, how many it has, and Σ of all probabilities."""

    pool: Any
    entry: Any
    totals: Any


class Counted(NamedTuple):
    """What EM needs, in whole numbers, int64: adding these gives the same in any order.

    Expected counts: `links` (entries, 2), `null_target`, `null_source` by word. Statistics of the chains, see
    `dualign.hmm.statistics.ChainStatistics`, in several copies: `jumps` (COPIES, 2, 2, classes, 24): expected
    jumps, then foreseen ones; `chosen` (FEW_COPIES, 2, 2, classes, 10): by the words that are left, then by
    those that are reached, expected close jumps, then foreseen ones; `ends` (COPIES, 2, 3, 11): starts, rows
    by distance to the end, stops. If `agree` is 1, links count as far as both directions choose them.
    """

    links: Any
    null_target: Any
    null_source: Any
    jumps: Any
    chosen: Any
    ends: Any
    agree: int


class DeviceLinks(NamedTuple):
    """Links with a mean posterior over `least`: `links` float32 (…, 2): the probability, and WORDS times the
    source word plus the target word. Those of a pair follow one another, in order: see `DeviceBuffers`."""

    links: Any
    least: float


class LaunchArguments(NamedTuple):
    """All that a launch needs: `order` int32: the pairs, by number; `turn` int64 (2): how many of them are
    taken, and how many links there are; `collect`: 1 to have what EM needs in `counted`, else 0 to have links
    in `found`."""

    order: Any
    turn: Any
    block: Parameters
    lookup: Index
    room: DeviceBuffers
    constraint: Constraint
    collect: int
    counted: Counted
    found: DeviceLinks


class LineSearchState(NamedTuple):
    """Numbers of a pair's search, each lane has its own: see `dualign.hmm.multipliers.Dual`."""

    lane: Any
    value: Any
    state: Any
    likelihood: Any
    ring: Any


class WarpState(NamedTuple):
    """A pair, number `n`, with I and J words, whose tokens begin at `s` and `t`; and where its numbers are.

    `c` = I · J; `lines` and `vectors`: where these begin in `pool`; `size`: multipliers; `line` float32
    (SHARED, WIDTH), shared.
    """

    n: int
    I: int
    J: int
    s: int
    t: int
    c: int
    lines: int
    vectors: int
    size: int
    pool: Any
    entry: Any
    line: Any
    search: LineSearchState


def numbers_of(longest: int, cells: int, how: int) -> int:
    """How many numbers of `DeviceBuffers.pool` a pair takes, by its cells and the longer side's words."""
    vectors = 0
    if how >= SYMMETRIC:
        vectors = VECTORS * (2 * longest if how == BIJECTIVE else cells)
    return CELLS * cells + LINES * longest + vectors


@card_function
def own_of(n: int, block: int, work: LaunchArguments, line: Any, search: LineSearchState) -> WarpState:
    """Pair n, in the room of a block."""
    pairs = work.block.pairs
    I, J = card_lengths_of(n, pairs)
    c = I * J
    lines = CELLS * c
    return WarpState(
        n, I, J, pairs.source_offsets[n], pairs.target_offsets[n], c,
        lines, lines + LINES * max(I, J), I + J if work.constraint.how == BIJECTIVE else c,
        work.room.pool[block], work.room.entry[block], line, search,
    )  # fmt: skip


@card_function
def sides(d: int, own: WarpState) -> tuple[int, int]:
    """Rows and states of direction d."""
    return (own.J, own.I) if d == 0 else (own.I, own.J)


@card_function
def line_at(k: int, d: int, own: WarpState) -> int:
    """Where one of the lines of direction d begins."""
    return own.lines + (k + d) * max(own.I, own.J)


@card_function
def place_of_key(key: Any, shift: int) -> Any:
    """Where to look for a key first: Knuth's multiplicative hashing."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


@card_function
def entry_of(v: int, w: int, index: Index) -> Any:
    """The lexicon entry of two words, or EMPTY."""
    slot = index.slot
    key = np.int64(v) * index.words + w
    k = place_of_key(key, index.shift)
    while slot[k, 0] != EMPTY and slot[k, 0] != key:
        k = k + 1 if k + 1 < slot.shape[0] else 0
    return slot[k, 1] if slot[k, 0] == key else np.int64(EMPTY)


@card_function
def word_at(d: int, j: int, own: WarpState, work: LaunchArguments) -> int:
    """The word of row j of direction d."""
    pairs = work.block.pairs
    return pairs.target[own.t + j] if d == 0 else pairs.source[own.s + j]


@card_function
def class_at(d: int, j: int, own: WarpState, work: LaunchArguments) -> int:
    """The class of that word's jumps."""
    jumps = work.block.jumps
    return card_class_of(word_at(d, j, own, work), jumps.by_target if d == 0 else jumps.by_source)


@card_function
def jump_weight(d: int, j: int, k: int, own: WarpState, work: LaunchArguments) -> np.float32:
    """The weight of jump k from row j to the next, if there is one; see `dualign.hmm.jumps`."""
    jumps, R = work.block.jumps, sides(d, own)[0]
    e = class_at(d, j + 1, own, work) if j + 1 < R else 0
    w = jumps.weight[d, class_at(d, j, own, work), k] * jumps.factor[d, e, k]
    return max(w, np.float32(LEAST))


@card_function
def fill_emissions(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """The emissions and lexicon entries of all cells; see `dualign.hmm.batched_chains.emit`."""
    pool, index, pairs, weights = own.pool, work.lookup, work.block.pairs, work.block.weights
    there, back = EMISSION * own.c, (EMISSION + 1) * own.c
    i, j = wrapped(0, lane, own.J)
    for k in range(lane, own.c, LANES):
        x, y = weights[0, FLOOR], weights[1, FLOOR]
        m = entry_of(pairs.source[own.s + i], pairs.target[own.t + j], index)
        if m != EMPTY:
            x += index.table[m, 0]
            y += index.table[m, 1]
        pool[at(there + j * own.I + i)] = x
        pool[at(back + k)] = y
        own.entry[at(k)] = m
        i, j = wrapped(i, j + LANES, own.J)
    for d in range(2):
        R, _ = sides(d, own)
        null = line_at(NULL, d, own)
        nulls = work.block.null_target if d == 0 else work.block.null_source
        for j in range(lane, R, LANES):
            pool[at(null + j)] = weights[d, NULL_FLOOR] + nulls[word_at(d, j, own, work)]


@card_function
def fill_chosen(lane: int, d: int, own: WarpState, work: LaunchArguments) -> None:
    """The factors of close jumps, of the words that they leave and reach; see `dualign.hmm.jumps`."""
    chosen, factor = work.block.jumps.chosen, line_at(CHOSEN, d * CLOSE, own)
    _, S = sides(d, own)
    c, i = wrapped(0, lane, S)
    for k in range(lane, CLOSE * S, LANES):
        there, x = i + c - BESIDE, np.float32(1)
        if there >= 0 and there < S:
            left, reached = class_at(1 - d, i, own, work), class_at(1 - d, there, own, work)
            x = chosen[d, 0, left, c] * chosen[d, 1, reached, c]
        own.pool[at(factor + k)] = x
        c, i = wrapped(c, i + LANES, S)


@card_function
def fill_edges(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """How the chains move: where they start, how much more near jumps weigh than far ones, which weigh 1,
    the factors of close ones, and the share of the jumps that leave a state for each other."""
    pool, one = own.pool, np.float32(1)
    for d in range(2):
        R, S = sides(d, own)
        weights = work.block.weights[d]
        jumps, factor = line_at(JUMPS, d * NEAR, own), line_at(CHOSEN, d * CLOSE, own)
        for j in range(lane, R, LANES):
            for k in range(NEAR):
                w = jump_weight(d, j, k, own, work)
                pool[at(jumps + j * NEAR + k)] = w if abs(k - REACH) <= BESIDE else w - one
        fill_chosen(lane, d, own, work)
        z = np.float32(0)
        for i in range(S):
            z += weights[FIRST + min(i, STARTS)]
        for i in range(lane, S, LANES):
            pool[at(line_at(START, d, own) + i)] = weights[FIRST + min(i, STARTS)] / z
        meet()
        leave, word = (LEAVE + d) * own.c, one - weights[NO_WORD]
        j, i = wrapped(0, lane, S)
        for k in range(lane, own.c, LANES):
            z = np.float32(S)
            for e in range(max(0, REACH - i), min(NEAR, S + REACH - i)):
                w, c = pool[at(jumps + j * NEAR + e)], e - REACH + BESIDE
                z += w * pool[at(factor + c * S + i)] - one if c >= 0 and c < CLOSE else w
            pool[at(leave + k)] = word / z
            j, i = wrapped(j, i + LANES, S)
