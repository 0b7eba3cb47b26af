"""Symmetric projection of one sentence pair's posteriors (Graça et al. 2010, §3.4).

The two chains' joint posterior p0 · p1 is replaced by the closest q0 · q1 (in KL) whose link posteriors
agree, `q0(b_j = i) = q1(a_i = j)` for every cell up to a slack: the norm of all differences is at most ε.
The dual has one multiplier a cell, free in sign:

    min_λ  D(λ) = log Z0(λ) + log Z1(λ) + ε ‖λ‖,      emissions E0 · exp(−λ) and E1 · exp(+λ),
    ∂D/∂λ_ij (without the last term) = q1_ij − q0_ij.

With `mixture`, the paper's own form: q is a mixture of the two directions, `log Z` is that of
`½ Z0(λ)/Z0(0) + ½ Z1(λ)/Z1(0)` (Eq. 15), and the posteriors in the constraint carry the mixture weights.

Solved by L-BFGS with a backtracking line search. Its initial matrix is the diagonal of the Hessian, which is
known for free, `q0(1 − q0) + q1(1 − q1)`: that halves the number of evaluations. A pair that satisfies the
constraint at once costs one evaluation (forward-backward of both chains).
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.chain import forward_backward, padded
from dualign.model.emission import MEMORY, Block, Buffers, shape

__all__ = ["posteriors", "project_symmetric"]

NEGLIGIBLE = np.float32(1e-5)
"""Cells with less than this in both directions take no part."""

ROUNDING = 1e-6
"""Relative error of a log-likelihood in float32, which the line search must tolerate."""

DAMPING = np.float32(0.02)
"""Added to the diagonal of the Hessian, which vanishes where a posterior is 0 or 1."""


@kernel()
def posteriors(I: int, J: int, E0: Array, E1: Array, block: Block, buffers: Buffers) -> tuple[float, float]:
    """Forward-backward of both chains: `work[0]` gets p(b_j = i), `work[3]` p(a_i = j); log-likelihoods."""
    w = buffers.work
    none = buffers.expected[:0]
    l0 = forward_backward(
        J, I, E0, buffers.null[0], block.weights[0],
        shape(w[0], J, I), shape(w[1], J, I), shape(w[2], J, I), buffers.lines, none,
    )  # fmt: skip
    l1 = forward_backward(
        I, J, E1, buffers.null[1], block.weights[1],
        shape(w[3], I, J), shape(w[4], I, J), shape(w[5], I, J), buffers.lines, none,
    )  # fmt: skip
    return l0, l1


@kernel()
def project_symmetric(
    I: int, J: int, cells: int, block: Block, buffers: Buffers, slack: float, tolerance: float, limit: int,
    mixture: bool,
) -> int:  # fmt: skip
    """Project the pair in `buffers.emission`; returns the number of evaluations (two chains each).

    `buffers.active` rows 0, 1 hold the cells' slots in E0 and E1 (flat), for `cells` cells. Afterwards
    `buffers.projected` holds the emissions of q and `buffers.work` its posteriors. Ends when the norm of the
    differences is at most slack + tolerance, or after `limit` evaluations.
    """
    E, F = buffers.emission, buffers.projected
    lam, gradient, trial, trial_gradient, direction, inverse = buffers.multiplier[:6]
    steps, changes = buffers.multiplier[6 : 6 + MEMORY], buffers.multiplier[6 + MEMORY :]
    at0, at1 = buffers.active[0], buffers.active[1]
    P0, P1 = buffers.work[0], buffers.work[3]
    F0, F1 = shape(F[0], J, I), shape(F[1], I, J)
    for k in range(J * padded(I)):
        F[0, k] = E[0, k]
    for k in range(I * padded(J)):
        F[1, k] = E[1, k]
    base0, base1 = posteriors(I, J, F0, F1, block, buffers)
    evaluations = 1
    used = 0
    for c in range(cells):
        if P0[at0[c]] > NEGLIGIBLE or P1[at1[c]] > NEGLIGIBLE:
            at0[used], at1[used] = at0[c], at1[c]
            lam[used] = 0
            used += 1
    value = 0.0 if mixture else base0 + base1
    violation = differences(used, at0, at1, P0, P1, 0.5 if mixture else 1.0, 0.5 if mixture else 1.0, gradient)
    if violation > slack:
        # The slack term has no gradient at λ = 0; its subgradient of least norm shortens the first step.
        for c in range(used):
            gradient[c] *= np.float32(1.0 - slack / violation)
    stored = 0
    while violation > slack + tolerance and evaluations < limit:
        for c in range(used):
            p, q = P0[at0[c]], P1[at1[c]]
            inverse[c] = np.float32(1) / (p * (1 - p) + q * (1 - q) + DAMPING)
        slope = descent(used, gradient, inverse, steps, changes, stored, direction)
        step = np.float32(1)
        while True:
            length = 0.0
            for c in range(used):
                x = lam[c] + step * direction[c]
                trial[c] = x
                length += x * x
                y = np.exp(min(max(x, np.float32(-30)), np.float32(30)))
                F[0, at0[c]] = E[0, at0[c]] / y
                F[1, at1[c]] = E[1, at1[c]] * y
            length = np.sqrt(length)
            l0, l1 = posteriors(I, J, F0, F1, block, buffers)
            evaluations += 1
            u0, u1 = 1.0, 1.0
            new_value = l0 + l1
            if mixture:
                r0, r1 = l0 - base0, l1 - base1
                top = max(r0, r1)
                new_value = top + np.log(0.5 * np.exp(r0 - top) + 0.5 * np.exp(r1 - top))
                u0 = 1.0 / (1.0 + np.exp(r1 - r0))
                u1 = 1.0 - u0
            new_value += slack * length
            enough = value + 1e-4 * step * slope + ROUNDING * abs(base0 + base1)
            if new_value <= enough or step < 1e-3 or evaluations >= limit:
                break
            step *= np.float32(0.4)
        violation = differences(used, at0, at1, P0, P1, u0, u1, trial_gradient)
        pull = np.float32(slack / length) if length > 0 else np.float32(0)
        for c in range(used):
            trial_gradient[c] += pull * trial[c]
        stored = remember(used, lam, gradient, trial, trial_gradient, steps, changes, stored)
        value = new_value
    return evaluations


@kernel()
def differences(
    used: int, at0: Array, at1: Array, P0: Array, P1: Array, u0: float, u1: float, gradient: Array
) -> float:
    """`gradient = u1 · q1 − u0 · q0` at the cells; returns its norm, the violation of the constraint."""
    norm = 0.0
    for c in range(used):
        g = np.float32(u1) * P1[at1[c]] - np.float32(u0) * P0[at0[c]]
        gradient[c] = g
        norm += g * g
    return np.sqrt(norm)


@kernel()
def descent(
    used: int, gradient: Array, inverse: Array, steps: Array, changes: Array, stored: int, direction: Array
) -> float:
    """L-BFGS: `direction = −H · gradient` by the two-loop recursion; returns its slope (negative).

    `steps`, `changes` (MEMORY, ≥used): a ring of the last moves and changes of the gradient, `stored` in all.
    """
    newest = stored
    oldest = max(0, stored - MEMORY)
    weight = np.zeros(MEMORY, np.float32)
    for c in range(used):
        direction[c] = gradient[c]
    for k in range(newest - 1, oldest - 1, -1):
        s, y = steps[k % MEMORY], changes[k % MEMORY]
        weight[k % MEMORY] = dot(used, s, direction) / dot(used, s, y)
        for c in range(used):
            direction[c] -= weight[k % MEMORY] * y[c]
    scale = np.float32(0.5)
    if newest > oldest:
        s, y = steps[(newest - 1) % MEMORY], changes[(newest - 1) % MEMORY]
        z = np.float32(0)
        for c in range(used):
            z += y[c] * y[c] * inverse[c]
        scale = dot(used, s, y) / z
    for c in range(used):
        direction[c] *= scale * inverse[c]
    for k in range(oldest, newest):
        s, y = steps[k % MEMORY], changes[k % MEMORY]
        beta = weight[k % MEMORY] - dot(used, y, direction) / dot(used, s, y)
        for c in range(used):
            direction[c] += beta * s[c]
    for c in range(used):
        direction[c] = -direction[c]
    slope = dot(used, direction, gradient)
    if slope >= 0:
        for c in range(used):
            direction[c] = -gradient[c]
        slope = -dot(used, gradient, gradient)
    return slope


@kernel()
def remember(
    used: int, lam: Array, gradient: Array, trial: Array, trial_gradient: Array, steps: Array, changes: Array,
    stored: int,
) -> int:  # fmt: skip
    """Move to the trial point; keep the move for L-BFGS where the curvature along it is positive."""
    s, y = steps[stored % MEMORY], changes[stored % MEMORY]
    for c in range(used):
        s[c] = trial[c] - lam[c]
        y[c] = trial_gradient[c] - gradient[c]
        lam[c] = trial[c]
        gradient[c] = trial_gradient[c]
    return stored + 1 if dot(used, s, y) > 1e-10 else stored


@kernel()
def dot(used: int, a: Array, b: Array) -> float:
    """Inner product of the first `used` numbers."""
    z = np.float32(0)
    for c in range(used):
        z += a[c] * b[c]
    return z
