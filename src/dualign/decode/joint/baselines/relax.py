"""`relax`: one chain keeps its order, the other is dissolved into its transitions (Chang et al. 2014, §3-4).

The rows stay a chain with the columns' links y in tow, all agreement kept (`tied_chain`).
Every chosen y(i, j), nulls y(0, j) too, picks a predecessor in column j − 1 of its own, chosen or not. That
the predecessors are the chosen links is what is relaxed, with multipliers λ(j, i), j = 0..J−1:

    ρ(i, j) = max_{i'} ω(i', i, j) + λ(j − 1, i') − [j < J] λ(j, i)       (i' = 0 for j = 1)
    L(λ)    = −λ(0, 0) + Σ_j max(0, ρ(0, j)) + max over row chains [θ + costs + Σ_{y(i,j)=1} ρ(i, j)]
    g(j, i) = y(i, j) − Σ_{i''} [y(i'', j + 1) = 1 with predecessor i],     λ ← λ + η g.

L(λ) is never less than the optimum, and g = 0 makes y a chain. The search begins where L is at most the sum
of the two chains' own maxima: with F and B the best scores of the y chain up to and behind (i, j), and V the
best of all, λ = ½ (F − B − V) makes ρ = 0 along its best path and ρ ≤ 0 elsewhere; λ = 0, as in the paper,
is a far worse beginning. Pruning (§6) is safe: what no solution as good as the best known one contains is
never needed again. `relax` does without; `constrain` begins with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.jit import kernel
from dualign.decode.joint.bound import prune_by_chains, rounds_at_once
from dualign.decode.joint.masks import Masks, all_allowed, copied, propagate
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.outcome import Outcome
from dualign.decode.joint.primal import Incumbent, climb, new_incumbent, offer
from dualign.decode.joint.tied_chain import (
    Chain,
    backward,
    cell_values,
    forward,
    link_values,
    list_states,
    new_chain,
    trace_back,
    weigh,
)
from dualign.search.dual import (
    BOUND,
    CLOSED,
    IMPOSSIBLE,
    MET,
    NEVER,
    OPEN,
    ROUNDS,
    Record,
    aim,
    new_record,
    observe,
    polyak_step,
    run,
    trace_of,
)

MOST_ROUNDS = 400
PATIENCE, SHRINK = 20, 0.8
"""Polyak's factor shrinks when the bound stalls."""

FADE = 0.95
"""Weight of the past in the running mean of violations."""

REPAIR_EVERY = 4
"""Rounds between two attempts at a better alignment."""


class Relaxation(NamedTuple):
    """Multipliers, and room for one evaluation.

    `chain`: the rows, (I, J). `multipliers`, `slope`, `violations` float64 (J + 1, I + 1): λ, g, and a
    running mean of |g|. `arcs` uint8 (J, I + 1, I + 1), [j − 1, i', i]: whether y(i, j) may have predecessor
    i'. (I + 1, J + 1): `rho`; `before` int32, its predecessor; `y` uint8, the chosen links with nulls in row
    0; `x_values`, `y_values`, max-marginals. `a` int64 (I + 1): the chain.
    """

    chain: Chain
    multipliers: Array
    slope: Array
    violations: Array
    arcs: Array
    rho: Array
    before: Array
    y: Array
    x_values: Array
    y_values: Array
    a: Array


@kernel()
def first_multipliers(omega: Array) -> Array:
    """½ (F − B − V), (J + 1, I + 1), which makes L the sum of the plain chains' maxima. O(J I²)."""
    J, I = omega.shape[0], omega.shape[1] - 1
    there, back = np.full((J + 1, I + 1), NEVER), np.full((J + 1, I + 1), NEVER)
    there[0, 0] = 0.0
    back[J] = 0.0
    for j in range(1, J + 1):
        for before in range(I + 1):
            for i in range(I + 1):
                there[j, i] = max(there[j, i], there[j - 1, before] + omega[j - 1, before, i])
    for j in range(J, 0, -1):
        for before in range(I + 1):
            for i in range(I + 1):
                back[j - 1, before] = max(back[j - 1, before], back[j, i] + omega[j - 1, before, i])
    most = back[0, 0]
    for j in range(J + 1):
        for i in range(I + 1):
            reachable = there[j, i] > IMPOSSIBLE and back[j, i] > IMPOSSIBLE
            there[j, i] = 0.5 * (there[j, i] - back[j, i] - most) if reachable else 0.0
    return there


