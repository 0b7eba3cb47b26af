"""Statistics of a pair's chains, which EM needs: what a warp learns of their jumps, starts and stops."""

from __future__ import annotations

import numpy as np

from dualign.engines.cuda.device import card_function
from dualign.engines.cuda.edges import NO_WORD, class_at, jump_weight
from dualign.engines.cuda.layout import (  # fmt: skip
    CHOSEN,
    HERE,
    JUMPS,
    KNOWN,
    LEAVE,
    MASS,
    RATE,
    SCALES,
    SHORT,
    VISITS,
    LaunchArguments,
    WarpState,
    line_at,
    sides,
)
from dualign.engines.cuda.warps import LANES, add_to, at, meet, total, wrapped
from dualign.hmm.chain import STATISTICS
from dualign.hmm.jumps import BESIDE, CLOSE, NEAR, REACH, STARTS
from dualign.hmm.statistics import UNIT

COPIES = 64
"""Arrays of statistics, of which a pair uses one: fewer lanes add to the same number."""

FEW_COPIES = 16
"""Likewise, where a pair adds once for each chain, not for each row."""

FAVOURED = STATISTICS
"""Where the shared line KNOWN goes on with statistics of a row in which the chosen words' factors count."""


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
