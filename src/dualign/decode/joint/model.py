"""What a search still allows: masks over a_i = j and b_j = i, kept consistent with each other.

`x[i, j]`: a_i may be j (column 0: null); `y[i, j]`: b_j may be i (row 0: null). Row 0 of x and column 0 of y
are not used.

θ and ω of a sentence pair, from the HMM that was trained on it (Chang et al. 2014, §4; docs/agreement.md).

The chain of joint decoding does not remember the position behind a null: from a null every position is
equally near, and the end is as far as it is on average. Otherwise the scores are the logarithms of the
model's probabilities (`dualign.hmm.chain`).

What is maximised: two chains, and what their links cost each other (docs/agreement.md).

    Σ_i θ(a_{i−1}, i, a_i) + Σ_j ω(b_{j−1}, b_j, j) + Σ_{a_i>0} cost(i, b_{a_i}) + Σ_{b_j>0} cost(j, a_{b_j})

A link's cost is 0 if its counterpart in the other direction is the same link, α if that is one position off,
γ if it is further off or null. Adjacent agreement is γ = −∞, full agreement α = γ = −∞, and α = γ = 0 are two
independent chains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import IMPOSSIBLE, NEVER
from dualign.hmm.batched_chains import close_gains, emissions, jumps_of
from dualign.hmm.blocks import Block
from dualign.hmm.chain import edges_alone
from dualign.hmm.jumps import BESIDE, NULL, REACH


@kernel
def potentials(n: int, block: Block) -> tuple[Array, Array]:
    """`theta` (I, J + 1, J + 1) and `omega` (J, I + 1, I + 1) of pair n, neither side of which is empty."""
    E0, E1, null0, null1 = emissions(n, block)
    theta = chain_scores(E1, null1, block.weights[1], jumps_of(n, 1, block), close_gains(n, 1, block))
    omega = chain_scores(E0, null0, block.weights[0], jumps_of(n, 0, block), close_gains(n, 0, block))
    return theta, omega


@part
def chain_scores(E: Array, null: Array, weights: Array, jumps: Array, gain: Array) -> Array:
    """Log-probabilities of one chain: [row, position before, position], 0 = null."""
    R, S = E.shape
    edges = edges_alone(R, S, weights, jumps, gain)
    log_gain = np.log(1 + gain)
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
                    jump += log_gain[i - before + BESIDE, before]
                scores[r, before + 1, i + 1] = emission + jump
    return scores


class JointProblem(NamedTuple):
    """`theta` float64 (I, J + 1, J + 1): [i − 1, j before, j]; `omega` float64 (J, I + 1, I + 1) likewise.

    0 is null; −∞ is written `NEVER`. `alpha` and `gamma` are floats: kernels would be compiled anew for ints.
    """

    theta: Array
    omega: Array
    alpha: float
    gamma: float


@part(allocates=False)
def link_cost(place: int, other: int, alpha: float, gamma: float) -> float:
    """Cost of a link at `place` whose counterpart is at `other` (0 = null)."""
    if other == place:
        return 0.0
    return alpha if other > 0 and abs(other - place) == 1 else gamma


@part
def score(problem: JointProblem, a: Array, b: Array) -> float:
    """The objective of a, int64 (I + 1), and b, int64 (J + 1), whose entries 0 are 0; NEVER if forbidden."""
    total = 0.0
    for i in range(1, len(a)):
        total += problem.theta[i - 1, a[i - 1], a[i]]
        if a[i] > 0:
            total += link_cost(i, b[a[i]], problem.alpha, problem.gamma)
    for j in range(1, len(b)):
        total += problem.omega[j - 1, b[j - 1], b[j]]
        if b[j] > 0:
            total += link_cost(j, a[b[j]], problem.alpha, problem.gamma)
    return total if total > IMPOSSIBLE else NEVER


compiled_score = kernel(score)


class Masks(NamedTuple):
    """Two uint8 arrays (I + 1, J + 1)."""

    x: Array
    y: Array


def all_allowed(I: int, J: int) -> Masks:
    """Nothing excluded yet."""
    return Masks(np.ones((I + 1, J + 1), np.uint8), np.ones((I + 1, J + 1), np.uint8))


def copied(masks: Masks) -> Masks:
    """A copy that can be changed on its own."""
    return Masks(masks.x.copy(), masks.y.copy())


def decided(masks: Masks) -> bool:
    """Whether every row and every column has one choice left."""
    return bool((masks.x[1:].sum(axis=1) <= 1).all() and (masks.y[:, 1:].sum(axis=0) <= 1).all())


@part
def propagate(masks: Masks, strict: bool) -> bool:
    """Remove what cannot be part of any solution; False if some row or column has no choice left.

    If `strict` (every link needs a counterpart at most one position off), a link survives only while a
    neighbour can support it, and a row or column with one choice left excludes what contradicts it.
    """
    x, y = masks
    I, J = x.shape[0] - 1, x.shape[1] - 1
    changed = True
    while changed:
        rows = settle_rows(x, y, strict)
        columns = settle_rows(y.T, x.T, strict) if rows >= 0 else -1
        if columns < 0:
            return False
        changed = rows + columns > 0
        if not strict:
            continue
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                if x[i, j] and not (y[i, j] or (i > 1 and y[i - 1, j]) or (i < I and y[i + 1, j])):
                    x[i, j] = 0
                    changed = True
                if y[i, j] and not (x[i, j] or (j > 1 and x[i, j - 1]) or (j < J and x[i, j + 1])):
                    y[i, j] = 0
                    changed = True
    return True


compiled_propagate = kernel(propagate)


@part
def settle_rows(x: Array, y: Array, strict: bool) -> int:
    """Where a row of x has one choice left, exclude the y that contradict it, if `strict`.

    Returns how many were excluded, or −1 if some row has no choice at all.
    """
    gone = 0
    for i in range(1, x.shape[0]):
        only = choices = 0
        for j in range(x.shape[1]):
            if x[i, j]:
                choices += 1
                only = j
        if choices == 0:
            return -1
        if not strict or choices > 1:
            continue
        for j in range(1, x.shape[1]):
            if y[i, j] and (only == 0 or abs(j - only) > 1):
                y[i, j] = 0
                gone += 1
        for k in range(x.shape[0] if only > 0 else 0):
            if y[k, only] and (k == 0 or abs(k - i) > 1):
                y[k, only] = 0
                gone += 1
    return gone
