"""The dual problems of a batch's projections: where their numbers are (see `dualign.hmm.projection`).

They include the constraints that are given for single pairs (`dualign.hmm.constraints`). The multipliers that
the projections of a batch end with are kept for the next round of EM, which begins with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array, Rows
from dualign._core.jit import part
from dualign._core.lanes import Vector, exponential, width
from dualign.hmm.batched_chains import Chains
from dualign.hmm.blocks import Batch, Given, Warm
from dualign.hmm.lbfgs import (
    DIAGONAL,
    DIRECTION,
    GRADIENT,
    POINT,
    SLOPE,
    TRIAL,
    TRIAL_GRADIENT,
    StepHistory,
    make_moves,
)

SYMMETRIC, BIJECTIVE, GIVEN = 2, 3, 4
"""Kinds of constraint (0 and 1 mean none: see `dualign.hmm.posteriors`)."""

DAMPING = np.float32(0.02)
"""Added to the diagonal of the Hessian, which vanishes where a posterior is 0 or 1."""

STEP, RESIDUAL, LENGTH, COST, PULL, SHRINK, SHARE = range(2, 9)
"""Further rows of `Dual.lane`, after those of `dualign.hmm.lbfgs`; the share of direction d in the
mixture is at `SHARE + d`."""

VALUE, BEGUN, BASE = range(3)
"""Rows of `Dual.value`: D(λ), D(0), and at `BASE + d` the log-likelihood of p."""

EVALUATIONS, DONE, RETURNING = range(3)
"""Rows of `Dual.state`."""


class Constraint(NamedTuple):
    """How posteriors are constrained: the kind by number, and how exactly."""

    how: int
    slack: float
    tolerance: float
    limit: int
    mixture: bool


class Features(NamedTuple):
    """The constraints of a batch: the kind `how`; `given` lists those of single pairs.

    A pair has `own` multipliers by the kind, and `size` together with the given ones.
    """

    how: int
    own: int
    size: int
    given: Given


class Dual(NamedTuple):
    """The dual problems of a batch, with W lanes next to each other.

    `projected` float32: the emissions of q, as `Chains.emission`. `vector` float32 (8, K · W), with the rows
    of `dualign.hmm.lbfgs`, where K counts the constraints: if symmetric, each cell i · J + j; if
    bijective, each source word, then each target word; then those that are given. `exponent` float32
    (2, cells · W), scratch. `lane` float32 (10, W), `value` float64 (4, W), `state` int64 (3, W): the state
    of each pair's search. Few arrays of many rows, because every array of a kernel's arguments takes time to
    compile.
    """

    projected: Rows
    vector: Rows
    exponent: Rows
    lane: Array
    value: Array
    state: Array
    moves: StepHistory


@part
def make_dual(like: Vector, cells: int, words: int, how: int, given: Given) -> Dual:
    """Room for batches of at most `cells` cells, and `words` words on both sides together."""
    W = width(like)
    size = cells if how == SYMMETRIC else words
    most = 0
    for n in range(len(given.pair_begin) - 1):
        most = max(most, given.pair_begin[n + 1] - given.pair_begin[n])
    size += most
    return Dual(
        np.empty((2, cells * W), np.float32),
        np.empty((8, size * W), np.float32),
        np.empty((2, cells * W if most > 0 else 0), np.float32),
        np.empty((10, W), np.float32),
        np.empty((4, W)),
        np.empty((3, W), np.int64),
        make_moves(like, size),
    )


STEEPEST = np.float32(60)
"""Bound on the exponent of a node that occurs in several constraints."""


@part(allocates=False)
def node_at(e: int, lane: int, W: int, batch: Batch, given: Given) -> tuple[int, int]:
    """Direction of a given node, and its place among the cells."""
    d, i, j = given.node[e, 0], given.node[e, 1], given.node[e, 2]
    cell = j * batch.I + i if d == 0 else i * batch.J + j
    return d, cell * W + lane


@part(allocates=False)
def reweigh_given(lane: int, W: int, batch: Batch, features: Features, chains: Chains, dual: Dual) -> None:
    """Emissions of the nodes that are given for a pair, which may be in several constraints."""
    how, own, _, given = features
    n = batch.pair[lane]
    first = given.pair_begin[n]
    nodes = given.node_begin[first], given.node_begin[given.pair_begin[n + 1]]
    lam = dual.vector[TRIAL]
    for e in range(*nodes):
        d, place = node_at(e, lane, W, batch, given)
        i, j = given.node[e, 1], given.node[e, 2]
        x = np.float32(0)
        if how == SYMMETRIC:
            x = lam[(i * batch.J + j) * W + lane]
            x = -x if d == 0 else x
        elif how == BIJECTIVE:
            x = -lam[(i if d == 0 else batch.I + j) * W + lane]
        dual.exponent[d][place] = x
    for k in range(first, given.pair_begin[n + 1]):
        for e in range(given.node_begin[k], given.node_begin[k + 1]):
            d, place = node_at(e, lane, W, batch, given)
            dual.exponent[d][place] -= given.coefficient[e] * lam[(own + k - first) * W + lane]
    for e in range(*nodes):
        d, place = node_at(e, lane, W, batch, given)
        x = min(max(dual.exponent[d][place], -STEEPEST), STEEPEST)
        dual.projected[d][place] = chains.emission[d][place] * exponential(x)


@part(allocates=False)
def expect_given(lane: int, W: int, batch: Batch, features: Features, chains: Chains, dual: Dual) -> None:
    """`b − E_q[f]` and the diagonal of the Hessian for a pair's given constraints."""
    _, own, size, given = features
    n = batch.pair[lane]
    for k in range(own, size):
        c = given.pair_begin[n] + k - own
        mean, varied = np.float32(0), DAMPING
        if c < given.pair_begin[n + 1]:
            mean = given.bound[c]
            for e in range(given.node_begin[c], given.node_begin[c + 1]):
                d, place = node_at(e, lane, W, batch, given)
                p, f = chains.posterior[d][place], given.coefficient[e]
                mean -= f * p * dual.lane[SHARE + d, lane]
                varied += f * f * p * (np.float32(1) - p)
        dual.vector[TRIAL_GRADIENT][k * W + lane] = mean
        dual.vector[DIAGONAL][k * W + lane] = varied


MOVED = np.float32(0.05)
"""A multiplier smaller than this is not worth remembering."""


@part(allocates=False)
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


@part(allocates=False)
def load_multipliers(
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


@part(allocates=False)
def store_multipliers(
    lane: int, W: int, batch: Batch, features: Features, warm: Warm, length: Array, dual: Dual
) -> None:
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
