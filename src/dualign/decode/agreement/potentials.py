"""θ and ω of a sentence pair, from the HMM that was trained on it (MATH §2).

The chain of joint decoding does not remember the position behind a null: from a null every position is
equally near. Otherwise the scores are the logarithms of the model's probabilities (`dualign.model.chain`).
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.chain import FAR, NULL, REACH, START, STARTS
from dualign.model.emission import Block, emissions

__all__ = ["potentials"]


@kernel()
def potentials(n: int, block: Block) -> tuple[Array, Array]:
    """`theta` (I, J + 1, J + 1) and `omega` (J, I + 1, I + 1) of pair n, neither side of which is empty."""
    E0, E1, null0, null1 = emissions(n, block)
    J, I = E0.shape
    theta = chain_scores(I, J, E1, null1, block.weights[1])
    omega = chain_scores(J, I, E0, null0, block.weights[0])
    return theta, omega


@kernel()
def chain_scores(R: int, S: int, E: Array, null: Array, weights: Array) -> Array:
    """Log-probabilities of one chain: [row, position before, position], 0 = null."""
    word = 1.0 - weights[NULL]
    jump = np.empty((S, S))
    for before in range(S):
        total = 0.0
        for i in range(S):
            d = i - before
            jump[before, i] = weights[d + REACH] if -REACH <= d <= REACH else weights[FAR]
            total += jump[before, i]
        for i in range(S):
            jump[before, i] = np.log(word * jump[before, i] / total)
    total = 0.0
    for i in range(S):
        total += weights[START + min(i, STARTS)]
    scores = np.empty((R, S + 1, S + 1))
    for r in range(R):
        nothing = np.log(float(weights[NULL]) * null[r])
        for before in range(S + 1):
            scores[r, before, 0] = nothing
        for i in range(S):
            emission = np.log(float(E[r, i]))
            scores[r, 0, i + 1] = emission + np.log(word / S)
            if r == 0:
                scores[r, 0, i + 1] = emission + np.log(word * weights[START + min(i, STARTS)] / total)
            for before in range(S):
                scores[r, before + 1, i + 1] = emission + jump[before, i]
    return scores
