"""Projection of one sentence pair's posteriors on a set of constraints (Graça et al. 2010, §3).

The joint posterior p = p0 · p1 of the two chains is replaced by the closest q = q0 · q1 (in KL) for which the
expectations of K features stay within bounds, up to a slack: `E_q[f_k] − b_k ≤ ξ_k` (or `|·| ≤ ξ_k` for an
equality), ‖ξ‖ ≤ ε. A feature is a weighted sum of *nodes*, the events "row j of direction d chooses state i".
The dual has one multiplier a constraint, λ_k ≥ 0 (free in sign for an equality):

    min_λ  D(λ) = b·λ + log Z0(λ) + log Z1(λ) + ε ‖λ‖,
    each node's emission times exp(−Σ_k λ_k · coefficient),      ∂D/∂λ_k = b_k − E_q[f_k] (+ slack term).

- symmetric: for each cell `1(b_j = i) − 1(a_i = j) = 0`;
- bijective: each source word is chosen at most once, `Σ_j 1(b_j = i) ≤ 1`, and each target word likewise;
- given: none but the constraints that the caller lists for the pair; they join the other two sets as well.

With `mixture`, the paper's own form of the symmetric constraint: q is a mixture of the directions, `log Z` is
that of `½ Z0(λ)/Z0(0) + ½ Z1(λ)/Z1(0)` (Eq. 15), and posteriors in the constraint carry the mixture weights.

Solved by L-BFGS with a backtracking line search, projected on λ ≥ 0 where the sign is bound. Its initial
matrix is the inverse of the Hessian's diagonal, known for free up to covariances within a feature,
`Σ coefficient² · q(1 − q)`; that halves the number of evaluations. The first step knows better: were the
cells independent, a symmetric pair of them would meet half way between their log-odds. Where the last round
of EM left multipliers for a pair, the first step goes to them. A pair that satisfies its constraints at once
costs one evaluation (forward-backward of both chains).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.model.chain import FAR, STARTS, STATISTICS, forward_backward, padded
from dualign.model.emission import MEMORY, Block, Buffers, Given, Warm, shape

__all__ = ["BIJECTIVE", "GIVEN", "SYMMETRIC", "Constraint", "Sums", "project", "run_chains"]

SYMMETRIC, BIJECTIVE, GIVEN = 2, 3, 4
"""Kinds of constraint (0 and 1 mean none: see `dualign.train.expectation`)."""

NEGLIGIBLE = np.float32(1e-5)
"""Cells with no more than this in both directions take no part as long as that is so."""

ROUNDING = 1e-6
"""Relative error of a log-likelihood in float32, which the line search must tolerate."""

FARTHEST = np.float32(40)
"""Bound on a multiplier's size: more would leave float32."""

STEEPEST = np.float32(60)
"""Bound on the exponent of a node that occurs in several constraints."""

SURE = np.float32(1e-3)
"""Distance from 0 and 1 at which the log-odds of a posterior are cut off."""

MOVED = np.float32(0.05)
"""A multiplier smaller than this is not worth remembering."""

DAMPING = np.float32(0.02)
"""Added to the diagonal of the Hessian, which vanishes where a posterior is 0 or 1."""


class Sums(NamedTuple):
    """What the chains of many pairs add up, direction 0 first; empty arrays where nothing is wanted.

    `jumps` float64 (2, 11): expected jumps of −5..5; `departures` float64 (2, L + 1, L): departures from
    position i of a chain with S states; `starts` float64 (2, 11): first positions 0..9 and beyond;
    `totals` float64 (4): log-likelihood, evaluations of the chains, pairs, and Σ D(0) − D(λ), the divergence
    KL(q ‖ p) of the projections when ε = 0.
    """

    jumps: Array
    departures: Array
    starts: Array
    totals: Array


