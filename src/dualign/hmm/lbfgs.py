"""L-BFGS for several problems in step, one in each lane: `min D(x)` where `least ≤ x ≤ MOST`.

The initial matrix is given, a diagonal for each problem: the better it is, the fewer evaluations are needed.
A coordinate at a bound is held there if descent would push it over. The moves of the last evaluations are
kept in a ring; the move of a problem whose step was refused, or along which the slope did not rise, has no
weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array, Rows
from dualign._core.jit import part
from dualign._core.lanes import Vector, fused, load, spread, store, where_positive, width

POINT, GRADIENT, TRIAL, TRIAL_GRADIENT, DIRECTION, DIAGONAL, BOUND, LEAST = range(8)
"""Rows of `vector` float32 (8, size · W): x and its gradient, the trial point and its gradient, the
direction, the initial matrix, a row for the caller, and the lower bound of x."""

ACCEPTED, SLOPE = range(2)
"""The first rows of `lane` float32 (≥2, W): whether a trial was accepted, and the slope of the direction."""

MEMORY = 8
"""Moves that are remembered."""

SCALE = 2 * MEMORY

MOST = np.float32(40)
"""Bound on a coordinate: exp(x) must stay well within float32."""


class StepHistory(NamedTuple):
    """The last moves: `step`, `change` float32 (MEMORY, size), of x and of its gradient; `fresh` float32
    (size), scratch. `ring` float32 (2 · MEMORY + 1, W): for each move 1 / step · change, or 0 if it has no
    weight; then scratch for each move; then, at SCALE, by how much the given diagonal is off.
    """

    step: Rows
    change: Rows
    fresh: Array
    ring: Array


@part
def make_moves(like: Vector, size: int) -> StepHistory:
    """Room for problems with `size` coordinates."""
    W = width(like)
    return StepHistory(
        np.empty((MEMORY, size * W), np.float32),
        np.empty((MEMORY, size * W), np.float32),
        np.empty(size * W, np.float32),
        np.empty((SCALE + 1, W), np.float32),
    )


@part(allocates=False)
def unheld(x: Vector, g: Vector, least: Vector, value: Vector) -> Vector:
    """The value, or 0 where descent would push x over a bound at which it stands."""
    zero = np.float32(0)
    value = where_positive(x - least, value, where_positive(g, zero, value))
    return where_positive(MOST - x, value, where_positive(zero - g, zero, value))


@part(allocates=False)
def dot(like: Vector, size: int, rows: tuple[int, int], a: Array, b: Array) -> Vector:
    """Inner products of the first `size` numbers in each lane.

    `rows`: how many rows they begin with, and of what length; what is left is summed one by one. The sums of
    rows need not wait for each other, and zeros at the end of a row or whole rows of them change nothing, so
    that problems of different sizes may share a layout.
    """
    W = width(like)
    z = spread(like, np.float32(0))
    number, row = rows
    for r in range(number):
        y = spread(like, np.float32(0))
        for k in range(r * row * W, (r + 1) * row * W, W):
            y = fused(load(like, a, k), load(like, b, k), y)
        z = z + y
    for k in range(number * row * W, size * W, W):
        z = fused(load(like, a, k), load(like, b, k), z)
    return z


@part(allocates=False)
def add_times(like: Vector, size: int, factor: Vector, a: Array, b: Array) -> None:
    """`b += factor · a`."""
    W = width(like)
    for k in range(0, size * W, W):
        store(b, k, fused(factor, load(like, a, k), load(like, b, k)))


@part(allocates=False)
def remember(like: Vector, size: int, number: int, vector: Array, lane: Array, moves: StepHistory) -> None:
    """Go to the trial point in the lanes where ACCEPTED is 1, and keep the move as number `number`."""
    W = width(like)
    x, gradient, trial, trial_gradient = (
        vector[POINT],
        vector[GRADIENT],
        vector[TRIAL],
        vector[TRIAL_GRADIENT],
    )
    yes, none = load(like, lane[ACCEPTED], 0), spread(like, np.float32(0))
    s, y = moves.step[number % MEMORY], moves.change[number % MEMORY]
    product = none
    for k in range(0, size * W, W):
        old, new = load(like, x, k), load(like, trial, k)
        before, after = load(like, gradient, k), load(like, trial_gradient, k)
        step, change = where_positive(yes, new - old, none), where_positive(yes, after - before, none)
        store(s, k, step)
        store(y, k, change)
        product = fused(step, change, product)
        store(x, k, where_positive(yes, new, old))
        store(gradient, k, where_positive(yes, after, before))
    inverse = where_positive(product - np.float32(1e-10), np.float32(1) / product, none)
    store(moves.ring[number % MEMORY], 0, inverse)


@part(allocates=False)
def descend(
    like: Vector,
    size: int,
    rows: tuple[int, int],
    number: int,
    vector: Array,
    lane: Array,
    moves: StepHistory,
) -> None:
    """`direction = −H · gradient` by the two-loop recursion over the `number` moves so far.

    In the lanes where ACCEPTED is 1; the others keep their direction. `rows`: see `dot`. SLOPE becomes the
    directions' inner products with the gradient, below 0.
    """
    W = width(like)
    x, gradient, diagonal, least = vector[POINT], vector[GRADIENT], vector[DIAGONAL], vector[LEAST]
    direction, slope = vector[DIRECTION], lane[SLOPE]
    one, none = np.float32(1), spread(like, np.float32(0))
    fresh = moves.fresh
    for k in range(0, size * W, W):
        g = load(like, gradient, k)
        store(fresh, k, unheld(load(like, x, k), g, load(like, least, k), g))
    oldest = max(0, number - MEMORY)
    for r in range(number - 1, oldest - 1, -1):
        m = r % MEMORY
        w = dot(like, size, rows, moves.step[m], fresh) * load(like, moves.ring[m], 0)
        store(moves.ring[MEMORY + m], 0, w)
        add_times(like, size, none - w, moves.change[m], fresh)
    scale = spread(like, one)
    if number > 0:
        y, inverse = moves.change[(number - 1) % MEMORY], load(like, moves.ring[(number - 1) % MEMORY], 0)
        curved = none
        for k in range(0, size * W, W):
            c = load(like, y, k)
            curved = fused(c * load(like, diagonal, k), c, curved)
        # If the last move has no weight, the scale of the one before is kept.
        scale = where_positive(inverse, one / (inverse * curved), load(like, moves.ring[SCALE], 0))
    store(moves.ring[SCALE], 0, scale)
    for k in range(0, size * W, W):
        store(fresh, k, load(like, fresh, k) * load(like, diagonal, k) * scale)
    for r in range(oldest, number):
        m = r % MEMORY
        w = dot(like, size, rows, moves.change[m], fresh) * load(like, moves.ring[m], 0)
        add_times(like, size, load(like, moves.ring[MEMORY + m], 0) - w, moves.step[m], fresh)
    falling = steepest = none
    for k in range(0, size * W, W):
        g = load(like, gradient, k)
        d = none - unheld(load(like, x, k), g, load(like, least, k), load(like, fresh, k))
        store(fresh, k, d)
        falling = fused(d, g, falling)
        free = unheld(load(like, x, k), g, load(like, least, k), g)
        steepest = fused(none - free, free, steepest)
    yes = load(like, lane[ACCEPTED], 0)
    good = none - falling
    for k in range(0, size * W, W):
        g = load(like, gradient, k)
        free = unheld(load(like, x, k), g, load(like, least, k), g)
        d = where_positive(good, load(like, fresh, k), none - free)
        store(direction, k, where_positive(yes, d, load(like, direction, k)))
    falling = where_positive(good, falling, steepest)
    store(slope, 0, where_positive(yes, falling, load(like, slope, 0)))
