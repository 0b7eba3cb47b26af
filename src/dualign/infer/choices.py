"""Words that choose without looking at their neighbours, by position tables, as in IBM Models 1 and 2."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Block


@kernel()
def priors_of(n: int, I: int, J: int, block: Block) -> tuple[Array, Array]:
    """The position tables of pair n: (J, I + 1) where target words choose, (I, J + 1) for the others."""
    begin = block.prior_begin[n]
    middle = begin + J * (I + 1)
    end = middle + I * (J + 1)
    return block.prior[begin:middle].reshape(J, I + 1), block.prior[middle:end].reshape(I, J + 1)


@kernel()
def independent(R: int, S: int, E: Array, null: Array, prior: Array, A: Array) -> float:
    """Posteriors `A[j, i]` of rows that choose by `prior` (R, S + 1), null first; log-likelihood."""
    likelihood = 0.0
    for j in range(R):
        z = prior[j, 0] * null[j]
        for i in range(S):
            A[j, i] = prior[j, i + 1] * E[j, i]
            z += A[j, i]
        likelihood += np.log(z)
        for i in range(S):
            A[j, i] /= z
    return likelihood


@kernel()
def best_choices(R: int, S: int, E: Array, null: Array, prior: Array, path: Array) -> None:
    """The most probable choice of each row into `path` (≥R): a state, or −1 for null."""
    for j in range(R):
        best = prior[j, 0] * null[j]
        path[j] = -1
        for i in range(S):
            if prior[j, i + 1] * E[j, i] > best:
                best = prior[j, i + 1] * E[j, i]
                path[j] = i