class Constraint(NamedTuple):
    """How posteriors are constrained: the kind by number, and how exactly."""

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
def project(
    n: int, I: int, J: int, block: Block, buffers: Buffers, constraint: Constraint, nothing: Sums
) -> tuple[int, float, float]:
    """Project pair n, whose emissions are in `buffers.emission`.

    Afterwards `buffers.projected` holds the emissions of q and `buffers.work` its posteriors. Ends when the
    norm of the dual's gradient is at most the tolerance, so that the constraints hold within slack +
    tolerance, or at the limit of evaluations. `nothing` has empty arrays. Returns the number of evaluations
    (two chains each), D(0) − D(λ), and the log-likelihood of p.
    """
    E, F = buffers.emission, buffers.projected
    slack = constraint.slack
    mixture = constraint.mixture and constraint.how == SYMMETRIC
    lam, gradient, trial, trial_gradient, direction, inverse = buffers.multiplier[:6]
    steps, changes = buffers.multiplier[6 : 6 + MEMORY], buffers.multiplier[6 + MEMORY :]
    for k in range(J * padded(I)):
        F[0, k] = E[0, k]
    for k in range(I * padded(J)):
        F[1, k] = E[1, k]
    constraints = nodes = own = stored = evaluations = 0
    base0 = base1 = start = value = slope = 0.0
    first = 0
    step = np.float32(0)
    ring = np.zeros((2, MEMORY), np.float32)
    returning = False
    while True:
        length = cost = 0.0
        for k in range(constraints):
            least = np.float32(0) if buffers.signed[k] else -FARTHEST
            x = min(max(lam[k] + step * direction[k], least), FARTHEST)
            trial[k] = x
            length += x * x
            cost += x * buffers.bound[k]
        length = np.sqrt(length)
        reweigh(nodes, trial, buffers)
        l0, l1 = run_chains(I, J, F, block, buffers, nothing)
        evaluations += 1
        if evaluations == 1:
            base0, base1 = l0, l1
            constraints, nodes = start_nodes(n, I, J, constraint.how, block, buffers)
            own, first = constraints, nodes
            constraints, nodes = add_cells(I, J, constraint.how, constraints, nodes, buffers)
            for k in range(constraints):
                lam[k] = trial[k] = 0
        u0 = u1 = 1.0
        new_value = l0 + l1
        if mixture:
            r0, r1 = l0 - base0, l1 - base1
            top = max(r0, r1)
            new_value = top + np.log(0.5 * np.exp(r0 - top) + 0.5 * np.exp(r1 - top))
            u0 = 1.0 / (1.0 + np.exp(r1 - r0))
            u1 = 1.0 - u0
        new_value += cost + slack * length
        last = evaluations >= constraint.limit
        if evaluations == 1:
            start = value = new_value
        else:
            enough = value + 1e-4 * step * slope + ROUNDING * abs(base0 + base1)
            # Written so that a value that is not a number is refused, too.
            if not new_value <= enough and (step > 1e-3 or last):
                # Too far. At the limit, one more evaluation goes back to the best point so far.
                if returning:
                    break
                returning = last
                step *= np.float32(0) if last else np.float32(0.4)
                continue
            if returning:
                break
        value = new_value
        residual = differentiate(
            constraints, nodes, slack, np.float32(u0), np.float32(u1), trial, buffers, trial_gradient, inverse
        )
        if last:
            break
        if residual <= constraint.tolerance:
            # Cells that gained mass on the way join now; those that were there keep their multipliers.
            before, count = constraints, nodes
            constraints, nodes = add_cells(I, J, constraint.how, constraints, nodes, buffers)
            if nodes == count:
                break
            for k in range(before, constraints):
                lam[k] = trial[k] = gradient[k] = 0
            residual = differentiate(
                constraints, nodes, slack, np.float32(u0), np.float32(u1), trial, buffers, trial_gradient,
                inverse,
            )  # fmt: skip
            if residual <= constraint.tolerance:
                break
            for k in range(constraints):
                lam[k] = trial[k]
                gradient[k] = trial_gradient[k]
            stored = 0
        elif evaluations == 1:
            for k in range(constraints):
                gradient[k] = trial_gradient[k]
        else:
            stored = remember(constraints, lam, gradient, trial, trial_gradient, steps, changes, stored, ring)
        if evaluations == 1 and constraint.how == SYMMETRIC:
            meet_half_way(first, nodes, buffers, inverse)
        step = np.float32(1)
        slope = 0.0
        if evaluations == 1 and len(block.warm.begin) > 0:
            slope = recall(n, own, constraints, block.warm, gradient, buffers, direction)
        if slope >= 0:
            slope = descent(
                constraints, lam, gradient, inverse, steps, changes, stored, ring, buffers.signed, direction
            )
    if len(block.warm.begin) > 0:
        keep(n, I, J, own, trial, block.warm, buffers)
    return evaluations, start - value, base0 + base1


