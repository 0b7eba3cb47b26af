"""The bound: both chains, each carrying the other's links along, made to agree by multipliers.

Write the problem twice. In one half the rows form a chain and the columns' links y are free but consistent
with it; in the other the columns form a chain and the rows' links x are (`dualign.decode.joint.tied_chain`,
the second time transposed). Both halves contain all x and all y; requiring them to be equal, with
multipliers λ, μ for x and y, and sharing out the costs of agreement equally, gives

    L(λ, μ) = max_{a, y} [θ(a) + ½ costs + λ·x(a) + μ·y] + max_{b, x} [ω(b) + ½ costs − λ·x − μ·y(b)],

never less than the optimum. The relaxation of Chang et al. keeps one such half and dissolves the other chain
into its transitions; its best bound is that of the first half against a plain chain. Here the agreement is
kept in both, which is tighter and needs fewer rounds.

Safe pruning (their Lemma 1, on both halves): a solution with a_i = j is worth at most what both halves allow
it together. What is below the best known score is removed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import IMPOSSIBLE, NEVER, Record, StepRule, descent
from dualign.decode.joint.feasible import Incumbent, best_through, climb, new_incumbent, offer
from dualign.decode.joint.model import JointProblem, Masks, all_allowed, propagate
from dualign.decode.joint.tied_chain import (
    TiedChain,
    backward,
    cell_values,
    compiled_new_chain,
    forward,
    link_values,
    list_states,
    trace_back,
)

FADE = 0.85
"""Weight of the past in the running averages that branching looks at."""

WORK = 11_000_000
"""Steps from cell to cell between two looks at the clock: 25 rounds for a pair of 60 words per side."""


class Multipliers(NamedTuple):
    """Float64 (I + 1, J + 1): λ and μ, and running means of the halves' solutions."""

    x: Array
    y: Array
    mean_x: Array
    mean_y: Array


class ChainPair(NamedTuple):
    """What the parts of the descent share: the problem, what is still allowed, and where the search is.

    `rows` (I, J), `columns` (J, I): the halves; `values` float64 (2): L of either.
    """

    problem: JointProblem
    masks: Masks
    multipliers: Multipliers
    rows: TiedChain
    columns: TiedChain
    incumbent: Incumbent
    values: Array


def new_pair(problem: JointProblem) -> ChainPair:
    """Nothing excluded, multipliers 0, no alignment yet."""
    I, J = len(problem.theta), len(problem.omega)
    multipliers = Multipliers(*np.zeros((4, I + 1, J + 1)))
    chains = compiled_new_chain(I, J), compiled_new_chain(J, I)
    return ChainPair(problem, all_allowed(I, J), multipliers, *chains, new_incumbent(I, J), np.empty(2))


