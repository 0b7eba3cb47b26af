"""The two chains of a pair, handled by a warp: `dualign.infer.chain` with a lane for each state, or a few.

The rows of a chain wait for each other. What one row hands to the next is in shared lines, where a lane finds
the states around its own; the sums of a row are added by all lanes together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualign.core.cards import card_function
from dualign.core.jit import kernel
from dualign.device.layout import (
    AHEAD,
    EMISSION,
    EMPTY,
    HERE,
    JUMPS,
    KNOWN,
    LEAVE,
    MASS,
    NEW,
    NULL,
    OLD,
    POSTERIOR,
    RATE,
    SCALES,
    START,
    STOPPED,
    VISITS,
    Index,
    Own,
    Work,
)  # fmt: skip
from dualign.device.warps import LANES, add_to, at, meet, total, wrapped
from dualign.infer.chain import STATISTICS
from dualign.infer.emission import class_of
from dualign.infer.tallies import UNIT
from dualign.model import jumps as weighed
from dualign.model.jumps import FLOOR, LEAST, NEAR, NULL_FLOOR, REACH, STARTS, STOP, STOPS

NO_WORD, FIRST = weighed.NULL, weighed.START
"""Places of the null probability and of the first start weight among a direction's weights."""

COPIES = 64
"""Arrays of statistics, of which a pair uses one: fewer lanes add to the same number."""


@kernel(allocates=False)
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
def sides(d: int, own: Own) -> tuple[int, int]:
    """Rows and states of direction d."""
    return (own.J, own.I) if d == 0 else (own.I, own.J)


@card_function
def line_at(k: int, d: int, own: Own) -> int:
    """Where one of the lines of direction d begins."""
    return own.lines + (k + d) * max(own.I, own.J)


@card_function
def word_at(d: int, j: int, own: Own, work: Work) -> int:
    """The word of row j of direction d."""
    pairs = work.block.pairs
    return pairs.target[own.t + j] if d == 0 else pairs.source[own.s + j]


@card_function
def class_at(d: int, j: int, own: Own, work: Work) -> int:
    """The class of that word's jumps."""
    jumps = work.block.jumps
    return class_of(word_at(d, j, own, work), jumps.by_target if d == 0 else jumps.by_source)


@card_function
def jump_weight(d: int, j: int, k: int, own: Own, work: Work) -> np.float32:
    """The weight of jump k from row j to the next, if there is one; see `dualign.model.jumps`."""
    jumps, R = work.block.jumps, sides(d, own)[0]
    e = class_at(d, j + 1, own, work) if j + 1 < R else 0
    w = jumps.weight[d, class_at(d, j, own, work), k] * jumps.factor[d, e, k]
    return max(w, np.float32(LEAST))


@card_function
def fill_emissions(lane: int, own: Own, work: Work) -> None:
    """The emissions and lexicon entries of all cells; see `dualign.infer.emission.emit`."""
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
def fill_edges(lane: int, own: Own, work: Work) -> None:
    """How the chains move: where they start, how much more near jumps weigh than far ones, which weigh 1, and
    the share of those that leave a state for each other."""
    pool, L = own.pool, max(own.I, own.J)
    one = np.float32(1)
    for d in range(2):
        R, S = sides(d, own)
        weights = work.block.weights[d]
        jumps = own.lines + (JUMPS + d * NEAR) * L
        for j in range(lane, R, LANES):
            for k in range(NEAR):
                pool[at(jumps + j * NEAR + k)] = jump_weight(d, j, k, own, work) - one
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
                z += pool[at(jumps + j * NEAR + e)]
            pool[at(leave + k)] = word / z
            j, i = wrapped(j, i + LANES, S)


@card_function
def choose_evenly(lane: int, own: Own, work: Work) -> None:
    """Posteriors and likelihoods by IBM Model 1; see `dualign.infer.chain.choose_evenly`."""
    pool, one = own.pool, np.float32(1)
    meet()
    for d in range(2):
        R, S = sides(d, own)
        E, P, null = (EMISSION + d) * own.c, (POSTERIOR + d) * own.c, line_at(NULL, d, own)
        p0 = work.block.weights[d, NO_WORD]
        share = (one - p0) / np.float32(S)
        likelihood = 0.0
        for j in range(lane, R, LANES):
            z = np.float32(0)
            for k in range(j * S, (j + 1) * S):
                z += pool[at(E + k)]
            z = z * share + pool[at(null + j)] * p0
            likelihood += math.log(np.float64(z))
            for k in range(j * S, (j + 1) * S):
                pool[at(P + k)] = pool[at(E + k)] * (share / z)
        own.search.likelihood[d, 0] = total(likelihood)