@kernel()
def meet_half_way(first: int, nodes: int, buffers: Buffers, inverse: Array) -> None:
    """Scale the first step so that symmetric cells meet: were they independent, it would be exact.

    Nodes from `first` on are pairs, p(b_j = i) and p(a_i = j); the multiplier that makes two Bernoulli
    variables equal is half the difference of their log-odds.
    """
    one, half = np.float32(1), np.float32(0.5)
    for e in range(first, nodes, 2):
        p = min(max(buffers.work[0, buffers.node[1, e]], SURE), one - SURE)
        q = min(max(buffers.work[3, buffers.node[1, e + 1]], SURE), one - SURE)
        if abs(p - q) > SURE:
            inverse[buffers.node[2, e]] = half * np.log(p * (one - q) / (q * (one - p))) / (p - q)


@kernel()
def recall(
    n: int, own: int, constraints: int, warm: Warm, gradient: Array, buffers: Buffers, direction: Array
) -> float:
    """`direction` = the multipliers that pair n ended with before, from λ = 0; returns its slope."""
    for k in range(constraints):
        direction[k] = 0
    slope = 0.0
    for w in range(warm.begin[n], warm.begin[n] + warm.used[n]):
        key = warm.key[w]
        k = key if key < own else buffers.listed[key - own] - 1
        if k >= 0:
            direction[k] = warm.value[w]
            slope += direction[k] * gradient[k]
    return slope


@kernel()
def keep(n: int, I: int, J: int, own: int, lam: Array, warm: Warm, buffers: Buffers) -> None:
    """Remember the multipliers of pair n, as many as there is room for: see `Warm`."""
    w = warm.begin[n]
    for key in range(own + I * J):
        k = key if key < own else buffers.listed[key - own] - 1
        if k >= 0 and abs(lam[k]) > MOVED and w < warm.begin[n + 1]:
            warm.key[w] = key
            warm.value[w] = lam[k]
            w += 1
    warm.used[n] = w - warm.begin[n]


@kernel()
def start_nodes(n: int, I: int, J: int, how: int, block: Block, buffers: Buffers) -> tuple[int, int]:
    """Begin the pair's list of constraints and nodes: all but those that cells bring with them."""
    for c in range(I * J):
        buffers.listed[c] = 0
    constraints = nodes = 0
    if how == BIJECTIVE:
        constraints = I + J
        for k in range(constraints):
            buffers.bound[k] = 1
            buffers.signed[k] = 1
    if len(block.given.pair_begin) > 0:
        return add_given(n, I, J, constraints, nodes, block.given, buffers)
    return constraints, nodes


