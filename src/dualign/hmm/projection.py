"""Projection of sentence pairs' posteriors on a set of constraints (Graça et al. 2010, §3).

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

Solved by L-BFGS (`dualign.hmm.lbfgs`) with a backtracking line search, for a batch of pairs in step. The
initial matrix is the inverse of the Hessian's diagonal, known for free up to covariances within a feature,
`Σ coefficient² · q(1 − q)`; that halves the number of evaluations. The first step knows better: were the
cells independent, a symmetric pair of them would meet half way between their log-odds. Where the last round
of EM left multipliers for a pair, the first step goes to them. A pair that satisfies its constraints at once
needs one evaluation (forward-backward of both chains); pairs that are done stay where they are while others
of their batch go on.
"""

from __future__ import annotations

import math

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part
from dualign._core.lanes import (  # fmt: skip
    Vector,
    exponential,
    fused,
    greater,
    lesser,
    load,
    spread,
    store,
    where_positive,
    width,
)
from dualign.hmm.batched_chains import Chains, run_chains
from dualign.hmm.blocks import Batch, Block, Given
from dualign.hmm.lbfgs import (  # fmt: skip
    ACCEPTED,
    BOUND,
    DIAGONAL,
    DIRECTION,
    GRADIENT,
    LEAST,
    MOST,
    POINT,
    SCALE,
    SLOPE,
    TRIAL,
    TRIAL_GRADIENT,
    descend,
    remember,
    unheld,
)
from dualign.hmm.multipliers import (  # fmt: skip
    BASE,
    BEGUN,
    BIJECTIVE,
    COST,
    DAMPING,
    DONE,
    EVALUATIONS,
    GIVEN,
    LENGTH,
    PULL,
    RESIDUAL,
    RETURNING,
    SHARE,
    SHRINK,
    STEP,
    SYMMETRIC,
    VALUE,
    Constraint,
    Dual,
    Features,
    expect_given,
    load_multipliers,
    reweigh_given,
    store_multipliers,
)
from dualign.hmm.statistics import ChainStatistics

ROUNDING = 1e-6
"""Relative error of a log-likelihood in float32, which the line search must tolerate."""

SURE = np.float32(1e-3)
"""Distance from 0 and 1 at which the log-odds of a posterior are cut off."""


@part(allocates=False)
def project(
    like: Vector,
    batch: Batch,
    block: Block,
    chains: Chains,
    dual: Dual,
    constraint: Constraint,
    tally: ChainStatistics,
) -> bool:
    """Project the pairs of a batch, whose emissions are in `chains`.

    Afterwards `chains` has the posteriors of q; its emissions are `dual.projected`, or where the answer is
    False still those of p. Ends for a pair when the norm of the dual's gradient is at most the tolerance, so
    that the constraints hold within slack + tolerance, or at the limit of evaluations. `dual` has their
    number (two chains each), D(λ), D(0) and the log-likelihoods of p.
    """
    W = width(like)
    warm, vector = block.warm, dual.vector
    features = begin(like, batch, block.given, constraint.how, chains.live, dual)
    size = features.size
    rows = (batch.I, batch.J) if constraint.how == SYMMETRIC else (0, 0)
    moves = 0
    moved = False
    while True:
        try_step(like, size, dual)
        if moved:
            reweigh(like, batch, features, chains, dual)
        run_chains(like, batch, dual.projected if moved else chains.emission, block, chains, False, tally)
        if not moved:
            for lane in range(W):
                dual.value[BASE, lane] = chains.likelihood[0, lane]
                dual.value[BASE + 1, lane] = chains.likelihood[1, lane]
        measure(like, batch, features, constraint, chains, dual)
        going = False
        for lane in range(W):
            line_search(lane, constraint, chains.likelihood, dual)
            going = going or not dual.state[DONE, lane]
        if moved:
            remember(like, size, moves, vector, dual.lane, dual.moves)
            moves += 1
        if not going:
            break
        if not moved:
            for k in range(0, size * W, W):
                store(vector[GRADIENT], k, load(like, vector[TRIAL_GRADIENT], k))
            if constraint.how == SYMMETRIC:
                scale_first_step(W, batch, chains, dual)
        # A pair that was refused keeps its direction, and takes a shorter step.
        descend(like, size, rows, moves, vector, dual.lane, dual.moves)
        if not moved and len(warm.begin) > 0:
            for lane in range(W):
                load_multipliers(lane, W, batch, features, warm, chains.length, dual)
        moved = True
    if len(warm.begin) > 0:
        for lane in range(batch.used):
            store_multipliers(lane, W, batch, features, warm, chains.length, dual)
    return moved


