"""Where the numbers of a chunk's pairs lie on the card.

A thread handles a pair. The pairs of a *group*, one for each thread of a warp, are of much the same shape
and share a layout, that of their longest sentences, so that the threads of the warp read neighbours: all
arrays of a group are rows of one float32 array (rows, WARP), in which a thread has a column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.chain import STATISTICS, Edges
from dualign.infer.chains import Chains
from dualign.infer.descent import MEMORY, SCALE, Moves
from dualign.infer.multipliers import BIJECTIVE, SYMMETRIC, Dual
from dualign.model.jumps import NEAR, REACH

WARP = 32

LONGEST = 100
"""Pairs with a longer sentence are left to the processor: a thread would take as long as all others."""

EMISSION, POSTERIOR, LEAVE, MASS, CELLS = 0, 2, 4, 6, 7
"""Arrays of I · J rows at the beginning of a group; both directions where there are two."""

PROJECTED, VECTORS = 2, 8
"""Further arrays of a projection: emissions of I · J rows, vectors of one row per multiplier."""

LANE, DOUBLES, WHOLES = 10, 7, 5
"""Rows of `Dual.lane`; numbers per thread that are not float32: of `likelihood` and `value`, and of `length`
and `state`."""


class Groups(NamedTuple):
    """Which pairs are handled, and where.

    `pair` int32 (groups · WARP): the pair of each thread, −1 for none; `I`, `J` int32 (groups): the longest
    sentences; `base` int64 (groups): the first row of a group; `cell` int64 (groups): its first row of
    `Room.entry`.
    """

    pair: Any
    I: Any
    J: Any
    base: Any
    cell: Any


class Room(NamedTuple):
    """`pool` float32 (rows, WARP): see above; `entry` int32 (rows, WARP): the lexicon entries of cells i · J
    + j, or −1; `doubles` float64 (DOUBLES, threads), `wholes` int64 (WHOLES, threads)."""

    pool: Any
    entry: Any
    doubles: Any
    wholes: Any


def rows_of(I: Array, J: Array, how: int, collect: bool) -> Array:
    """How many rows groups of these shapes take, int64."""
    I, J = I.astype(np.int64), J.astype(np.int64)
    cells, longest = I * J, np.maximum(I, J)
    rows = CELLS * cells + 4 * (longest + 2 * REACH) + 2 * (longest + REACH) + (10 + 2 * NEAR) * longest + 2
    if how >= SYMMETRIC:
        size = cells if how == SYMMETRIC else I + J
        rows += PROJECTED * cells + (VECTORS + 2 * MEMORY + 1) * size + LANE + SCALE + 1
    return rows + 2 * longest * (3 + STATISTICS) if collect else rows


@kernel(allocates=False)
def lines_at(I: int, J: int, how: int) -> int:
    """Where the arrays of a group begin that are as long as its sentences."""
    begin = CELLS * I * J
    if how >= SYMMETRIC:
        size = I * J if how == SYMMETRIC else I + J
        begin += PROJECTED * I * J + (VECTORS + 2 * MEMORY + 1) * size + LANE + SCALE + 1
    return begin


@kernel(allocates=False)
def statistics_at(I: int, J: int, how: int) -> int:
    """Where a group's statistics begin: for each direction `visits` (3, L), then `expected` (L, 24)."""
    L = max(I, J)
    return lines_at(I, J, how) + 4 * (L + 2 * REACH) + 2 * (L + REACH) + (10 + 2 * NEAR) * L + 2


@kernel(allocates=False)
def two(pool: Array, row: int, size: int, lane: int) -> tuple[Array, Array]:
    """A thread's own numbers in `size` rows from `row` on, and in as many after these."""
    return pool[row : row + size, lane], pool[row + size : row + 2 * size, lane]


@kernel(allocates=False)
def eight(pool: Array, row: int, size: int, lane: int) -> tuple[Array, ...]:
    """The same, eight times."""
    first = two(pool, row, size, lane) + two(pool, row + 2 * size, size, lane)
    return first + two(pool, row + 4 * size, size, lane) + two(pool, row + 6 * size, size, lane)


@kernel(allocates=False)
def chains_at(t: int, groups: Groups, room: Room, how: int) -> Chains:
    """The chains of thread t; there is no room for statistics."""
    g, lane, pool = t // WARP, t % WARP, room.pool
    I, J = int(groups.I[g]), int(groups.J[g])
    b, c, L = groups.base[g], I * J, max(I, J)
    lines = b + lines_at(I, J, how)
    line = L + 2 * REACH
    inside = lines + 4 * line
    words = inside + 2 * (L + REACH)
    jumps = words + 10 * L
    states = jumps + 2 * NEAR * L
    none = two(pool, b, 0, lane)
    return Chains(
        two(pool, b + EMISSION * c, c, lane),
        two(pool, b + POSTERIOR * c, c, lane),
        two(pool, words, L, lane),
        two(pool, words + 2 * L, L, lane),
        Edges(
            two(pool, jumps, NEAR * L, lane),
            pool[states : states + 2, lane : lane + 1],
            two(pool, inside, L + REACH, lane),
            two(pool, words + 4 * L, L, lane),
            two(pool, b + LEAVE * c, c, lane),
            two(pool, words + 6 * L, L, lane),
            two(pool, words + 8 * L, L, lane),
        ),
        pool[b + MASS * c : b + CELLS * c, lane],
        two(pool, lines, line, lane) + two(pool, lines + 2 * line, line, lane),
        pool[b:b, lane],
        none + none,
        room.doubles[0:3, t : t + 1],
        room.wholes[0:2, t : t + 1],
    )


@kernel(allocates=False)
def dual_at(t: int, groups: Groups, room: Room, how: int) -> Dual:
    """The dual problem of thread t."""
    g, lane, pool = t // WARP, t % WARP, room.pool
    I, J = int(groups.I[g]), int(groups.J[g])
    c = I * J
    size = I + J if how == BIJECTIVE else c
    projected = groups.base[g] + CELLS * c
    vectors = projected + PROJECTED * c
    steps = vectors + VECTORS * size
    changes = steps + MEMORY * size
    fresh = changes + MEMORY * size
    small = fresh + size
    ring = small + LANE
    return Dual(
        two(pool, projected, c, lane),
        eight(pool, vectors, size, lane),
        two(pool, projected, 0, lane),
        pool[small : small + LANE, lane : lane + 1],
        room.doubles[3:7, t : t + 1],
        room.wholes[2:5, t : t + 1],
        Moves(
            eight(pool, steps, size, lane),
            eight(pool, changes, size, lane),
            pool[fresh:small, lane],
            pool[ring : ring + SCALE + 1, lane : lane + 1],
        ),
    )