@kernel()
def new_relaxation(problem: Problem) -> Relaxation:
    """Multipliers to begin with; every arc that its score allows."""
    I, J = problem.theta.shape[0], problem.omega.shape[0]
    shape, turned = (I + 1, J + 1), (J + 1, I + 1)
    arcs = np.zeros((J, I + 1, I + 1), np.uint8)
    for j in range(J):
        for before in range(I + 1 if j > 0 else 1):
            for i in range(I + 1):
                arcs[j, before, i] = problem.omega[j, before, i] > IMPOSSIBLE
    return Relaxation(
        new_chain(I, J), first_multipliers(problem.omega), np.zeros(turned), np.zeros(turned), arcs,
        np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.uint8), np.zeros(shape),
        np.zeros(shape), np.zeros(I + 1, np.int64),
    )  # fmt: skip


@kernel()
def only_choice(masks: Masks, j: int) -> int:
    """The row that b_j must be, or −1 if it has a choice."""
    only, choices = -1, 0
    for i in range(masks.y.shape[0]):
        if masks.y[i, j]:
            only = i
            choices += 1
    return only if choices == 1 else -1


@kernel()
def predecessors(relaxation: Relaxation, problem: Problem, masks: Masks) -> None:
    """`rho` and `before` at these multipliers. O(J I²)."""
    I, J = masks.y.shape[0] - 1, masks.y.shape[1] - 1
    multipliers, rho, arcs = relaxation.multipliers, relaxation.rho, relaxation.arcs
    for j in range(1, J + 1):
        for i in range(I + 1):
            rho[i, j] = NEVER
        for p in range(I + 1 if j > 1 else 1):
            if j > 1 and not masks.y[p, j - 1]:
                continue
            for i in range(I + 1):
                if masks.y[i, j] and arcs[j - 1, p, i]:
                    z = problem.omega[j - 1, p, i] + multipliers[j - 1, p]
                    if z > rho[i, j]:
                        rho[i, j] = z
                        relaxation.before[i, j] = p
        if j < J:
            for i in range(I + 1):
                if rho[i, j] > IMPOSSIBLE:
                    rho[i, j] -= multipliers[j, i]


@kernel()
def evaluate(relaxation: Relaxation, problem: Problem, masks: Masks) -> tuple[float, float]:
    """L(λ), and the part of it that is not the row chain's; the maximiser into `a`, `y`, `before`."""
    I, J = masks.y.shape[0] - 1, masks.y.shape[1] - 1
    chain = relaxation.chain
    predecessors(relaxation, problem, masks)
    rest = -relaxation.multipliers[0, 0]
    for j in range(1, J + 1):
        only = only_choice(masks, j)
        for i in range(1, I + 1):
            chain.y1[i, j] = relaxation.rho[i, j]
            chain.y0[i, j] = NEVER if i == only else 0.0
        null = relaxation.rho[0, j]
        relaxation.y[0, j] = null > 0 or only == 0
        if relaxation.y[0, j]:
            rest += null
    weigh(chain, problem.gamma)
    list_states(chain, masks.x, False, problem.alpha, problem.gamma)
    value, last = forward(chain, problem.theta)
    if value < IMPOSSIBLE or rest < IMPOSSIBLE:
        return NEVER, rest
    trace_back(chain, last, problem.gamma)
    for i in range(1, I + 1):
        for j in range(J + 1):
            relaxation.y[i, j] = chain.y[i, j]
            if chain.x[i, j]:
                relaxation.a[i] = j
    return value + rest, rest


@kernel()
def slope(relaxation: Relaxation) -> float:
    """g of what was chosen, and its squared norm."""
    y, before, g = relaxation.y, relaxation.before, relaxation.slope
    I, J = y.shape[0] - 1, y.shape[1] - 1
    g[:] = 0.0
    g[0, 0] = 1.0
    for i in range(I + 1):
        for j in range(1, J + 1):
            if y[i, j]:
                if j < J:
                    g[j, i] += 1
                g[j - 1, before[i, j]] -= 1
    norm = 0.0
    for j in range(J):
        for i in range(I + 1):
            norm += g[j, i] * g[j, i]
            relaxation.violations[j, i] += (1 - FADE) * (abs(g[j, i]) - relaxation.violations[j, i])
    return norm


@kernel()
def move(relaxation: Relaxation, step: float) -> None:
    """λ ← λ + step · g."""
    for j in range(relaxation.slope.shape[0] - 1):
        for i in range(relaxation.slope.shape[1]):
            relaxation.multipliers[j, i] += step * relaxation.slope[j, i]