@part(allocates=False)
def begin(like: Vector, batch: Batch, given: Given, how: int, live: Array, dual: Dual) -> Features:
    """Set the bounds of the multipliers, which start at 0, and count them."""
    W = width(like)
    own = 0
    if how == SYMMETRIC:
        own = batch.I * batch.J
    elif how == BIJECTIVE:
        own = batch.I + batch.J
    size = own
    if len(given.pair_begin) > 0:
        for n in batch.pair:
            size = max(size, own + given.pair_begin[n + 1] - given.pair_begin[n])
    bound, least, lam, direction = (
        dual.vector[BOUND],
        dual.vector[LEAST],
        dual.vector[POINT],
        dual.vector[DIRECTION],
    )
    none = spread(like, np.float32(0))
    lowest = spread(like, np.float32(0) if how == BIJECTIVE else -MOST)
    for k in range(0, size * W, W):
        store(bound, k, none)
        store(least, k, lowest)
        store(lam, k, none)
        store(direction, k, none)
    if how == BIJECTIVE:
        # Words that a pair does not have are chosen 0 times, as they should be.
        for k in range(batch.I):
            store(bound, k * W, load(like, live[1], k * W))
        for k in range(batch.J):
            store(bound, (batch.I + k) * W, load(like, live[0], k * W))
    for lane in range(W):
        dual.state[EVALUATIONS, lane] = 0
        dual.state[DONE, lane] = dual.state[RETURNING, lane] = False
        dual.lane[STEP, lane] = dual.lane[SLOPE, lane] = 0
        dual.value[VALUE, lane] = dual.value[BEGUN, lane] = 0
        dual.moves.ring[SCALE, lane] = 1
        if size > own:
            n = batch.pair[lane]
            for k in range(own, size):
                c = given.pair_begin[n] + k - own
                there = c < given.pair_begin[n + 1]
                bound[k * W + lane] = given.bound[c] if there else np.float32(0)
                least[k * W + lane] = -MOST if there and not given.signed[c] else np.float32(0)
    return Features(how, own, size, given)


@part(allocates=False)
def try_step(like: Vector, size: int, dual: Dual) -> None:
    """The trial point, within its bounds; its length and cost."""
    W = width(like)
    step, most = load(like, dual.lane[STEP], 0), spread(like, MOST)
    length = cost = spread(like, np.float32(0))
    direction, lam, trial = dual.vector[DIRECTION], dual.vector[POINT], dual.vector[TRIAL]
    least, bound = dual.vector[LEAST], dual.vector[BOUND]
    for k in range(0, size * W, W):
        x = load(like, lam, k)
        # A pair without a step stays where it is, whatever direction it had.
        x = where_positive(step, fused(step, load(like, direction, k), x), x)
        x = lesser(greater(x, load(like, least, k)), most)
        store(trial, k, x)
        length = fused(x, x, length)
        cost = fused(x, load(like, bound, k), cost)
    store(dual.lane[LENGTH], 0, length)
    store(dual.lane[COST], 0, cost)
    for lane in range(W):
        dual.lane[LENGTH, lane] = math.sqrt(dual.lane[LENGTH, lane])


@part(allocates=False)
def reweigh(like: Vector, batch: Batch, features: Features, chains: Chains, dual: Dual) -> None:
    """Emissions of q: each node's own times `exp(−Σ λ · coefficient)` over the constraints it occurs in."""
    W = width(like)
    I, J = batch.I, batch.J
    how = features.how
    E0, E1, F0, F1 = chains.emission[0], chains.emission[1], dual.projected[0], dual.projected[1]
    lam = dual.vector[TRIAL]
    one = spread(like, np.float32(1))
    for i in range(I):
        chosen = one
        if how == BIJECTIVE:
            chosen = exponential(load(like, lam, i * W))
        for j in range(J):
            there, back = (j * I + i) * W, (i * J + j) * W
            if how == SYMMETRIC:
                x = exponential(load(like, lam, back))
                store(F0, there, load(like, E0, there) / x)
                store(F1, back, load(like, E1, back) * x)
            else:
                store(F0, there, load(like, E0, there) / chosen)
                if how == GIVEN:
                    store(F1, back, load(like, E1, back))
    if how == BIJECTIVE:
        for j in range(J):
            chosen = exponential(load(like, lam, (I + j) * W))
            for i in range(I):
                back = (i * J + j) * W
                store(F1, back, load(like, E1, back) / chosen)
    if len(features.given.pair_begin) > 0:
        for lane in range(W):
            reweigh_given(lane, W, batch, features, chains, dual)


