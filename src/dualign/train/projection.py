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

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.chain import FAR, STARTS, STATISTICS, forward_backward, padded
from dualign.model.emission import MEMORY, Block, Buffers, shape

__all__ = ["Constraint", "Sums", "project_symmetric", "run_chains"]

NEGLIGIBLE = np.float32(1e-5)
"""Cells with less than this in both directions take no part."""

ROUNDING = 1e-6
"""Relative error of a log-likelihood in float32, which the line search must tolerate."""

DAMPING = np.float32(0.02)
"""Added to the diagonal of the Hessian, which vanishes where a posterior is 0 or 1."""


class Sums(NamedTuple):
    """What the chains of many pairs add up, direction 0 first; empty arrays where nothing is wanted.

    `jumps` float64 (2, 11): expected jumps of −5..5; `departures` float64 (2, L + 1, L): departures from
    position i of a chain with S states; `starts` float64 (2, 11): first positions 0..9 and beyond;
    `totals` float64 (3): log-likelihood, evaluations of the chains, pairs.
    """

    jumps: Array
    departures: Array
    starts: Array
    totals: Array


class Constraint(NamedTuple):
    """How posteriors are constrained: one of the numbers of `dualign.train.expectation`, and how exactly."""

    how: int
    slack: float
    tolerance: float
    limit: int
    mixture: bool


@kernel()
def run_chains(
    I: int, J: int, emission: Array, block: Block, buffers: Buffers, out: Sums
) -> tuple[float, float]:
    """Forward-backward of both chains over flat emissions (2, …); returns their log-likelihoods.

    `work[0]` gets p(b_j = i), `work[3]` p(a_i = j). If `out.jumps` is not empty, the chains' statistics are
    added to `out`.
    """
    l0 = l1 = 0.0
    collect = len(out.jumps) > 0
    expected = buffers.expected if collect else buffers.expected[:0]
    for d in range(2):
        R, S = (J, I) if d == 0 else (I, J)
        for k in range(len(expected)):
            for i in range(padded(S)):
                expected[k, i] = 0
        work = buffers.work[3 * d : 3 * d + 3]
        likelihood = forward_backward(
            R, S, shape(emission[d], R, S), buffers.null[d], block.weights[d],
            shape(work[0], R, S), shape(work[1], R, S), shape(work[2], R, S), buffers.lines, expected,
        )  # fmt: skip
        if d == 0:
            l0 = likelihood
        else:
            l1 = likelihood
        if collect:
            for i in range(S):
                out.departures[d, S, i] += expected[0, i]
                out.starts[d, min(i, STARTS)] += expected[STATISTICS - 1, i]
            for k in range(FAR):
                z = np.float32(0)
                for i in range(S):
                    z += expected[1 + k, i]
                out.jumps[d, k] += z * block.weights[d, k]
    return l0, l1


@kernel()
def project_symmetric(
    I: int, J: int, cells: int, block: Block, buffers: Buffers, constraint: Constraint, nothing: Sums
) -> int:
    """Project the pair in `buffers.emission`; returns the number of evaluations (two chains each).

    `buffers.active` rows 0, 1 hold the cells' places in E0 and E1 (flat), for `cells` cells. Afterwards
    `buffers.projected` holds the emissions of q and `buffers.work` its posteriors. Ends when the norm of the
    differences is at most slack + tolerance, or at the limit of evaluations. `nothing` has empty arrays.
    """
    E, F = buffers.emission, buffers.projected
    slack, mixture = constraint.slack, constraint.mixture
    lam, gradient, trial, trial_gradient, direction, inverse = buffers.multiplier[:6]
    steps, changes = buffers.multiplier[6 : 6 + MEMORY], buffers.multiplier[6 + MEMORY :]
    at0, at1 = buffers.active[0], buffers.active[1]
    P0, P1 = buffers.work[0], buffers.work[3]
    for k in range(J * padded(I)):
        F[0, k] = E[0, k]
    for k in range(I * padded(J)):
        F[1, k] = E[1, k]
    used = stored = evaluations = 0
    base0 = base1 = value = slope = 0.0
    step = np.float32(0)
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
        l0, l1 = run_chains(I, J, F, block, buffers, nothing)
        evaluations += 1
        if evaluations == 1:
            base0, base1 = l0, l1
            for c in range(cells):
                if P0[at0[c]] > NEGLIGIBLE or P1[at1[c]] > NEGLIGIBLE:
                    at0[used], at1[used] = at0[c], at1[c]
                    lam[used] = trial[used] = 0
                    used += 1
        u0 = u1 = 1.0
        new_value = l0 + l1
        if mixture:
            r0, r1 = l0 - base0, l1 - base1
            top = max(r0, r1)
            new_value = top + np.log(0.5 * np.exp(r0 - top) + 0.5 * np.exp(r1 - top))
            u0 = 1.0 / (1.0 + np.exp(r1 - r0))
            u1 = 1.0 - u0
        new_value += slack * length
        last = evaluations >= constraint.limit
        if evaluations > 1:
            enough = value + 1e-4 * step * slope + ROUNDING * abs(base0 + base1)
            if new_value > enough and step > 1e-3 and not last:
                step *= np.float32(0.4)
                continue
        violation = differences(used, at0, at1, P0, P1, u0, u1, trial_gradient)
        if violation <= slack + constraint.tolerance or last:
            return evaluations
        # The slack term's gradient; at λ = 0 its subgradient of least norm.
        pull = np.float32(slack / length) if length > 0 else np.float32(0)
        keep = np.float32(1) if length > 0 else np.float32(1 - slack / violation)
        for c in range(used):
            trial_gradient[c] = keep * trial_gradient[c] + pull * trial[c]
            p, q = P0[at0[c]], P1[at1[c]]
            inverse[c] = np.float32(1) / (p * (1 - p) + q * (1 - q) + DAMPING)
        if evaluations == 1:
            for c in range(used):
                gradient[c] = trial_gradient[c]
        else:
            stored = remember(used, lam, gradient, trial, trial_gradient, steps, changes, stored)
        value = new_value
        slope = descent(used, gradient, inverse, steps, changes, stored, direction)
        step = np.float32(1)


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
        weight[k % MEMORY] = np.float32(dot(used, s, direction) / dot(used, s, y))
        for c in range(used):
            direction[c] -= weight[k % MEMORY] * y[c]
    scale = 0.5
    if newest > oldest:
        s, y = steps[(newest - 1) % MEMORY], changes[(newest - 1) % MEMORY]
        z = 0.0
        for c in range(used):
            z += y[c] * y[c] * inverse[c]
        scale = dot(used, s, y) / z
    for c in range(used):
        direction[c] *= np.float32(scale) * inverse[c]
    for k in range(oldest, newest):
        s, y = steps[k % MEMORY], changes[k % MEMORY]
        beta = weight[k % MEMORY] - np.float32(dot(used, y, direction) / dot(used, s, y))
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
    z = 0.0
    for c in range(used):
        z += a[c] * b[c]
    return z
