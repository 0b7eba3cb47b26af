"""θ and ω of a sentence pair, from the HMM that was trained on it (Chang et al. 2014, §4; docs/agreement.md).

The chain of joint decoding does not remember the position behind a null: from a null every position is
equally near, and the end is as far as it is on average. Otherwise the scores are the logarithms of the
model's probabilities (`dualign.infer.chain`).
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.infer.blocks import Block
from dualign.infer.chain import edges_alone
from dualign.infer.emission import emissions, jumps_of, pulls_of
from dualign.model.jumps import BESIDE, NULL, REACH


@kernel()
def potentials(n: int, block: Block) -> tuple[Array, Array]:
    """`theta` (I, J + 1, J + 1) and `omega` (J, I + 1, I + 1) of pair n, neither side of which is empty."""
    E0, E1, null0, null1 = emissions(n, block)
    theta = chain_scores(E1, null1, block.weights[1], jumps_of(n, 1, block), pulls_of(n, 1, block))
    omega = chain_scores(E0, null0, block.weights[0], jumps_of(n, 0, block), pulls_of(n, 0, block))
    return theta, omega


@kernel()
def chain_scores(E: Array, null: Array, weights: Array, jumps: Array, pull: Array) -> Array:
    """Log-probabilities of one chain: [row, position before, position], 0 = null."""
    R, S = E.shape
    edges = edges_alone(R, S, weights, jumps, pull)
    pulled = np.log(1 + pull)
    word = 1.0 - weights[NULL]
    anywhere = np.log(word / S)
    near = np.zeros(2 * S - 1)
    leave = np.empty(S)
    scores = np.empty((R, S + 1, S + 1))
    after = 1 - edges.stop
    for r in range(R):
        if r == R - 1:
            after = edges.stop
        nothing = np.log(float(weights[NULL]) * null[r] * after.mean())
        for before in range(S + 1):
            scores[r, before, 0] = nothing
        if r > 0:
            for d in range(max(-REACH, 1 - S), min(REACH, S - 1) + 1):
                near[S - 1 + d] = np.log(jumps[r - 1, d + REACH])
            for before in range(S):
                leave[before] = np.log(edges.leave[(r - 1) * S + before])
        for i in range(S):
            emission = np.log(float(E[r, i]) * after[i])
            scores[r, 0, i + 1] = emission + (np.log(word * edges.start[i]) if r == 0 else anywhere)
            for before in range(S):
                # Nothing comes before row 0.
                jump = leave[before] + near[S - 1 + i - before] if r > 0 else 0.0
                if r > 0 and abs(i - before) <= BESIDE:
                    jump += pulled[i - before + BESIDE, before]
                scores[r, before + 1, i + 1] = emission + jump
    return scores
