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
    VISITS,
    Index,
    Own,
    Work,
)  # fmt: skip
from dualign.device.warps import LANES, add_to, meet, total, wrapped
from dualign.infer.chain import STATISTICS
from dualign.infer.emission import class_of
from dualign.model import jumps as weighed
from dualign.model.jumps import FLOOR, NEAR, NULL_FLOOR, REACH, STARTS, STOP, STOPS

NO_WORD, FIRST = weighed.NULL, weighed.START
"""Places of the null probability and of the first start weight among a direction's weights."""

STATISTIC_UNIT = 2.0**28
"""Statistics of the chains are added up in these fractions of 1."""

COPIES = 64
"""Arrays of statistics, of which a pair uses one: fewer lanes add to the same number."""


@kernel(allocates=False)
def place_of_key(key: int, shift: int) -> Any:
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
        pool[there + j * own.I + i] = x
        pool[back + k] = y
        own.entry[k] = m
        i, j = wrapped(i, j + LANES, own.J)
    for d in range(2):
        R, _ = sides(d, own)
        null = line_at(NULL, d, own)
        nulls = work.block.null_target if d == 0 else work.block.null_source
        for j in range(lane, R, LANES):
            pool[null + j] = weights[d, NULL_FLOOR] + nulls[word_at(d, j, own, work)]


@card_function
def fill_edges(lane: int, own: Own, work: Work) -> None:
    """How the chains move: where they start, their jumps, and how likely a state is left for each other."""
    pool, L = own.pool, max(own.I, own.J)
    one = np.float32(1)
    for d in range(2):
        R, S = sides(d, own)
        weights, weight = work.block.weights[d], work.block.jumps.weight[d]
        jumps = own.lines + (JUMPS + d * NEAR) * L
        for j in range(lane, R, LANES):
            c = class_at(d, j, own, work)
            for k in range(NEAR):
                pool[jumps + j * NEAR + k] = weight[c, k]
        z = np.float32(0)
        for i in range(S):
            z += weights[FIRST + min(i, STARTS)]
        for i in range(lane, S, LANES):
            pool[line_at(START, d, own) + i] = weights[FIRST + min(i, STARTS)] / z
        meet()
        leave, word = (LEAVE + d) * own.c, one - weights[NO_WORD]
        j, i = wrapped(0, lane, S)
        for k in range(lane, own.c, LANES):
            z = np.float32(S - min(i, REACH) - 1 - min(S - 1 - i, REACH))
            for e in range(max(0, REACH - i), min(NEAR, S + REACH - i)):
                z += pool[jumps + j * NEAR + e]
            pool[leave + k] = word / z
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
                z += pool[E + k]
            z = z * share + pool[null + j] * p0
            likelihood += math.log(np.float64(z))
            for k in range(j * S, (j + 1) * S):
                pool[P + k] = pool[E + k] * (share / z)
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
        line[OLD, k] = line[NEW, k] = line[OLD, REACH + S + k] = line[NEW, REACH + S + k] = 0
    for s in range(lane, S, LANES):
        line[HERE, s] = pool[line_at(START, d, own) + s]
    r, left = one, np.float32(0)
    product, likelihood = 1.0, 0.0
    for j in range(R):
        old = j % 2
        q = pool[null + j] * p0 * r
        z = b = np.float32(0)
        for s in range(lane, S, LANES):
            before, x = line[HERE, s], left
            if j == 0:
                x = before * (one - p0)
            else:
                for k in range(NEAR):
                    x += (pool[jumps + (j - 1) * NEAR + k] - one) * line[old, s + NEAR - 1 - k]
                x *= r
            x *= pool[E + j * S + s]
            pool[P + j * S + s] = x
            stop = weights[STOP + min(S - 1 - s, STOPS)]
            m = (x + q * before) * (stop if j == R - 1 else one - stop)
            line[HERE, s] = pool[M + j * S + s] = m
            y = m * pool[leave + j * S + s]
            line[1 - old, REACH + s] = y
            z += m
            b += y
        z, left = total(z), total(b)
        r = one / z
        line[SCALES, j] = r
        product *= z
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
    weights = work.block.weights[d]
    r = line[SCALES, R - 1]
    for s in range(lane, S, LANES):
        stop = weights[STOP + min(S - 1 - s, STOPS)]
        line[AHEAD, s] = stop
        pool[P + (R - 1) * S + s] *= stop * r
    if collect:
        begin_visits(lane, R, S, own)
    for j in range(R - 1, 0, -1):
        r, before = line[SCALES, j], line[SCALES, j - 1]
        new = j % 2
        b = np.float32(0)
        for s in range(lane, S, LANES):
            y = pool[E + j * S + s] * line[AHEAD, s]
            line[new, REACH + s] = y
            b += y
        b = total(b)
        meet()
        q = pool[null + j] * weights[NO_WORD] * r
        for s in range(lane, S, LANES):
            y = b
            for k in range(NEAR):
                y += (pool[jumps + (j - 1) * NEAR + k] - one) * line[new, s + k]
            y *= r
            line[RATE, s] = y
            y = q * line[AHEAD, s] + y * pool[leave + (j - 1) * S + s]
            line[HERE, s] = y
            y *= one - weights[STOP + min(S - 1 - s, STOPS)]
            line[AHEAD, s] = y
            pool[P + (j - 1) * S + s] *= y * before
        if collect:
            count_jumps(lane, d, j, own, work)
    if collect:
        add_visits(lane, d, S, own, work)


