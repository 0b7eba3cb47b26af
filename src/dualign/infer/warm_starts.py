"""Multipliers that the projections of a batch end with, where the next round of EM begins."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Batch, Warm
from dualign.infer.descent import DIRECTION, GRADIENT, POINT, SLOPE
from dualign.infer.multipliers import BIJECTIVE, DONE, SYMMETRIC, Dual, Features

MOVED = np.float32(0.05)
"""A multiplier smaller than this is not worth remembering."""


@kernel(allocates=False)
def place_of(key: int, lane: int, W: int, batch: Batch, features: Features, length: Array) -> int:
    """Where the multiplier with that key is: keys count a pair's own cells or words, then those given."""
    how, own = features.how, features.own
    J, I = length[0, lane], length[1, lane]
    if how == SYMMETRIC:
        k = key // J * batch.J + key % J if key < I * J else own + key - I * J
    elif how == BIJECTIVE:
        k = key if key < I else batch.I + key - I if key < I + J else own + key - I - J
    else:
        k = key
    return int(k * W + lane)


@kernel(allocates=False)
def recall(
    lane: int, W: int, batch: Batch, features: Features, warm: Warm, length: Array, dual: Dual
) -> None:
    """Let the first step lead to the multipliers that the pair ended with before, if that is downhill."""
    if dual.state[DONE, lane]:
        return
    n = batch.pair[lane]
    slope = np.float32(0)
    for w in range(warm.begin[n], warm.begin[n] + warm.used[n]):
        place = place_of(warm.key[w], lane, W, batch, features, length)
        slope += warm.value[w] * dual.vector[GRADIENT][place]
    if slope >= 0:
        return
    dual.lane[SLOPE, lane] = slope
    direction = dual.vector[DIRECTION]
    for k in range(features.size):
        direction[k * W + lane] = 0
    for w in range(warm.begin[n], warm.begin[n] + warm.used[n]):
        direction[place_of(warm.key[w], lane, W, batch, features, length)] = warm.value[w]


@kernel(allocates=False)
def keep(lane: int, W: int, batch: Batch, features: Features, warm: Warm, length: Array, dual: Dual) -> None:
    """Remember the multipliers of a pair, as many as there is room for: see `Warm`."""
    n = batch.pair[lane]
    J, I = length[0, lane], length[1, lane]
    how, own, size, given = features
    keys = 0
    if how == SYMMETRIC:
        keys = I * J
    elif how == BIJECTIVE:
        keys = I + J
    first = keys
    if size > own:
        keys += given.pair_begin[n + 1] - given.pair_begin[n]
    w, end, lam = warm.begin[n], warm.begin[n + 1], dual.vector[POINT]
    # Those given first, which take longest to find.
    for k in range(keys):
        key = (first + k) % keys
        x = lam[place_of(key, lane, W, batch, features, length)]
        if abs(x) > MOVED and w < end:
            warm.key[w] = key
            warm.value[w] = x
            w += 1
    warm.used[n] = w - warm.begin[n]
