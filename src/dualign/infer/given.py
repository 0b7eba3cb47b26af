"""Constraints that are given for single pairs (`dualign.infer.constraints`) in the dual of a batch."""

from __future__ import annotations

import numpy as np

from dualign.core.jit import kernel
from dualign.core.lanes import exponential
from dualign.infer.blocks import Batch, Given
from dualign.infer.chains import Chains
from dualign.infer.descent import DIAGONAL, TRIAL, TRIAL_GRADIENT
from dualign.infer.multipliers import BIJECTIVE, DAMPING, SHARE, SYMMETRIC, Dual, Features

STEEPEST = np.float32(60)
"""Bound on the exponent of a node that occurs in several constraints."""


@kernel(allocates=False)
def node_at(e: int, lane: int, W: int, batch: Batch, given: Given) -> tuple[int, int]:
    """Direction of a given node, and its place among the cells."""
    d, i, j = given.node[e, 0], given.node[e, 1], given.node[e, 2]
    cell = j * batch.I + i if d == 0 else i * batch.J + j
    return d, cell * W + lane


@kernel(allocates=False)
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


@kernel(allocates=False)
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
