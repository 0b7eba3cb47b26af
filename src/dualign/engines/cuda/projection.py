"""Projection of a pair's posteriors by a warp: `dualign.hmm.projection` and `dualign.hmm.lbfgs`.

A lane has every 32nd multiplier, and the same of all vectors: it needs no others', but for sums. All lanes
have the same numbers in `Search`, and so do the same.
"""

from __future__ import annotations

import math

import numpy as np

from dualign.engines.cuda.chains import run_chains
from dualign.engines.cuda.device import card_function
from dualign.engines.cuda.layout import (
    CHANGES,
    DIAGONAL,
    DIRECTION,
    EMISSION,
    FRESH,
    GRADIENT,
    LANES,
    POINT,
    POSTERIOR,
    PROJECTED,
    STEPS,
    TRIAL,
    TRIAL_GRADIENT,
    LaunchArguments,
    WarpState,
    at,
    meet,
    total,
    wrapped,
)
from dualign.hmm.lbfgs import ACCEPTED, MEMORY, MOST, SCALE, SLOPE
from dualign.hmm.multipliers import (  # fmt: skip
    BASE,
    BEGUN,
    BIJECTIVE,
    COST,
    DAMPING,
    DONE,
    EVALUATIONS,
    LENGTH,
    PULL,
    RESIDUAL,
    RETURNING,
    SHARE,
    SHRINK,
    STEP,
    SYMMETRIC,
    VALUE,
)
from dualign.hmm.projection import SURE, line_search, pull_back, weigh_directions

card_line_search, card_pull_back = card_function(line_search), card_function(pull_back)
card_weigh_directions = card_function(weigh_directions)


@card_function
def project(lane: int, own: WarpState, work: LaunchArguments) -> int:
    """Project a pair, whose emissions and edges are there; 0 if its posteriors are left as they are."""
    pool, size, search, how = own.pool, own.size, own.search, work.constraint.how
    point, direction = own.vectors + POINT * size, own.vectors + DIRECTION * size
    for k in range(lane, size, LANES):
        pool[at(point + k)] = pool[at(direction + k)] = 0
    search.state[EVALUATIONS, 0] = search.state[DONE, 0] = search.state[RETURNING, 0] = 0
    search.lane[STEP, 0] = search.lane[SLOPE, 0] = 0
    search.value[VALUE, 0] = search.value[BEGUN, 0] = 0
    search.ring[SCALE] = 1
    moves = moved = 0
    while True:
        try_step(lane, own, work)
        if moved:
            reweigh(lane, own, work)
        run_chains(lane, (PROJECTED if moved else EMISSION) * own.c, 0, own, work)
        if not moved:
            for d in range(2):
                search.value[BASE + d, 0] = search.likelihood[d, 0]
        measure(lane, own, work)
        card_line_search(0, work.constraint, search.likelihood, search)
        if moved:
            remember(lane, moves, own)
            moves += 1
        if search.state[DONE, 0]:
            return moved
        if not moved:
            scale_first_step(lane, how, own)
        # A pair that was refused keeps its direction, and takes a shorter step.
        if search.lane[ACCEPTED, 0]:
            descend(lane, moves, own, work)
        moved = 1


@card_function
def least_of(how: int) -> np.float32:
    """The lower bound of the multipliers."""
    return np.float32(0) if how == BIJECTIVE else -MOST


@card_function
def free(x: np.float32, g: np.float32, least: np.float32) -> bool:
    """Whether descent may move a multiplier: not if it would go over a bound at which it stands."""
    return not ((x <= least and g > 0) or (x >= MOST and g < 0))


@card_function
def dot(lane: int, a: int, b: int, own: WarpState) -> np.float32:
    """The inner product of the vectors that begin there."""
    y = np.float32(0)
    for k in range(lane, own.size, LANES):
        y += own.pool[at(a + k)] * own.pool[at(b + k)]
    return total(y)


