"""The kernels of the card: a lexicon's index; pairs, a warp for each; what is added up, and links.

Sums are of whole numbers, each addend rounded to a fraction of a fixed size: adding whole numbers gives the
same in any order, so that lanes may add to one number at the same time and the result is the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.engines.cuda.chains import choose_evenly, run_chains
from dualign.engines.cuda.device import card_function, card_kernel, cuda
from dualign.engines.cuda.layout import (
    EMISSION,
    EMPTY,
    LANES,
    POSTERIOR,
    PROJECTED,
    SHARED,
    WIDTH,
    WORDS,
    Index,
    LaunchArguments,
    LineSearchState,
    WarpState,
    add_to,
    at,
    fill_edges,
    fill_emissions,
    meet,
    own_of,
    place_of_key,
    sides,
    total,
    word_at,
    wrapped,
)
from dualign.engines.cuda.projection import project
from dualign.hmm.lbfgs import SCALE
from dualign.hmm.multipliers import BASE, BEGUN, EVALUATIONS, SYMMETRIC, VALUE
from dualign.hmm.posteriors import EVEN

COUNT_UNIT = 2.0**34
"""Expected counts are added up in these fractions of 1."""

NUMBERS = SCALE + 1


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
def handle_pairs(work: LaunchArguments) -> None:
    """Posteriors of all pairs; their counts and statistics, or their links.

    A block is one warp, and takes pair after pair until none is left; which block takes a pair does not
    matter.
    """
    line = cuda.shared.array((SHARED, WIDTH), np.float32)
    taken = cuda.shared.array(2, np.int64)
    numbers = cuda.local.array((10, 1), np.float32)
    values = cuda.local.array((4, 1), np.float64)
    state = cuda.local.array((3, 1), np.int64)
    likelihood = cuda.local.array((2, 1), np.float64)
    ring = cuda.local.array(NUMBERS, np.float32)
    search = LineSearchState(numbers, values, state, likelihood, ring)
    lane, block = cuda.threadIdx.x, cuda.blockIdx.x
    while True:
        meet()
        if lane == 0:
            taken[0] = cuda.atomic.add(work.turn, 0, 1)
        meet()
        if taken[0] >= work.order.shape[0]:
            break
        own = own_of(work.order[taken[0]], block, work, line, search)
        handle(lane, own, work)
        if work.collect:
            add_counts(lane, own, work)
        else:
            list_links(lane, taken, own, work)


@card_function
def handle(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """Posteriors of a pair, and its statistics if they are asked for."""
    totals, search, how, n = work.room.totals, own.search, work.constraint.how, own.n
    fill_emissions(lane, own, work)
    evaluations, divergence, moved = 1, 0.0, 0
    if how == EVEN:
        choose_evenly(lane, own, work)
    else:
        fill_edges(lane, own, work)
        if how >= SYMMETRIC:
            moved = project(lane, own, work)
            evaluations = search.state[EVALUATIONS, 0] + work.collect
            divergence = search.value[BEGUN, 0] - search.value[VALUE, 0]
        if how < SYMMETRIC or work.collect:
            run_chains(lane, (PROJECTED if moved else EMISSION) * own.c, work.collect, own, work)
        if how >= SYMMETRIC:
            for d in range(2):
                search.likelihood[d, 0] = search.value[BASE + d, 0]
    if lane == 0:
        totals[n, 0], totals[n, 1] = search.likelihood[0, 0], search.likelihood[1, 0]
        totals[n, 2], totals[n, 3], totals[n, 4] = evaluations, 1, divergence
    meet()


@card_function
def add_counts(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """Add the posteriors of a pair to the counts of its entries, and what is left to null's."""
    pool, counted, P = own.pool, work.counted, POSTERIOR * own.c
    i, j = wrapped(0, lane, own.J)
    for k in range(lane, own.c, LANES):
        m = own.entry[at(k)]
        if m != EMPTY:
            p, q = pool[at(P + j * own.I + i)], pool[at(P + own.c + k)]
            if counted.agree:
                p *= q
            x, y = np.int64(p * COUNT_UNIT + 0.5), np.int64(q * COUNT_UNIT + 0.5)
            if x != 0:
                add_to(counted.links, (m, 0), x)
            if y != 0 and not counted.agree:
                add_to(counted.links, (m, 1), y)
        i, j = wrapped(i, j + LANES, own.J)
    for d in range(2):
        R, S = sides(d, own)
        for r in range(lane, R, LANES):
            left = np.float32(1)
            for k in range(r * S, (r + 1) * S):
                left -= pool[at(P + d * own.c + k)]
            x = np.int64(max(left, np.float32(0)) * COUNT_UNIT + 0.5)
            add_to(counted.null_target if d == 0 else counted.null_source, word_at(d, r, own, work), x)


@card_function
def mean_at(i: int, j: int, own: WarpState) -> np.float32:
    """The mean posterior of a cell."""
    P = POSTERIOR * own.c
    return np.float32(0.5) * (own.pool[at(P + j * own.I + i)] + own.pool[at(P + own.c + i * own.J + j)])


@card_function
def list_links(lane: int, taken: Any, own: WarpState, work: LaunchArguments) -> None:
    """List the links whose mean posterior is over `least`, row by row; a lane has whole rows."""
    found, totals, line, whole, number = work.found, work.room.totals, own.line, 0.0, 0
    for i in range(lane, own.I, LANES):
        count = 0
        for j in range(own.J):
            mean = mean_at(i, j, own)
            whole += mean
            count += mean > found.least
        line[0, at(i)] = count
    whole = total(whole)
    meet()
    for i in range(own.I):
        number += int(line[0, at(i)])
    if lane == 0:
        taken[1] = add_to(work.turn, 1, number)
        totals[own.n, 2], totals[own.n, 3], totals[own.n, 4] = taken[1], number, whole
    meet()
    for i in range(lane, own.I, LANES):
        c = taken[1]
        for before in range(i):
            c += int(line[0, at(before)])
        for j in range(own.J):
            mean = mean_at(i, j, own)
            if mean > found.least:
                found.links[c, 0], found.links[c, 1] = min(mean, np.float32(1)), WORDS * i + j
                c += 1
