"""The two chains of a pair, handled by a warp: `dualign.hmm.chain` with a lane for each state, or a few.

The rows of a chain wait for each other. What one row hands to the next is in shared lines, where a lane finds
the states around its own; the sums of a row are added by all lanes together. If EM asks for them, the warp
adds what it learns of jumps, starts and stops to the statistics of all pairs.
"""

from __future__ import annotations

import math

import numpy as np

from dualign.engines.cuda.device import card_function
from dualign.engines.cuda.layout import (
    AHEAD,
    CHOSEN,
    EMISSION,
    HERE,
    JUMPS,
    KNOWN,
    LANES,
    LEAVE,
    MASS,
    NEW,
    NO_WORD,
    NULL,
    OLD,
    POSTERIOR,
    RATE,
    SCALES,
    SHORT,
    START,
    STOPPED,
    VISITS,
    LaunchArguments,
    WarpState,
    add_to,
    at,
    class_at,
    jump_weight,
    line_at,
    meet,
    sides,
    total,
    wrapped,
)
from dualign.hmm.chain import STATISTICS
from dualign.hmm.jumps import BESIDE, CLOSE, NEAR, REACH, STARTS, STOP, STOPS
from dualign.hmm.statistics import UNIT

COPIES = 64
"""Arrays of statistics, of which a pair uses one: fewer lanes add to the same number."""

FEW_COPIES = 16
"""Likewise, where a pair adds once for each chain, not for each row."""

FAVOURED = STATISTICS
"""Where the shared line KNOWN goes on with statistics of a row in which the chosen words' factors count."""


