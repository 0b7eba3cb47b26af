"""The kernels of the card: finding cells, the chains, sums.

Sums are of whole numbers, each addend rounded to a fraction of a fixed size: adding whole numbers gives the
same in any order, so that threads may add to one number at the same time and the result is the same bits.

A launch over the cells of groups has a block for each group, WARP threads wide: those of a row of threads
handle the pairs of the group, and the rows of threads share the words of the source side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.core.cards import card_kernel, cuda
from dualign.core.jit import kernel
from dualign.device.layout import EMISSION, POSTERIOR, WARP, lines_at, statistics_at
from dualign.device.pair_chains import Work, expect_evenly, expect_freely, expect_projected
from dualign.infer.cells import lengths_of
from dualign.infer.chain import STATISTICS
from dualign.infer.emission import class_of
from dualign.model.jumps import FLOOR, REACH, STARTS, STOPS

COUNT_UNIT, STATISTIC_UNIT = 2.0**34, 2.0**28
"""Expected counts, and statistics of the chains, are added up in these fractions of 1."""

COPIES = 64
"""Arrays of statistics, of which a group uses one: fewer threads add to the same number."""

EMPTY = -1


class Index(NamedTuple):
    """Lexicon entries by their words: a hash table, `slot` int64 (2^k, 2): v · words + w or EMPTY, and the
    entry; `shift` 64 − k; `words`: target words. `table` float32 (entries, 2): see `Lexicon`."""

    slot: Any
    shift: int
    words: int
    table: Any


class Counted(NamedTuple):
    """Expected counts, int64, in COUNT_UNITs: `links` (entries, 2), `null_target`, `null_source` by word."""

    links: Any
    null_target: Any
    null_source: Any


class Candidates(NamedTuple):
    """Links that come into question: those of pair n are at `begin[n]` …; `number` int32 (pairs): how many;
    `total` float64 (pairs): Σ of all probabilities; `source`, `target` int16, `probability` float32."""

    begin: Any
    number: Any
    total: Any
    source: Any
    target: Any
    probability: Any


@kernel(allocates=False)
def place_of_key(key: int, shift: int) -> Any:
    """Where to look for a key first: Knuth's multiplicative hashing."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))


@card_kernel
def insert_entries(rows: Any, columns: Any, index: Index) -> None:
    """Put the entries of each row of a lexicon, a block for each, into the empty table."""
    v, slot = cuda.blockIdx.x, index.slot
    for m in range(rows[v] + cuda.threadIdx.x, rows[v + 1], cuda.blockDim.x):
        key = v * index.words + columns[m]
        k = place_of_key(key, index.shift)
        while cuda.atomic.cas(slot, (k, 0), EMPTY, key) != EMPTY:
            k = k + 1 if k + 1 < slot.shape[0] else 0
        slot[k, 1] = m


@card_kernel
def fill_emissions(work: Work, index: Index) -> None:
    """The emissions and lexicon entries of all cells of the groups; see `dualign.infer.emission.emit`."""
    g, lane = cuda.blockIdx.x, cuda.threadIdx.x
    groups, pairs, pool, slot = work.groups, work.block.pairs, work.room.pool, index.slot
    I, J, n = groups.I[g], groups.J[g], groups.pair[g * WARP + lane]
    there, cell = groups.base[g] + EMISSION * I * J, groups.cell[g]
    back = there + I * J
    length = breadth = s = t = 0
    if n >= 0:
        length, breadth = lengths_of(n, pairs)
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
    for i in range(cuda.threadIdx.y, I, cuda.blockDim.y):
        for j in range(J):
            x = y = np.float32(0)
            m = np.int64(EMPTY)
            if i < length and j < breadth:
                x, y = work.block.weights[0, FLOOR], work.block.weights[1, FLOOR]
                key = np.int64(pairs.source[s + i]) * index.words + pairs.target[t + j]
                k = place_of_key(key, index.shift)
                while slot[k, 0] != EMPTY and slot[k, 0] != key:
                    k = k + 1 if k + 1 < slot.shape[0] else 0
                if slot[k, 0] == key:
                    m = slot[k, 1]
                    x += index.table[m, 0]
                    y += index.table[m, 1]
            pool[there + j * I + i, lane] = x
            pool[back + i * J + j, lane] = y
            work.room.entry[cell + i * J + j, lane] = m


@card_kernel
def expect_all_evenly(work: Work) -> None:
    """`expect_evenly`, a thread for each pair."""
    t = cuda.grid(1)
    if t < work.groups.pair.shape[0]:
        expect_evenly(t, work)


@card_kernel
def expect_all_freely(work: Work) -> None:
    """`expect_freely`, a thread for each pair."""
    t = cuda.grid(1)
    if t < work.groups.pair.shape[0]:
        expect_freely(t, work)


@card_kernel
def expect_all_projected(work: Work) -> None:
    """`expect_projected`, a thread for each pair."""
    t = cuda.grid(1)
    if t < work.groups.pair.shape[0]:
        expect_projected(t, work)