@kernel()
def add_cells(I: int, J: int, how: int, constraints: int, nodes: int, buffers: Buffers) -> tuple[int, int]:
    """List the cells that have come to matter in one direction or the other, and are not listed yet."""
    if how == GIVEN:
        return constraints, nodes
    node, coefficient = buffers.node, buffers.coefficient
    P0, P1 = buffers.work[0], buffers.work[3]
    PI, PJ = padded(I), padded(J)
    for i in range(I):
        for j in range(J):
            place0, place1 = j * PI + i, i * PJ + j
            if buffers.listed[i * J + j] or (P0[place0] <= NEGLIGIBLE and P1[place1] <= NEGLIGIBLE):
                continue
            node[0, nodes], node[1, nodes], node[2, nodes] = 0, place0, i
            node[0, nodes + 1], node[1, nodes + 1], node[2, nodes + 1] = 1, place1, I + j
            coefficient[nodes] = coefficient[nodes + 1] = 1
            buffers.listed[i * J + j] = -1
            if how == SYMMETRIC:
                buffers.listed[i * J + j] = constraints + 1
                node[2, nodes] = node[2, nodes + 1] = constraints
                coefficient[nodes + 1] = -1
                buffers.bound[constraints] = 0
                buffers.signed[constraints] = 0
                constraints += 1
            nodes += 2
    return constraints, nodes


@kernel()
def add_given(
    n: int, I: int, J: int, constraints: int, nodes: int, given: Given, buffers: Buffers
) -> tuple[int, int]:
    """Add the constraints that the block lists for pair n: see `dualign.train.constraints`."""
    for k in range(given.pair_begin[n], given.pair_begin[n + 1]):
        buffers.bound[constraints] = given.bound[k]
        buffers.signed[constraints] = given.signed[k]
        for e in range(given.node_begin[k], given.node_begin[k + 1]):
            d, i, j = given.node[e, 0], given.node[e, 1], given.node[e, 2]
            buffers.node[0, nodes] = d
            buffers.node[1, nodes] = j * padded(I) + i if d == 0 else i * padded(J) + j
            buffers.node[2, nodes] = constraints
            buffers.coefficient[nodes] = given.coefficient[e]
            nodes += 1
        constraints += 1
    return constraints, nodes


@kernel()
def reweigh(nodes: int, lam: Array, buffers: Buffers) -> None:
    """Emissions of q: each node's own times `exp(−Σ λ · coefficient)` over the constraints it occurs in."""
    node, exponent = buffers.node, buffers.exponent
    for e in range(nodes):
        exponent[node[0, e], node[1, e]] = 0
    for e in range(nodes):
        exponent[node[0, e], node[1, e]] -= buffers.coefficient[e] * lam[node[2, e]]
    for e in range(nodes):
        d, place = node[0, e], node[1, e]
        x = min(max(exponent[d, place], -STEEPEST), STEEPEST)
        buffers.projected[d, place] = buffers.emission[d, place] * np.exp(x)


@kernel()
def differentiate(
    constraints: int,
    nodes: int,
    slack: float,
    u0: np.float32,
    u1: np.float32,
    lam: Array,
    buffers: Buffers,
    gradient: Array,
    inverse: Array,
) -> float:
    """`gradient = b − E_q[f] + ε λ/‖λ‖` (directions weighted by u); the inverse of the Hessian's diagonal.

    At λ = 0 the slack term has no gradient; the subgradient of least norm is taken. Returns the norm of the
    gradient without what a bound on λ holds back: 0 at the optimum.
    """
    node = buffers.node
    for k in range(constraints):
        gradient[k] = buffers.bound[k]
        inverse[k] = DAMPING
    for e in range(nodes):
        d, k = node[0, e], node[2, e]
        p = buffers.work[3 * d, node[1, e]]
        c = buffers.coefficient[e]
        gradient[k] -= c * p * (u0 if d == 0 else u1)
        inverse[k] += c * c * p * (np.float32(1) - p)
    length = violation = 0.0
    for k in range(constraints):
        inverse[k] = np.float32(1) / inverse[k]
        length += lam[k] * lam[k]
        if gradient[k] < 0 or not buffers.signed[k]:
            violation += gradient[k] * gradient[k]
    length, violation = np.sqrt(length), np.sqrt(violation)
    if length == 0:
        keep = np.float32(max(0.0, 1 - slack / violation)) if violation > 0 else np.float32(0)
        for k in range(constraints):
            gradient[k] *= keep
        return keep * violation
    residual = 0.0
    for k in range(constraints):
        gradient[k] += np.float32(slack / length) * lam[k]
        if not held(lam[k], gradient[k], buffers.signed[k]):
            residual += gradient[k] * gradient[k]
    return np.sqrt(residual)