@card_function
def run_chains(lane: int, emission: int, collect: int, own: Own, work: Work) -> None:
    """Forward-backward of both directions over the emissions that begin there; if asked to, statistics."""
    for d in range(2):
        meet()
        go_forward(lane, d, emission + d * own.c, own, work)
        meet()
        go_backward(lane, d, emission + d * own.c, collect, own, work)
    meet()


@card_function
def go_forward(lane: int, d: int, E: int, own: Own, work: Work) -> None:
    """Masses of the words up to each row, and the likelihood; see `dualign.infer.chain.go_forward`.

    They are not scaled; what must be applied to a row is in the shared SCALES. The shared lines OLD and NEW
    have, in turn, the masses that leave a state of the last row.
    """
    pool, line = own.pool, own.line
    R, S = sides(d, own)
    P, leave, M, null = (POSTERIOR + d) * own.c, (LEAVE + d) * own.c, MASS * own.c, line_at(NULL, d, own)
    jumps = own.lines + (JUMPS + d * NEAR) * max(own.I, own.J)
    weights = work.block.weights[d]
    p0, one = weights[NO_WORD], np.float32(1)
    for k in range(lane, REACH, LANES):
        line[OLD, at(k)] = line[NEW, at(k)] = line[OLD, at(REACH + S + k)] = line[NEW, at(REACH + S + k)] = 0
    for s in range(lane, S, LANES):
        line[HERE, at(s)] = pool[at(line_at(START, d, own) + s)]
        line[STOPPED, at(s)] = weights[STOP + min(S - 1 - s, STOPS)]
    r, left = one, np.float32(0)
    product, likelihood = 1.0, 0.0
    for j in range(R):
        old = j & 1
        q = pool[at(null + j)] * p0 * r
        z = b = np.float32(0)
        s = lane
        while s < S:
            # Asked for early, before anything is written: memory takes its time.
            e, leaving = pool[at(E + j * S + s)], pool[at(leave + j * S + s)]
            before, x = line[HERE, at(s)], left
            if j == 0:
                x = before * (one - p0)
            else:
                for k in range(NEAR):
                    x += pool[at(jumps + (j - 1) * NEAR + k)] * line[at(old), at(s + NEAR - 1 - k)]
                x *= r
            x *= e
            pool[at(P + j * S + s)] = x
            stop = line[STOPPED, at(s)]
            m = (x + q * before) * (stop if j == R - 1 else one - stop)
            line[HERE, at(s)] = pool[at(M + j * S + s)] = m
            y = m * leaving
            line[at(1 - old), at(REACH + s)] = y
            z += m
            b += y
            s += LANES
        z, left = total(z), total(b)
        r = one / z
        line[SCALES, at(j)] = r
        product *= np.float64(z)
        if product < 1e-250 or product > 1e250:
            likelihood += math.log(product)
            product = 1.0
        meet()
    own.search.likelihood[d, 0] = likelihood + math.log(product)


@card_function
def go_backward(lane: int, d: int, E: int, collect: int, own: Own, work: Work) -> None:
    """Posteriors, from the masses of the words after each row; see `dualign.infer.chain.go_backward`."""
    pool, line, one = own.pool, own.line, np.float32(1)
    R, S = sides(d, own)
    P, leave, null = (POSTERIOR + d) * own.c, (LEAVE + d) * own.c, line_at(NULL, d, own)
    jumps = own.lines + (JUMPS + d * NEAR) * max(own.I, own.J)
    p0 = work.block.weights[d, NO_WORD]
    r = line[SCALES, at(R - 1)]
    for s in range(lane, S, LANES):
        stop = line[STOPPED, at(s)]
        line[AHEAD, at(s)] = stop
        pool[at(P + (R - 1) * S + s)] *= stop * r
    if collect:
        begin_visits(lane, R, S, own)
    for j in range(R - 1, 0, -1):
        r, before = line[SCALES, at(j)], line[SCALES, at(j - 1)]
        new = j & 1
        b = np.float32(0)
        s = lane
        while s < S:
            y = pool[at(E + j * S + s)] * line[AHEAD, at(s)]
            line[at(new), at(REACH + s)] = y
            b += y
            s += LANES
        b = total(b)
        meet()
        q = pool[at(null + j)] * p0 * r
        s = lane
        while s < S:
            leaving, p = pool[at(leave + (j - 1) * S + s)], pool[at(P + (j - 1) * S + s)]
            y = b
            for k in range(NEAR):
                y += pool[at(jumps + (j - 1) * NEAR + k)] * line[at(new), at(s + k)]
            y *= r
            line[RATE, at(s)] = y
            y = q * line[AHEAD, at(s)] + y * leaving
            line[HERE, at(s)] = y
            y *= one - line[STOPPED, at(s)]
            line[AHEAD, at(s)] = y
            pool[at(P + (j - 1) * S + s)] = p * y * before
            s += LANES
        if collect:
            count_jumps(lane, d, j, own, work)
    if collect:
        add_visits(lane, d, S, own, work)