@card_function
def begin_visits(lane: int, R: int, S: int, own: Own) -> None:
    """The probabilities of a chain's last position, of which its rows are the first that are counted."""
    first, M, r = line_at(VISITS, 0, own), MASS * own.c, own.line[SCALES, R - 1]
    visited, final = line_at(VISITS, 1, own), line_at(VISITS, 2, own)
    for s in range(lane, S, LANES):
        x = own.pool[M + (R - 1) * S + s] * r
        own.pool[first + s] = own.pool[visited + s] = own.pool[final + s] = x


@card_function
def count_jumps(lane: int, d: int, j: int, own: Own, work: Work) -> None:
    """Add the statistics of the jumps from row j − 1; see `dualign.infer.chain.Passes`.

    HERE has what follows that row by state, RATE the same without null and the state's own share, OLD or NEW
    what the states of row j are worth.
    """
    pool, line = own.pool, own.line
    R, S = sides(d, own)
    M, leave = MASS * own.c + (j - 1) * S, (LEAVE + d) * own.c + (j - 1) * S
    jumps = own.lines + (JUMPS + d * NEAR) * max(own.I, own.J) + (j - 1) * NEAR
    first, visited = line_at(VISITS, 0, own), line_at(VISITS, 1, own)
    every = np.float32(0)
    for s in range(lane, S, LANES):
        m, e = pool[M + s] * line[SCALES, j - 1], pool[leave + s]
        pool[first + s] = m * line[HERE, s]
        pool[visited + s] += m * line[HERE, s]
        line[HERE, s] = m * e
        every += m * e * line[RATE, s]
        line[RATE, s] *= m * e * e
    every = total(every)
    meet()
    unscaled = np.float32(1) / (np.float32(1) - work.block.weights[d, NO_WORD])
    for k in range(lane, STATISTICS, LANES):
        x = np.float32(0)
        if k < NEAR:
            for s in range(S):
                x += line[HERE, s] * line[j % 2, s + k]
            x *= line[SCALES, j] * pool[jumps + k]
        else:
            # The places of a near jump, then those of all jumps.
            e = k - NEAR - 1 if k < STATISTICS - 1 else REACH
            for s in range(max(0, REACH - e), min(S, S + REACH - e)):
                x += line[RATE, s]
            x *= unscaled
        line[KNOWN, k] = x
    meet()
    c, copy = class_at(d, j - 1, own, work), own.n % COPIES
    for k in range(lane, STATISTICS, LANES):
        x = line[KNOWN, k]
        if k == NEAR or k == STATISTICS - 1:
            x = every if k == NEAR else x * np.float32(S)
            for e in range(k - NEAR, k):
                x -= line[KNOWN, e]
        add_to(work.counted.jumps, (copy, d, c, k), np.int64(x * STATISTIC_UNIT + 0.5))


@card_function
def add_visits(lane: int, d: int, S: int, own: Own, work: Work) -> None:
    """Add where a chain started, how often it was at each position, and where it stopped."""
    for k in range(3):
        visits = line_at(VISITS, k, own)
        for s in range(lane, S, LANES):
            x = np.int64(own.pool[visits + s] * STATISTIC_UNIT + 0.5)
            place = min(s, STARTS) if k == 0 else min(S - 1 - s, STOPS)
            add_to(work.counted.ends, (own.n % COPIES, d, k, place), x)