@kernel()
def repair(relaxation: Relaxation, problem: Problem, masks: Masks, incumbent: Incumbent) -> None:
    """An alignment from what was chosen: in each column the link that the chain has, too, if there is one."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    a, b = relaxation.a.copy(), np.zeros(J + 1, np.int64)
    for i in range(1, I + 1):
        for j in range(1, J + 1):
            if relaxation.y[i, j] and (b[j] == 0 or a[i] == j):
                b[j] = i
    if not offer(problem, a, b, incumbent):
        climb(problem, masks, a, b)
        offer(problem, a, b, incumbent)


@kernel()
def prune(
    relaxation: Relaxation, problem: Problem, masks: Masks, value: float, rest: float, least: float
) -> int:
    """Remove what no solution of score ≥ `least` contains, arcs too; returns how many choices went."""
    I, J = masks.x.shape[0] - 1, masks.x.shape[1] - 1
    chain, rho = relaxation.chain, relaxation.rho
    least = max(least, IMPOSSIBLE)
    backward(chain, problem.theta)
    cell_values(chain, relaxation.x_values)
    link_values(chain, value - rest, problem.gamma, relaxation.y_values)
    for j in range(1, J + 1):
        relaxation.y_values[0, j] = value - rest + min(rho[0, j], 0.0)
    gone = 0
    for i in range(1, I + 1):
        for j in range(J + 1):
            if masks.x[i, j] and relaxation.x_values[i, j] + rest < least:
                masks.x[i, j] = 0
                gone += 1
    for j in range(1, J + 1):
        if only_choice(masks, j) == 0:
            continue
        for i in range(I + 1):
            if not masks.y[i, j]:
                continue
            link = relaxation.y_values[i, j] + rest
            if link < least:
                masks.y[i, j] = 0
                gone += 1
                continue
            own = relaxation.multipliers[j, i] if j < J else 0.0
            for p in range(I + 1):
                if relaxation.arcs[j - 1, p, i]:
                    z = problem.omega[j - 1, p, i] + relaxation.multipliers[j - 1, p] - own
                    if link - rho[i, j] + z < least:
                        relaxation.arcs[j - 1, p, i] = 0
    return gone


@kernel()
def descend(
    problem: Problem,
    masks: Masks,
    relaxation: Relaxation,
    incumbent: Incumbent,
    record: Record,
    rounds: int,
    tolerance: float,
    pruning: bool,
) -> int:
    """Up to so many rounds; returns OPEN, CLOSED or MET. The least bound is in `record`."""
    strict = problem.gamma < IMPOSSIBLE
    gap_pruned = np.inf
    for _ in range(rounds):
        value, rest = evaluate(relaxation, problem, masks)
        if value < IMPOSSIBLE:
            # With pruning: nothing is left that could be better than the best.
            record.numbers[BOUND] = min(record.numbers[BOUND], incumbent.value[0])
            return CLOSED
        norm = slope(relaxation)
        if norm == 0 or record.numbers[ROUNDS] % REPAIR_EVERY == 0:
            repair(relaxation, problem, masks, incumbent)
        least = incumbent.value[0]
        observe(record, value, least, PATIENCE, SHRINK)
        if record.numbers[BOUND] <= least + tolerance:
            return CLOSED
        if norm == 0:
            return MET
        if pruning and value - least < 0.7 * gap_pruned:
            gap_pruned = value - least
            if prune(relaxation, problem, masks, value, rest, least - tolerance) and not propagate(
                masks, strict
            ):
                record.numbers[BOUND] = min(record.numbers[BOUND], least)
                return CLOSED
        move(relaxation, polyak_step(record, value, norm, aim(value, least)))
    return OPEN


def search(
    problem: Problem, tolerance: float, time_limit: float | None = None, trace: int = MOST_ROUNDS
) -> Outcome:
    """400 rounds at most. The bound need not meet the score."""
    clock = Clock(time_limit)
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record(trace)
    plain = float(prune_by_chains(problem, copied(masks), incumbent, tolerance))
    if plain < IMPOSSIBLE:
        return Outcome(incumbent, NEVER, 0, ())
    relaxation = new_relaxation(problem)

    def advance(rounds: int) -> int:
        return descend(problem, masks, relaxation, incumbent, record, rounds, tolerance, False)

    run(advance, record, MOST_ROUNDS, rounds_at_once(I, J), clock)
    bound = min(plain, float(record.numbers[BOUND]))
    return Outcome(
        incumbent, max(bound, float(incumbent.value[0])), int(record.numbers[ROUNDS]), trace_of(record)
    )