@part(allocates=False)
def measure(
    like: Vector, batch: Batch, features: Features, constraint: Constraint, chains: Chains, dual: Dual
) -> None:
    """`trial_gradient = b − E_q[f] + ε λ/‖λ‖`, the inverse of the Hessian's diagonal, and the `residual`.

    At λ = 0 the slack term has no gradient; the subgradient of least norm is taken. The residual is the norm
    of the gradient without what a bound on λ holds back: 0 at the optimum.
    """
    W = width(like)
    for lane in range(W):
        weigh_directions(lane, constraint, chains.likelihood, dual)
    expect_features(like, batch, features, chains, dual)
    g, h, lam, least = (
        dual.vector[TRIAL_GRADIENT],
        dual.vector[DIAGONAL],
        dual.vector[TRIAL],
        dual.vector[LEAST],
    )
    size = features.size
    one, none = np.float32(1), spread(like, np.float32(0))
    still = False
    for lane in range(W):
        still = still or dual.lane[LENGTH, lane] == 0
    violation = none
    for k in range(0, size * W, W):
        store(h, k, one / load(like, h, k))
        if still:
            x = load(like, g, k)
            x = where_positive(none - load(like, least, k), x, lesser(x, none))
            violation = fused(x, x, violation)
    store(dual.lane[RESIDUAL], 0, violation)
    for lane in range(W):
        pull_back(lane, constraint, dual)
    to, by, residual = load(like, dual.lane[PULL], 0), load(like, dual.lane[SHRINK], 0), none
    for k in range(0, size * W, W):
        at = load(like, lam, k)
        x = fused(to, at, load(like, g, k) * by)
        store(g, k, x)
        x = unheld(at, x, load(like, least, k), x)
        residual = fused(x, x, residual)
    store(dual.lane[RESIDUAL], 0, residual)
    for lane in range(W):
        dual.lane[RESIDUAL, lane] = math.sqrt(dual.lane[RESIDUAL, lane])


@part(allocates=False)
def weigh_directions(lane: int, constraint: Constraint, likelihood: Array, dual: Dual) -> None:
    """The shares of a lane's directions in the mixture; 1 where there is none."""
    dual.lane[SHARE, lane] = dual.lane[SHARE + 1, lane] = 1
    if constraint.mixture and constraint.how == SYMMETRIC:
        r0 = likelihood[0, lane] - dual.value[BASE, lane]
        r1 = likelihood[1, lane] - dual.value[BASE + 1, lane]
        dual.lane[SHARE, lane] = 1.0 / (1.0 + math.exp(r1 - r0))
        dual.lane[SHARE + 1, lane] = 1.0 - dual.lane[SHARE, lane]


@part(allocates=False)
def pull_back(lane: int, constraint: Constraint, dual: Dual) -> None:
    """What slack does to a lane's gradient: `g ← shrink · g + pull · λ`; RESIDUAL has ‖g‖² where λ is 0."""
    dual.lane[PULL, lane], dual.lane[SHRINK, lane] = 0, 1
    if dual.lane[LENGTH, lane] > 0:
        dual.lane[PULL, lane] = constraint.slack / dual.lane[LENGTH, lane]
    else:
        norm = math.sqrt(dual.lane[RESIDUAL, lane])
        dual.lane[SHRINK, lane] = max(0.0, 1 - constraint.slack / norm) if norm > 0 else 0.0