@card_function
def begin_visits(lane: int, R: int, S: int, own: Own) -> None:
    """The probabilities of a chain's last position, of which its rows are the first that are counted."""
    first, M, r = line_at(VISITS, 0, own), MASS * own.c, own.line[SCALES, at(R - 1)]
    visited, final = line_at(VISITS, 1, own), line_at(VISITS, 2, own)
    for s in range(lane, S, LANES):
        x = own.pool[at(M + (R - 1) * S + s)] * r
        own.pool[at(first + s)] = own.pool[at(visited + s)] = own.pool[at(final + s)] = x


@card_function
def count_jumps(lane: int, d: int, j: int, own: Own, work: Work) -> None:
    """Add the statistics of the jumps from row j − 1; see `dualign.infer.chain.Passes`.

    HERE has what follows that row by state, RATE the same without null and the state's own share, OLD or NEW
    what the states of row j are worth.
    """
    pool, line = own.pool, own.line
    _, S = sides(d, own)
    M, leave = MASS * own.c + (j - 1) * S, (LEAVE + d) * own.c + (j - 1) * S
    c, to, copy = class_at(d, j - 1, own, work), class_at(d, j, own, work), own.n % COPIES
    first, visited = line_at(VISITS, 0, own), line_at(VISITS, 1, own)
    every = np.float32(0)
    for s in range(lane, S, LANES):
        m, e = pool[at(M + s)] * line[SCALES, at(j - 1)], pool[at(leave + s)]
        pool[at(first + s)] = m * line[HERE, at(s)]
        pool[at(visited + s)] += m * line[HERE, at(s)]
        line[HERE, at(s)] = m * e
        every += m * e * line[RATE, at(s)]
        line[RATE, at(s)] *= m * e * e
    every = total(every)
    meet()
    unscaled = np.float32(1) / (np.float32(1) - work.block.weights[d, NO_WORD])
    for k in range(lane, STATISTICS, LANES):
        x = np.float32(0)
        if k < NEAR:
            for s in range(S):
                x += line[HERE, at(s)] * line[at(j & 1), at(s + k)]
            x *= line[SCALES, at(j)] * jump_weight(d, j - 1, k, own, work)
        else:
            # The places of a near jump, then those of all jumps.
            jump = k - NEAR - 1 if k < STATISTICS - 1 else REACH
            for s in range(max(0, REACH - jump), min(S, S + REACH - jump)):
                x += line[RATE, at(s)]
            x *= unscaled
        line[KNOWN, at(k)] = x
    meet()
    for k in range(lane, STATISTICS, LANES):
        x = line[KNOWN, at(k)]
        if k == NEAR or k == STATISTICS - 1:
            x = every if k == NEAR else x * np.float32(S)
            for near in range(k - NEAR, k):
                x -= line[KNOWN, at(near)]
        elif k > NEAR:
            x *= jump_weight(d, j - 1, k - NEAR - 1, own, work)
        counted = np.int64(x * UNIT + 0.5)
        add_to(work.counted.jumps, (copy, d, 0, c, k), counted)
        add_to(work.counted.jumps, (copy, d, 1, to, k), counted)


@card_function
def add_visits(lane: int, d: int, S: int, own: Own, work: Work) -> None:
    """Add where a chain started, how often it was at each distance from the end, and where it stopped."""
    meet()
    for k in range(3):
        visits = line_at(VISITS, k, own)
        for place in range(lane, min(S, STARTS + 1), LANES):
            x = np.float32(0)
            for p in range(place, place + 1 if place < STARTS else S):
                x += own.pool[at(visits + (p if k == 0 else S - 1 - p))]
            add_to(work.counted.ends, (own.n % COPIES, d, k, place), np.int64(x * UNIT + 0.5))