@card_function
def choose_evenly(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """Posteriors and likelihoods by IBM Model 1; see `dualign.hmm.chain.choose_evenly`."""
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
def run_chains(lane: int, emission: int, collect: int, own: WarpState, work: LaunchArguments) -> None:
    """Forward-backward of both directions over the emissions that begin there; if asked to, statistics."""
    for d in range(2):
        meet()
        go_forward(lane, d, emission + d * own.c, own, work)
        meet()
        go_backward(lane, d, emission + d * own.c, collect, own, work)
    meet()


@card_function
def go_forward(lane: int, d: int, E: int, own: WarpState, work: LaunchArguments) -> None:
    """Masses of the words up to each row, and the likelihood; see `dualign.hmm.chain.go_forward`.

    They are not scaled; what must be applied to a row is in the shared SCALES. The shared lines OLD and NEW
    have, in turn, the masses that leave a state of the last row.
    """
    pool, line = own.pool, own.line
    R, S = sides(d, own)
    P, leave, M, null = (POSTERIOR + d) * own.c, (LEAVE + d) * own.c, MASS * own.c, line_at(NULL, d, own)
    jumps, factor = line_at(JUMPS, d * NEAR, own), line_at(CHOSEN, d * CLOSE, own)
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
                    w, c = pool[at(jumps + (j - 1) * NEAR + k)], k - REACH + BESIDE
                    if c >= 0 and c < CLOSE:
                        # By the state that is left: where there is none, nothing leaves it.
                        w = w * pool[at(factor + c * S + s - c + BESIDE)] - one
                    x += w * line[at(old), at(s + NEAR - 1 - k)]
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
def go_backward(lane: int, d: int, E: int, collect: int, own: WarpState, work: LaunchArguments) -> None:
    """Posteriors, from the masses of the words after each row; see `dualign.hmm.chain.go_backward`."""
    pool, line, one = own.pool, own.line, np.float32(1)
    R, S = sides(d, own)
    P, leave, null = (POSTERIOR + d) * own.c, (LEAVE + d) * own.c, line_at(NULL, d, own)
    jumps, factor = line_at(JUMPS, d * NEAR, own), line_at(CHOSEN, d * CLOSE, own)
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
                w, c = pool[at(jumps + (j - 1) * NEAR + k)], k - REACH + BESIDE
                if c >= 0 and c < CLOSE:
                    w = w * pool[at(factor + c * S + s)] - one
                y += w * line[at(new), at(s + k)]
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
        add_close(lane, d, S, own, work)


@card_function
def begin_visits(lane: int, R: int, S: int, own: WarpState) -> None:
    """The probabilities of a chain's last position, of which its rows are the first that are counted; no
    jumps as yet."""
    first, M, r = line_at(VISITS, 0, own), MASS * own.c, own.line[SCALES, at(R - 1)]
    visited, final = line_at(VISITS, 1, own), line_at(VISITS, 2, own)
    for s in range(lane, S, LANES):
        x = own.pool[at(M + (R - 1) * S + s)] * r
        own.pool[at(first + s)] = own.pool[at(visited + s)] = own.pool[at(final + s)] = x
        for k in range(2 * CLOSE):
            own.pool[at(line_at(SHORT, 0, own) + k * S + s)] = 0


@card_function
def count_jumps(lane: int, d: int, j: int, own: WarpState, work: LaunchArguments) -> None:
    """Add the statistics of the jumps from row j − 1; see `dualign.hmm.chain.Passes`.

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
        count_close(d, j, s, own)
    every = total(every)
    meet()
    unscaled = np.float32(1) / (np.float32(1) - work.block.weights[d, NO_WORD])
    for k in range(lane, STATISTICS, LANES):
        x, favoured = over_places(d, j, k, own)
        if k < NEAR:
            line[KNOWN, at(k)] = favoured * line[SCALES, at(j)] * jump_weight(d, j - 1, k, own, work)
        else:
            line[KNOWN, at(k)], line[KNOWN, at(FAVOURED + k)] = x * unscaled, favoured * unscaled
    meet()
    for k in range(lane, STATISTICS, LANES):
        x = line[KNOWN, at(k)]
        if k == NEAR or k == STATISTICS - 1:
            x = every if k == NEAR else x * np.float32(S)
            for near in range(k - NEAR, k):
                x -= line[KNOWN, at(near)]
        elif k > NEAR:
            x = line[KNOWN, at(FAVOURED + k)] * jump_weight(d, j - 1, k - NEAR - 1, own, work)
        counted = np.int64(x * UNIT + 0.5)
        add_to(work.counted.jumps, (copy, d, 0, c, k), counted)
        add_to(work.counted.jumps, (copy, d, 1, to, k), counted)


@card_function
def count_close(d: int, j: int, s: int, own: WarpState) -> None:
    """Add the close jumps from state s of row j − 1 to SHORT.

    HERE has the state's mass times its share, RATE the jumps from it times the same.
    """
    pool, line = own.pool, own.line
    _, S = sides(d, own)
    jumps = line_at(JUMPS, d * NEAR, own) + (j - 1) * NEAR + REACH - BESIDE
    short = line_at(SHORT, 0, own) + s
    mass, rate = line[HERE, at(s)] * line[SCALES, at(j)], line[RATE, at(s)]
    for c in range(CLOSE):
        w = pool[at(jumps + c)]
        pool[at(short + c * S)] += mass * line[at(j & 1), at(s + REACH - BESIDE + c)] * w
        pool[at(short + (CLOSE + c) * S)] += rate * w


@card_function
def over_places(d: int, j: int, k: int, own: WarpState) -> tuple[np.float32, np.float32]:
    """Statistic k of the jumps from row j − 1, divided by w(d), without and with the chosen words' factors.

    Near jumps first; then the places of each near jump, and of all jumps.
    """
    pool, line = own.pool, own.line
    _, S = sides(d, own)
    what, jump, last = HERE if k < NEAR else RATE, k, STATISTICS - 1
    if k >= NEAR:
        jump = k - NEAR - 1 if k < last else REACH
    c = jump - REACH + BESIDE
    close, factor = c >= 0 and c < CLOSE and k < last, line_at(CHOSEN, d * CLOSE, own) + c * S
    x = favoured = np.float32(0)
    for s in range(max(0, REACH - jump), min(S, S + REACH - jump)):
        y = line[at(what), at(s)]
        if k < NEAR:
            y *= line[at(j & 1), at(s + jump)]
        x += y
        if close:
            y *= pool[at(factor + s)]
        favoured += y
    return x, favoured


@card_function
def add_visits(lane: int, d: int, S: int, own: WarpState, work: LaunchArguments) -> None:
    """Add where a chain started, how often it was at each distance from the end, and where it stopped."""
    meet()
    for k in range(3):
        visits = line_at(VISITS, k, own)
        for place in range(lane, min(S, STARTS + 1), LANES):
            x = np.float32(0)
            for p in range(place, place + 1 if place < STARTS else S):
                x += own.pool[at(visits + (p if k == 0 else S - 1 - p))]
            add_to(work.counted.ends, (own.n % COPIES, d, k, place), np.int64(x * UNIT + 0.5))


@card_function
def add_close(lane: int, d: int, S: int, own: WarpState, work: LaunchArguments) -> None:
    """Add the close jumps of a chain, for the chosen words that they leave and reach.

    A lane has one number of each class, so that no two lanes add to the same one; words without factors of
    their own, which are many, are added up before.
    """
    pool, chosen, copy, one = own.pool, work.counted.chosen, own.n % FEW_COPIES, np.float32(1)
    short, factor = line_at(SHORT, 0, own), line_at(CHOSEN, d * CLOSE, own)
    unscaled = one / (one - work.block.weights[d, NO_WORD])
    meet()
    for lot in range(lane, 4 * CLOSE, LANES):
        role, k = wrapped(0, lot, 2 * CLOSE)
        foreseen, c = wrapped(0, k, CLOSE)
        away = (c - BESIDE) * role
        scale, rest = unscaled if foreseen else one, np.int64(0)
        for i in range(max(0, BESIDE - c), min(S, S + BESIDE - c)):
            x = pool[at(short + k * S + i)] * pool[at(factor + c * S + i)] * scale
            counted, of = np.int64(x * UNIT + 0.5), class_at(1 - d, i + away, own, work)
            if of == 0:
                rest += counted
            elif counted != 0:
                add_to(chosen, (copy, d, role, of, k), counted)
        add_to(chosen, (copy, d, role, 0, k), rest)