def rounds_at_once(I: int, J: int) -> int:
    """How many rounds, of O(I J (I + J)) steps each, to take between two looks at the clock."""
    return max(1, WORK // (I * J * (I + J)))


@part
def prepare(pair: ChainPair) -> None:
    """Weights and states of both halves at these multipliers. A link that is a column's (row's) only choice
    is required in the other half, too."""
    rows, columns, masks, multipliers = pair.rows, pair.columns, pair.masks, pair.multipliers
    allowed = masks.y.T.copy()
    tie(rows, columns, masks.x, multipliers.x, 1.0)
    tie(columns, rows, allowed, multipliers.y.T, -1.0)
    alpha, gamma = 0.5 * pair.problem.alpha, 0.5 * pair.problem.gamma
    list_states(rows, masks.x, alpha, gamma)
    list_states(columns, allowed, alpha, gamma)


@part
def tie(own: TiedChain, other: TiedChain, allowed: Array, multipliers: Array, sign: float) -> None:
    """Weights of the links that are the chain's own in one half, and tied to the chain in the other."""
    for i in range(1, allowed.shape[0]):
        choices = 0
        for j in range(allowed.shape[1]):
            choices += allowed[i, j]
        for j in range(1, allowed.shape[1]):
            weight = sign * multipliers[i, j]
            own.wx[i, j] = weight
            other.y1[j, i] = -weight if allowed[i, j] else NEVER
            other.y0[j, i] = NEVER if choices == 1 and allowed[i, j] else 0.0


@part
def compare(pair: ChainPair, step: float) -> float:
    """Squared norm of the subgradient; if `step` > 0, move against it and update the running means."""
    rows, columns, multipliers = pair.rows, pair.columns, pair.multipliers
    norm = 0.0
    for i in range(1, rows.x.shape[0]):
        for j in range(1, rows.x.shape[1]):
            gx = float(rows.x[i, j]) - float(columns.y[j, i])
            gy = float(rows.y[i, j]) - float(columns.x[j, i])
            norm += gx * gx + gy * gy
            if step > 0:
                multipliers.x[i, j] -= step * gx
                multipliers.y[i, j] -= step * gy
                mean = 0.5 * (float(rows.x[i, j]) + float(columns.y[j, i]))
                multipliers.mean_x[i, j] += (1 - FADE) * (mean - multipliers.mean_x[i, j])
                mean = 0.5 * (float(rows.y[i, j]) + float(columns.x[j, i]))
                multipliers.mean_y[i, j] += (1 - FADE) * (mean - multipliers.mean_y[i, j])
    return norm


@kernel
def prune_by_chains(problem: JointProblem, masks: Masks, incumbent: Incumbent, slack: float) -> float:
    """Before any dual: prune by the two plain chains and what links cost; returns the sum of their maxima.

    Their best paths, repaired, are the first incumbent. A link is worth at most the best chain through it,
    plus the best chain of the other direction through one of the counterparts it may have.
    """
    theta, omega = problem.theta, problem.omega
    I, J = theta.shape[0], omega.shape[0]
    a, b = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    there, back = np.zeros((I + 1, J + 1)), np.zeros((J + 1, I + 1))
    bound_a, bound_b = best_through(theta, there, a), best_through(omega, back, b)
    climb(problem, masks, a, b)
    offer(problem, a, b, incumbent)
    least = incumbent.value[0] - slack
    exclude(there, back, bound_b, problem, least, masks.x)
    exclude(back, there, bound_a, problem, least, masks.y.T)
    return bound_a + bound_b


@part
def exclude(own: Array, other: Array, bound: float, problem: JointProblem, least: float, mask: Array) -> None:
    """Prune one direction's choices, given the best chains of both through each cell, and `bound`, the best
    of the other."""
    n, m = own.shape[0] - 1, own.shape[1] - 1
    for i in range(1, n + 1):
        if own[i, 0] + bound < least:
            mask[i, 0] = 0
        for j in range(1, m + 1):
            z = max(other[j, i], bound + problem.gamma)
            for k in range(max(1, i - 1), min(n, i + 1) + 1):
                if k != i:
                    z = max(z, other[j, k] + problem.alpha)
            if own[i, j] + z < least:
                mask[i, j] = 0


@part
def evaluate(pair: ChainPair) -> tuple[float, float]:
    """L(λ, μ), and the squared norm of its subgradient."""
    prepare(pair)
    gamma = 0.5 * pair.problem.gamma
    pair.values[0], last_row = forward(pair.rows, pair.problem.theta)
    pair.values[1], last_column = forward(pair.columns, pair.problem.omega)
    if pair.values[0] < IMPOSSIBLE or pair.values[1] < IMPOSSIBLE:
        return NEVER, 0.0
    trace_back(pair.rows, last_row, gamma)
    trace_back(pair.columns, last_column, gamma)
    return pair.values[0] + pair.values[1], compare(pair, 0.0)


@part
def improve(pair: ChainPair, record: Record, t: int, norm: float) -> float:
    """Every fourth round of a call, and where the halves agree, offer their chains; the best score known."""
    if norm == 0 or t % 4 == 0:
        a, b = chosen_chain(pair.rows), chosen_chain(pair.columns)
        if norm > 0:
            climb(pair.problem, pair.masks, a, b)
        offer(pair.problem, a, b, pair.incumbent)
    return pair.incumbent.value[0]


@part
def chosen_chain(chain: TiedChain) -> Array:
    """The chain that a half has chosen, int64 (n + 1)."""
    a = np.zeros(chain.x.shape[0], np.int64)
    for i in range(1, chain.x.shape[0]):
        for j in range(chain.x.shape[1]):
            if chain.x[i, j]:
                a[i] = j
    return a


@part
def prune(pair: ChainPair, value: float, least: float) -> bool:
    """Remove what no solution of score ≥ `least` contains; False if nothing is left."""
    problem, masks, rows, columns, values = pair.problem, pair.masks, pair.rows, pair.columns, pair.values
    gamma = 0.5 * problem.gamma
    backward(rows, problem.theta)
    backward(columns, problem.omega)
    y_rows, x_columns = link_values(rows, values[0], gamma), link_values(columns, values[1], gamma)
    gone = remove(masks.x, cell_values(rows), x_columns, values[1], least)
    gone += remove(masks.y.T, cell_values(columns), y_rows, values[0], least)
    return gone == 0 or propagate(masks, problem.gamma < IMPOSSIBLE)


@part
def remove(mask: Array, own: Array, other: Array, rest: float, least: float) -> int:
    """Remove the choices of one chain that both halves together value below `least`; how many there were.

    `own`, `other`: their max-marginals; `rest`: the other half's maximum, for nulls.
    """
    gone = 0
    for i in range(1, mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and own[i, j] + (other[j, i] if j > 0 else rest) < least:
                mask[i, j] = 0
                gone += 1
    return gone


@part
def move(pair: ChainPair, step: float) -> None:
    """A step of the multipliers against the subgradient."""
    compare(pair, step)


descend = descent(evaluate, improve, move, StepRule(patience=4, shrink=0.75), prune=prune)
"""`descend(pair, record, rounds, tolerance)`: rounds on what the masks allow, pruning as the gap closes."""
