"""`relax`: one chain keeps its order, the other is dissolved into its transitions (Chang et al. 2014, §3-4).

The rows stay a chain that carries the columns' links y along, all agreement kept (`tied_chain`). Every
chosen y(i, j), nulls y(0, j) too, picks its own predecessor in column j − 1, chosen or not. That the
predecessors are the chosen links is what is relaxed, with multipliers λ(j, i), j = 0..J−1:

    ρ(i, j) = max_{i'} ω(i', i, j) + λ(j − 1, i') − [j < J] λ(j, i)       (i' = 0 for j = 1)
    L(λ)    = −λ(0, 0) + Σ_j max(0, ρ(0, j)) + max over row chains [θ + costs + Σ_{y(i,j)=1} ρ(i, j)]
    g(j, i) = y(i, j) − Σ_{i''} [y(i'', j + 1) = 1 with predecessor i],     λ ← λ + η g.

L(λ) is never less than the optimum, and g = 0 makes y a chain. The search begins where L is at most the sum
of the two chains' own maxima: with F and B the best scores of the y chain up to and after (i, j), and V the
best of all, λ = ½ (F − B − V) makes ρ = 0 along its best path and ρ ≤ 0 elsewhere; λ = 0, as in the paper,
is a far worse start. Pruning (§6) is safe: what no solution as good as the best known one contains is
never needed again. `relax` does not prune; `constrain` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign._search.dual import IMPOSSIBLE, NEVER, ROUNDS, Record, StepRule, descent, new_record, run
from dualign.decode.joint.bound import chosen_chain, prune_by_chains, remove, rounds_at_once
from dualign.decode.joint.feasible import (
    Incumbent,
    JointOutcome,
    maxima,
    new_incumbent,
    offer_best,
    outcome_of,
)
from dualign.decode.joint.model import JointProblem, Masks, all_allowed, propagate
from dualign.decode.joint.tied_chain import (
    TiedChain,
    backward,
    cell_values,
    forward,
    link_values,
    list_states,
    new_chain,
    trace_back,
)

MOST_ROUNDS = 400
RULE = StepRule(patience=20, shrink=0.8)

FADE = 0.95
"""Weight of the past in the running mean of violations."""

REPAIR_EVERY = 4
"""Rounds between two attempts at a better alignment."""


class JointRelaxation(NamedTuple):
    """The problem, what is still allowed, the best alignment so far; multipliers, and room for evaluation.

    `chain`: the rows, (I, J). `multipliers`, `slope`, `violations` float64 (J + 1, I + 1): λ, g, and a
    running mean of |g|; `active` uint8: which constraints have been put back (`constrain`). `arcs` uint8
    (J, I + 1, I + 1), [j − 1, i', i]: whether y(i, j) may have predecessor i'. (I + 1, J + 1): `rho`;
    `before` int32, its predecessor; `y` uint8, the chosen links with nulls in row 0. `a` int64 (I + 1): the
    chain. `rest` float64 (1): the part of L that is not the row chain's.
    """

    problem: JointProblem
    masks: Masks
    incumbent: Incumbent
    chain: TiedChain
    multipliers: Array
    slope: Array
    violations: Array
    active: Array
    arcs: Array
    rho: Array
    before: Array
    y: Array
    a: Array
    rest: Array


@part
def first_multipliers(omega: Array) -> Array:
    """½ (F − B − V), (J + 1, I + 1), which makes L the sum of the plain chains' maxima. O(J I²)."""
    there, back = maxima(omega)
    most = back[0, 0]
    for j in range(there.shape[0]):
        for i in range(there.shape[1]):
            reachable = there[j, i] > IMPOSSIBLE and back[j, i] > IMPOSSIBLE
            there[j, i] = 0.5 * (there[j, i] - back[j, i] - most) if reachable else 0.0
    return there


@kernel
def new_relaxation(problem: JointProblem, masks: Masks, incumbent: Incumbent) -> JointRelaxation:
    """Multipliers to begin with; every arc that its score allows."""
    I, J = problem.theta.shape[0], problem.omega.shape[0]
    shape, turned = (I + 1, J + 1), (J + 1, I + 1)
    arcs = np.zeros((J, I + 1, I + 1), np.uint8)
    for j in range(J):
        for before in range(I + 1 if j > 0 else 1):
            for i in range(I + 1):
                arcs[j, before, i] = problem.omega[j, before, i] > IMPOSSIBLE
    return JointRelaxation(
        problem, masks, incumbent, new_chain(I, J), first_multipliers(problem.omega), np.zeros(turned),
        np.zeros(turned), np.zeros(turned, np.uint8), arcs, np.zeros(shape), np.zeros(shape, np.int32),
        np.zeros(shape, np.uint8), np.zeros(I + 1, np.int64), np.zeros(1),
    )  # fmt: skip


@part(allocates=False)
def only_choice(masks: Masks, j: int) -> int:
    """The row that b_j must be, or −1 if it has a choice."""
    only, choices = -1, 0
    for i in range(masks.y.shape[0]):
        if masks.y[i, j]:
            only = i
            choices += 1
    return only if choices == 1 else -1


@part(allocates=False)
def predecessors(relaxation: JointRelaxation) -> None:
    """`rho` and `before` at these multipliers. O(J I²)."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    omega, y = relaxation.problem.omega, relaxation.masks.y
    multipliers, rho, arcs = relaxation.multipliers, relaxation.rho, relaxation.arcs
    for j in range(1, J + 1):
        for i in range(I + 1):
            rho[i, j] = NEVER
        for p in range(I + 1 if j > 1 else 1):
            if j > 1 and not y[p, j - 1]:
                continue
            for i in range(I + 1):
                z = omega[j - 1, p, i] + multipliers[j - 1, p]
                if y[i, j] and arcs[j - 1, p, i] and z > rho[i, j]:
                    rho[i, j] = z
                    relaxation.before[i, j] = p
        for i in range(I + 1 if j < J else 0):
            if rho[i, j] > IMPOSSIBLE:
                rho[i, j] -= multipliers[j, i]


@part
def value_of(relaxation: JointRelaxation) -> float:
    """L(λ); the maximiser goes into `a`, `y`, `before`."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    problem, masks, chain = relaxation.problem, relaxation.masks, relaxation.chain
    predecessors(relaxation)
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
    relaxation.rest[0] = rest
    list_states(chain, masks.x, problem.alpha, problem.gamma)
    value, last = forward(chain, problem.theta)
    if value < IMPOSSIBLE or rest < IMPOSSIBLE:
        return NEVER
    trace_back(chain, last, problem.gamma)
    relaxation.y[1:] = chain.y[1:]
    relaxation.a[:] = chosen_chain(chain)
    return value + rest


compiled_value_of = kernel(value_of)


@part(allocates=False)
def slope(relaxation: JointRelaxation) -> float:
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


@part
def evaluate(relaxation: JointRelaxation) -> tuple[float, float]:
    """L(λ) and the squared norm of g."""
    value = value_of(relaxation)
    return value, slope(relaxation) if value > IMPOSSIBLE else 0.0


@part(allocates=False)
def move(relaxation: JointRelaxation, step: float) -> None:
    """λ ← λ + step · g."""
    for j in range(relaxation.slope.shape[0] - 1):
        for i in range(relaxation.slope.shape[1]):
            relaxation.multipliers[j, i] += step * relaxation.slope[j, i]


@part
def improve(relaxation: JointRelaxation, record: Record, t: int, norm: float) -> float:
    """Now and then, an alignment from what was chosen: in each column the link that the chain has, too, if
    there is one. The best score known."""
    if norm == 0 or record.numbers[ROUNDS] % REPAIR_EVERY == 0:
        I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
        a, b = relaxation.a.copy(), np.zeros(J + 1, np.int64)
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                if relaxation.y[i, j] and (b[j] == 0 or a[i] == j):
                    b[j] = i
        offer_best(relaxation.problem, relaxation.masks, a, b, relaxation.incumbent)
    return relaxation.incumbent.value[0]


@part
def prune(relaxation: JointRelaxation, value: float, least: float) -> bool:
    """Remove what no solution of score ≥ `least` contains, arcs too; False if nothing is left."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    problem, masks, chain, rho = relaxation.problem, relaxation.masks, relaxation.chain, relaxation.rho
    rest = relaxation.rest[0]
    least = max(least, IMPOSSIBLE)
    backward(chain, problem.theta)
    y_values = link_values(chain, value - rest, problem.gamma)
    for j in range(1, J + 1):
        y_values[0, j] = value - rest + min(rho[0, j], 0.0)
    gone = remove(masks.x, cell_values(chain), np.full((J + 1, I + 1), rest), rest, least)
    for j in range(1, J + 1):
        if only_choice(masks, j) == 0:
            continue
        for i in range(I + 1):
            if not masks.y[i, j]:
                continue
            link = y_values[i, j] + rest
            if link < least:
                masks.y[i, j] = 0
                gone += 1
                continue
            prune_arcs(relaxation, i, j, link - rho[i, j], least)
    return gone == 0 or propagate(masks, problem.gamma < IMPOSSIBLE)


@part(allocates=False)
def prune_arcs(relaxation: JointRelaxation, i: int, j: int, rest: float, least: float) -> None:
    """Remove the predecessors of y(i, j) with which, `rest` being the rest, no solution is worth `least`."""
    I, J = relaxation.y.shape[0] - 1, relaxation.y.shape[1] - 1
    own = relaxation.multipliers[j, i] if j < J else 0.0
    for p in range(I + 1):
        if relaxation.arcs[j - 1, p, i] and not relaxation.active[j - 1, p]:
            z = relaxation.problem.omega[j - 1, p, i] + relaxation.multipliers[j - 1, p] - own
            if rest + z < least:
                relaxation.arcs[j - 1, p, i] = 0


descend = descent(evaluate, improve, move, RULE)
"""`descend(relaxation, record, rounds, tolerance)`."""

descend_and_prune = descent(evaluate, improve, move, RULE, prune=prune)


def search_by(
    start: Callable[..., Any],
    descend: Callable[..., int],
    problem: JointProblem,
    tolerance: float,
    clock: Clock,
) -> JointOutcome:
    """400 rounds of `descend` at most, from `start(problem, masks, incumbent)`, with nothing excluded."""
    I, J = len(problem.theta), len(problem.omega)
    incumbent, record = new_incumbent(I, J), new_record(MOST_ROUNDS)
    plain = float(prune_by_chains(problem, all_allowed(I, J), incumbent, tolerance))
    if plain < IMPOSSIBLE:
        return JointOutcome(incumbent, NEVER)
    state = start(problem, all_allowed(I, J), incumbent)

    def advance(rounds: int) -> int:
        return descend(state, record, rounds, tolerance)

    if not clock.is_over:
        run(advance, record, MOST_ROUNDS, rounds_at_once(I, J), clock)
    return outcome_of(incumbent, plain, record)


def search(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """400 rounds at most. The bound need not meet the score."""
    return search_by(new_relaxation, descend, problem, tolerance, clock)
