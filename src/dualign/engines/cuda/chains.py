"""The two chains of a pair, handled by a warp: `dualign.hmm.chain` with a lane for each state, or a few.

The rows of a chain wait for each other. What one row hands to the next is in shared lines, where a lane finds
the states around its own; the sums of a row are added by all lanes together.
"""

from __future__ import annotations

import math

import numpy as np

from dualign.engines.cuda.device import card_function
from dualign.engines.cuda.edges import NO_WORD
from dualign.engines.cuda.layout import (  # fmt: skip
    AHEAD,
    CHOSEN,
    EMISSION,
    HERE,
    JUMPS,
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
    LaunchArguments,
    WarpState,
    line_at,
    sides,
)
from dualign.engines.cuda.statistics import add_close, add_visits, begin_visits, count_jumps
from dualign.engines.cuda.warps import LANES, at, meet, total
from dualign.hmm.jumps import BESIDE, CLOSE, NEAR, REACH, STOP, STOPS


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