@kernel()
def held(x: float, g: float, signed: int) -> bool:
    """Whether descent would push a multiplier over a bound at which it stands."""
    least = 0.0 if signed else -FARTHEST
    return bool((g > 0 and x <= least) or (g < 0 and x >= FARTHEST))


@kernel()
def descent(
    size: int,
    lam: Array,
    gradient: Array,
    inverse: Array,
    steps: Array,
    changes: Array,
    stored: int,
    ring: Array,
    signed: Array,
    direction: Array,
) -> float:
    """L-BFGS: `direction = −H · gradient` by the two-loop recursion; returns its slope (negative).

    `steps`, `changes` (MEMORY, ≥size): a ring of the last moves and changes of the gradient, `stored` in all;
    `ring` float32 (2, MEMORY): scratch, and the inner product of each move with its change.
    Multipliers that are held at a bound take no part.
    """
    newest = stored
    oldest = max(0, stored - MEMORY)
    weight, product = ring[0], ring[1]
    for k in range(size):
        direction[k] = np.float32(0) if held(lam[k], gradient[k], signed[k]) else gradient[k]
    for r in range(newest - 1, oldest - 1, -1):
        s, y = steps[r % MEMORY], changes[r % MEMORY]
        weight[r % MEMORY] = dot(size, s, direction) / product[r % MEMORY]
        for k in range(size):
            direction[k] -= weight[r % MEMORY] * y[k]
    scale = 1.0
    if newest > oldest:
        y = changes[(newest - 1) % MEMORY]
        z = 0.0
        for k in range(size):
            z += y[k] * y[k] * inverse[k]
        scale = product[(newest - 1) % MEMORY] / z
    for k in range(size):
        direction[k] *= np.float32(scale) * inverse[k]
    for r in range(oldest, newest):
        s, y = steps[r % MEMORY], changes[r % MEMORY]
        beta = weight[r % MEMORY] - dot(size, y, direction) / product[r % MEMORY]
        for k in range(size):
            direction[k] += beta * s[k]
    for k in range(size):
        direction[k] = np.float32(0) if held(lam[k], gradient[k], signed[k]) else -direction[k]
    slope = dot(size, direction, gradient)
    if slope >= 0:
        slope = 0.0
        for k in range(size):
            direction[k] = np.float32(0) if held(lam[k], gradient[k], signed[k]) else -gradient[k]
            slope += direction[k] * gradient[k]
    return slope


@kernel()
def remember(
    size: int,
    lam: Array,
    gradient: Array,
    trial: Array,
    trial_gradient: Array,
    steps: Array,
    changes: Array,
    stored: int,
    ring: Array,
) -> int:
    """Move to the trial point; keep the move for L-BFGS where the curvature along it is positive."""
    s, y = steps[stored % MEMORY], changes[stored % MEMORY]
    for k in range(size):
        s[k] = trial[k] - lam[k]
        y[k] = trial_gradient[k] - gradient[k]
        lam[k] = trial[k]
        gradient[k] = trial_gradient[k]
    ring[1, stored % MEMORY] = dot(size, s, y)
    return stored + 1 if ring[1, stored % MEMORY] > 1e-10 else stored


@kernel()
def dot(size: int, a: Array, b: Array) -> Any:
    """Inner product of the first `size` numbers, as four partial sums."""
    z0 = z1 = z2 = z3 = np.float32(0)
    whole = size - size % 4
    for k in range(0, whole, 4):
        z0 += a[k] * b[k]
        z1 += a[k + 1] * b[k + 1]
        z2 += a[k + 2] * b[k + 2]
        z3 += a[k + 3] * b[k + 3]
    for k in range(whole, size):
        z0 += a[k] * b[k]
    return (z0 + z2) + (z1 + z3)