@card_kernel
def add_counts(work: Work, agree: int, counted: Counted) -> None:
    """Add the posteriors of the groups' cells to the counts of their entries, and what is left to null's."""
    g, lane = cuda.blockIdx.x, cuda.threadIdx.x
    groups, pairs, pool = work.groups, work.block.pairs, work.room.pool
    I, J, n = groups.I[g], groups.J[g], groups.pair[g * WARP + lane]
    if n < 0:
        return
    there, cell = groups.base[g] + POSTERIOR * I * J, groups.cell[g]
    back = there + I * J
    length, breadth = lengths_of(n, pairs)
    s, t = pairs.source_offsets[n], pairs.target_offsets[n]
    lines = groups.base[g] + lines_at(I, J, work.constraint.how)
    line = max(I, J) + 2 * REACH
    for i in range(cuda.threadIdx.y, length, cuda.blockDim.y):
        for j in range(breadth):
            m = work.room.entry[cell + i * J + j, lane]
            if m != EMPTY:
                p, q = pool[there + j * I + i, lane], pool[back + i * J + j, lane]
                if agree:
                    p *= q
                x = np.int64(p * COUNT_UNIT + 0.5)
                if x != 0:
                    cuda.atomic.add(counted.links, (m, 0), x)
                x = np.int64(q * COUNT_UNIT + 0.5)
                if x != 0 and not agree:
                    cuda.atomic.add(counted.links, (m, 1), x)
        x = np.int64(pool[lines + line + i, lane] * COUNT_UNIT + 0.5)
        cuda.atomic.add(counted.null_source, pairs.source[s + i], x)
    for j in range(cuda.threadIdx.y, breadth, cuda.blockDim.y):
        x = np.int64(pool[lines + j, lane] * COUNT_UNIT + 0.5)
        cuda.atomic.add(counted.null_target, pairs.target[t + j], x)


@card_kernel
def add_statistics_of_groups(work: Work, jumps: Any, ends: Any) -> None:
    """Add the statistics of the groups' chains, see `dualign.infer.chains.Sums`, in STATISTIC_UNITs.

    `jumps` int64 (COPIES, 2, classes, 24): expected jumps, then openings; `ends` int64 (COPIES, 2, 3, 11):
    starts, rows by distance to the end, stops.
    """
    g, lane = cuda.blockIdx.x, cuda.threadIdx.x
    groups, pairs, pool = work.groups, work.block.pairs, work.room.pool
    I, J, n = groups.I[g], groups.J[g], groups.pair[g * WARP + lane]
    if n < 0:
        return
    L, copy = max(I, J), g % COPIES
    length, breadth = lengths_of(n, pairs)
    s, t = pairs.source_offsets[n], pairs.target_offsets[n]
    for d in range(2):
        R, S = (breadth, length) if d == 0 else (length, breadth)
        at = groups.base[g] + statistics_at(I, J, work.constraint.how) + d * L * (3 + STATISTICS)
        for i in range(cuda.threadIdx.y, S, cuda.blockDim.y):
            near = min(S - 1 - i, STOPS)
            for k in range(3):
                x = np.int64(pool[at + k * L + i, lane] * STATISTIC_UNIT + 0.5)
                cuda.atomic.add(ends, (copy, d, k, min(i, STARTS) if k == 0 else near), x)
        for j in range(cuda.threadIdx.y, R - 1, cuda.blockDim.y):
            if d == 0:
                c = class_of(pairs.target[t + j], work.block.jumps.by_target)
            else:
                c = class_of(pairs.source[s + j], work.block.jumps.by_source)
            for k in range(STATISTICS):
                x = np.int64(pool[at + 3 * L + j * STATISTICS + k, lane] * STATISTIC_UNIT + 0.5)
                cuda.atomic.add(jumps, (copy, d, c, k), x)


@card_kernel
def list_candidates(work: Work, least: float, listed: int, found: Candidates) -> None:
    """Count the links whose mean posterior is over `least`; if `listed` is 1, also list them."""
    t = cuda.grid(1)
    if t >= work.groups.pair.shape[0] or work.groups.pair[t] < 0:
        return
    n, g, lane, pool = work.groups.pair[t], t // WARP, t % WARP, work.room.pool
    I, J = work.groups.I[g], work.groups.J[g]
    there = work.groups.base[g] + POSTERIOR * I * J
    back = there + I * J
    length, breadth = lengths_of(n, work.block.pairs)
    c = found.begin[n] if listed else np.int64(0)
    total, number = 0.0, 0
    for i in range(length):
        for j in range(breadth):
            mean = np.float32(0.5) * (pool[there + j * I + i, lane] + pool[back + i * J + j, lane])
            total += mean
            if mean > least:
                if listed:
                    found.source[c], found.target[c], found.probability[c] = i, j, min(mean, np.float32(1))
                    c += 1
                number += 1
    found.number[n] = number
    found.total[n] = total