@part(allocates=False)
def expect_features(like: Vector, batch: Batch, features: Features, chains: Chains, dual: Dual) -> None:
    """`b − E_q[f]` into the trial gradient, and the diagonal of the Hessian, not yet inverted."""
    W = width(like)
    I, J = batch.I, batch.J
    P0, P1 = chains.posterior[0], chains.posterior[1]
    g, h, bound = dual.vector[TRIAL_GRADIENT], dual.vector[DIAGONAL], dual.vector[BOUND]
    one, damping = np.float32(1), spread(like, DAMPING)
    if features.how == SYMMETRIC:
        u0, u1 = load(like, dual.lane[SHARE], 0), load(like, dual.lane[SHARE + 1], 0)
        for i in range(I):
            for j in range(J):
                p, q = load(like, P0, (j * I + i) * W), load(like, P1, (i * J + j) * W)
                store(g, (i * J + j) * W, q * u1 - p * u0)
                store(h, (i * J + j) * W, fused(p, one - p, fused(q, one - q, damping)))
    elif features.how == BIJECTIVE:
        for k in range(I + J):
            chosen, varied = load(like, bound, k * W), damping
            for r in range(J if k < I else I):
                p = load(like, P0, (r * I + k) * W) if k < I else load(like, P1, (r * J + k - I) * W)
                chosen = chosen - p
                varied = fused(p, one - p, varied)
            store(g, k * W, chosen)
            store(h, k * W, varied)
    if features.size > features.own:
        for lane in range(W):
            expect_given(lane, W, batch, features, chains, dual)


@part(allocates=False)
def line_search(lane: int, constraint: Constraint, likelihood: Array, dual: Dual) -> None:
    """Accept a lane's trial point or shorten its step; `accepted`, `done` and `step` say what comes next."""
    dual.lane[ACCEPTED, lane] = 0
    if dual.state[DONE, lane]:
        return
    dual.state[EVALUATIONS, lane] += 1
    base = dual.value[BASE, lane] + dual.value[BASE + 1, lane]
    value = likelihood[0, lane] + likelihood[1, lane]
    if constraint.mixture and constraint.how == SYMMETRIC:
        r0 = likelihood[0, lane] - dual.value[BASE, lane]
        r1 = likelihood[1, lane] - dual.value[BASE + 1, lane]
        top = max(r0, r1)
        value = top + np.log(0.5 * math.exp(r0 - top) + 0.5 * math.exp(r1 - top))
    value += dual.lane[COST, lane] + constraint.slack * dual.lane[LENGTH, lane]
    last = dual.state[EVALUATIONS, lane] >= constraint.limit
    step = dual.lane[STEP, lane]
    if dual.state[EVALUATIONS, lane] == 1:
        dual.value[BEGUN, lane] = value
    else:
        enough = dual.value[VALUE, lane] + 1e-4 * step * dual.lane[SLOPE, lane] + ROUNDING * abs(base)
        # Written so that a value that is not a number is refused, too.
        refused = not value <= enough and (step > 1e-3 or last)
        if dual.state[RETURNING, lane]:
            dual.state[DONE, lane] = True
            return
        if refused:
            # Too far. At the limit, one more evaluation goes back to the best point so far.
            dual.state[RETURNING, lane] = last
            dual.lane[STEP, lane] = np.float32(0) if last else step * np.float32(0.4)
            return
    dual.value[VALUE, lane] = value
    dual.lane[ACCEPTED, lane] = 1
    dual.state[DONE, lane] = last or dual.lane[RESIDUAL, lane] <= constraint.tolerance
    dual.lane[STEP, lane] = np.float32(0) if dual.state[DONE, lane] else np.float32(1)


@part(allocates=False)
def scale_first_step(W: int, batch: Batch, chains: Chains, dual: Dual) -> None:
    """Scale the first step so that symmetric cells meet: were they independent, it would be exact.

    The multiplier that makes two Bernoulli variables equal is half the difference of their log-odds.
    """
    I, J = batch.I, batch.J
    one, half = np.float32(1), np.float32(0.5)
    P0, P1, diagonal = chains.posterior[0], chains.posterior[1], dual.vector[DIAGONAL]
    for lane in range(W):
        if dual.state[DONE, lane]:
            continue
        length, breadth = chains.length[1, lane], chains.length[0, lane]
        for i in range(length):
            for j in range(breadth):
                p = min(max(P0[(j * I + i) * W + lane], SURE), one - SURE)
                q = min(max(P1[(i * J + j) * W + lane], SURE), one - SURE)
                if abs(p - q) > SURE:
                    odds = np.log(p * (one - q) / (q * (one - p)))
                    diagonal[(i * J + j) * W + lane] = half * odds / (p - q)