@card_function
def try_step(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """The trial point, within its bounds; its length and cost."""
    pool, size, search = own.pool, own.size, own.search
    point, trial = own.vectors + POINT * size, own.vectors + TRIAL * size
    direction, step = own.vectors + DIRECTION * size, search.lane[STEP, 0]
    least = least_of(work.constraint.how)
    length = cost = np.float32(0)
    for k in range(lane, size, LANES):
        x = pool[at(point + k)]
        if step > 0:
            x = min(max(x + step * pool[at(direction + k)], least), MOST)
        pool[at(trial + k)] = x
        length += x * x
        cost += x
    search.lane[LENGTH, 0] = math.sqrt(total(length))
    search.lane[COST, 0] = total(cost) if work.constraint.how == BIJECTIVE else np.float32(0)


@card_function
def reweigh(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """Emissions of q: each node's own times `exp(−Σ λ · coefficient)` over the constraints it occurs in."""
    pool, c, trial = own.pool, own.c, own.vectors + TRIAL * own.size
    meet()
    i, j = wrapped(0, lane, own.J)
    for k in range(lane, c, LANES):
        there = j * own.I + i
        if work.constraint.how == SYMMETRIC:
            x = math.exp(pool[at(trial + k)])
            y = x
        else:
            x, y = math.exp(pool[at(trial + i)]), math.exp(-pool[at(trial + own.I + j)])
        pool[at(PROJECTED * c + there)] = pool[at(EMISSION * c + there)] / x
        pool[at((PROJECTED + 1) * c + k)] = pool[at((EMISSION + 1) * c + k)] * y
        i, j = wrapped(i, j + LANES, own.J)


@card_function
def expect_features(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """`b − E_q[f]` into the trial gradient, and the inverse of the Hessian's diagonal."""
    pool, I, J, c, size = own.pool, own.I, own.J, own.c, own.size
    g, h = own.vectors + TRIAL_GRADIENT * size, own.vectors + DIAGONAL * size
    u0, u1, one = own.search.lane[SHARE, 0], own.search.lane[SHARE + 1, 0], np.float32(1)
    i, j = wrapped(0, lane, J)
    for k in range(lane, size, LANES):
        chosen, varied = one, DAMPING
        if work.constraint.how == SYMMETRIC:
            p, q = pool[at(POSTERIOR * c + j * I + i)], pool[at((POSTERIOR + 1) * c + k)]
            chosen = q * u1 - p * u0
            varied += p * (one - p) + q * (one - q)
            i, j = wrapped(i, j + LANES, J)
        else:
            first, row, rows = (POSTERIOR * c + k, I, J) if k < I else ((POSTERIOR + 1) * c + k - I, J, I)
            for r in range(rows):
                p = pool[at(first + r * row)]
                chosen -= p
                varied += p * (one - p)
        pool[at(g + k)] = chosen
        pool[at(h + k)] = one / varied


@card_function
def measure(lane: int, own: WarpState, work: LaunchArguments) -> None:
    """`trial_gradient = b − E_q[f] + ε λ/‖λ‖`, the inverse of the Hessian's diagonal, and the `residual`."""
    pool, size, search, least = own.pool, own.size, own.search, least_of(work.constraint.how)
    card_weigh_directions(0, work.constraint, search.likelihood, search)
    expect_features(lane, own, work)
    g, trial = own.vectors + TRIAL_GRADIENT * size, own.vectors + TRIAL * size
    violation = residual = np.float32(0)
    if search.lane[LENGTH, 0] == 0:
        for k in range(lane, size, LANES):
            x = pool[at(g + k)]
            if x < 0 or least < 0:
                violation += x * x
        violation = total(violation)
    search.lane[RESIDUAL, 0] = violation
    card_pull_back(0, work.constraint, search)
    pull, shrink = search.lane[PULL, 0], search.lane[SHRINK, 0]
    for k in range(lane, size, LANES):
        x = pool[at(g + k)] * shrink + pull * pool[at(trial + k)]
        pool[at(g + k)] = x
        if free(pool[at(trial + k)], x, least):
            residual += x * x
    search.lane[RESIDUAL, 0] = math.sqrt(total(residual))


@card_function
def scale_first_step(lane: int, how: int, own: WarpState) -> None:
    """Take over the first gradient, and scale the first step so that symmetric cells meet."""
    pool, c, size = own.pool, own.c, own.size
    one, half = np.float32(1), np.float32(0.5)
    i, j = wrapped(0, lane, own.J)
    for k in range(lane, size, LANES):
        pool[at(own.vectors + GRADIENT * size + k)] = pool[at(own.vectors + TRIAL_GRADIENT * size + k)]
        if how == SYMMETRIC:
            p = min(max(pool[at(POSTERIOR * c + j * own.I + i)], SURE), one - SURE)
            q = min(max(pool[at((POSTERIOR + 1) * c + k)], SURE), one - SURE)
            if abs(p - q) > SURE:
                odds = math.log(p * (one - q) / (q * (one - p)))
                pool[at(own.vectors + DIAGONAL * size + k)] = half * odds / (p - q)
            i, j = wrapped(i, j + LANES, own.J)


@card_function
def remember(lane: int, number: int, own: WarpState) -> None:
    """Go to the trial point if it was accepted, and keep the move as number `number`."""
    pool, size, search, m = own.pool, own.size, own.search, number % MEMORY
    search.ring[m] = 0
    if not search.lane[ACCEPTED, 0]:
        return
    point, gradient = own.vectors + POINT * size, own.vectors + GRADIENT * size
    trial, trial_gradient = own.vectors + TRIAL * size, own.vectors + TRIAL_GRADIENT * size
    step, change = own.vectors + (STEPS + m) * size, own.vectors + (CHANGES + m) * size
    product = np.float32(0)
    for k in range(lane, size, LANES):
        x, g = pool[at(trial + k)], pool[at(trial_gradient + k)]
        s, y = x - pool[at(point + k)], g - pool[at(gradient + k)]
        pool[at(step + k)], pool[at(change + k)] = s, y
        product += s * y
        pool[at(point + k)], pool[at(gradient + k)] = x, g
    product = total(product)
    if product > np.float32(1e-10):
        search.ring[m] = np.float32(1) / product


@card_function
def descend(lane: int, number: int, own: WarpState, work: LaunchArguments) -> None:
    """`direction = −H · gradient` by the two-loop recursion over the `number` moves so far, and its slope."""
    pool, size, ring, least = own.pool, own.size, own.search.ring, least_of(work.constraint.how)
    point, gradient = own.vectors + POINT * size, own.vectors + GRADIENT * size
    fresh, diagonal = own.vectors + FRESH * size, own.vectors + DIAGONAL * size
    steps, changes = own.vectors + STEPS * size, own.vectors + CHANGES * size
    for k in range(lane, size, LANES):
        g = pool[at(gradient + k)]
        pool[at(fresh + k)] = g if free(pool[at(point + k)], g, least) else np.float32(0)
    oldest = max(0, number - MEMORY)
    for r in range(number - 1, oldest - 1, -1):
        m = r % MEMORY
        if ring[m] > 0:
            w = dot(lane, steps + m * size, fresh, own) * ring[m]
            ring[MEMORY + m] = w
            for k in range(lane, size, LANES):
                pool[at(fresh + k)] -= w * pool[at(changes + m * size + k)]
    m = (number - 1) % MEMORY
    # If the last move has no weight, the scale of the one before is kept.
    if number > 0 and ring[m] > 0:
        curved = np.float32(0)
        for k in range(lane, size, LANES):
            y = pool[at(changes + m * size + k)]
            curved += y * pool[at(diagonal + k)] * y
        ring[SCALE] = np.float32(1) / (ring[m] * total(curved))
    scale = ring[SCALE] if number > 0 else np.float32(1)
    for k in range(lane, size, LANES):
        pool[at(fresh + k)] *= pool[at(diagonal + k)] * scale
    for r in range(oldest, number):
        m = r % MEMORY
        if ring[m] > 0:
            w = ring[MEMORY + m] - dot(lane, changes + m * size, fresh, own) * ring[m]
            for k in range(lane, size, LANES):
                pool[at(fresh + k)] += w * pool[at(steps + m * size + k)]
    take_direction(lane, own, least)


@card_function
def take_direction(lane: int, own: WarpState, least: np.float32) -> None:
    """The direction against `fresh`, or against the gradient if that does not lead down; its slope."""
    pool, size = own.pool, own.size
    point, gradient = own.vectors + POINT * size, own.vectors + GRADIENT * size
    fresh, direction = own.vectors + FRESH * size, own.vectors + DIRECTION * size
    falling = steepest = np.float32(0)
    for k in range(lane, size, LANES):
        g = pool[at(gradient + k)]
        if free(pool[at(point + k)], g, least):
            falling -= pool[at(fresh + k)] * g
            steepest -= g * g
    falling, steepest = total(falling), total(steepest)
    for k in range(lane, size, LANES):
        g = pool[at(gradient + k)]
        x = pool[at(fresh + k)] if falling < 0 else g
        pool[at(direction + k)] = -x if free(pool[at(point + k)], g, least) else np.float32(0)
    own.search.lane[SLOPE, 0] = falling if falling < 0 else steepest
