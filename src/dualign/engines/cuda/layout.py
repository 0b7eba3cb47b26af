"""Where the numbers of a pair lie while a warp handles it.

Each block of the card has room for one pair at a time: a row of `DeviceBuffers.pool`, which begins with
arrays of a number for each pair of words, followed by lines of a number or more for each word, and by the
vectors of a projection; and, in the memory that the lanes of a warp share, lines for the row of a chain that
is computed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dualign.engines.cuda.device import card_function
from dualign.hmm.cells import PairOffsets, lengths_of
from dualign.hmm.jumps import CLOSE, NEAR, REACH, Jumps
from dualign.hmm.lbfgs import MEMORY
from dualign.hmm.multipliers import BIJECTIVE, SYMMETRIC, Constraint

card_lengths_of = card_function(lengths_of)

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
    `dualign.hmm.statistics.Tally`, in several copies: `jumps` (COPIES, 2, 2, classes, 24): expected jumps,
    then foreseen ones; `chosen` (FEW_COPIES, 2, 2, classes, 10): by the words that are left, then by those
    that are reached, expected close jumps, then foreseen ones; `ends` (COPIES, 2, 3, 11): starts, rows by
    distance to the end, stops. If `agree` is 1, links count as far as both directions choose them.
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
