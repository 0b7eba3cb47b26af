"""The dual problems of a batch's projections: where their numbers are (see `dualign.infer.projection`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array, Rows
from dualign.core.jit import kernel
from dualign.core.lanes import Vector, width
from dualign.infer.blocks import Given
from dualign.infer.descent import Moves, make_moves

SYMMETRIC, BIJECTIVE, GIVEN = 2, 3, 4
"""Kinds of constraint (0 and 1 mean none: see `dualign.infer.posteriors`)."""

DAMPING = np.float32(0.02)
"""Added to the diagonal of the Hessian, which vanishes where a posterior is 0 or 1."""

STEP, RESIDUAL, LENGTH, COST, PULL, SHRINK, SHARE = range(2, 9)
"""Further rows of `Dual.lane`, after those of `dualign.infer.descent`; the share of direction d in the
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
    of `dualign.infer.descent`, where K counts the constraints: if symmetric, each cell i · J + j; if
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
    moves: Moves


@kernel()
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
