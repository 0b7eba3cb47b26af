"""Feasible alignments: repair what a relaxation suggests, then climb; and what a search hands back.

Given one direction's chain, the best chain of the other is a Viterbi with the links' costs as weights, so the
two directions improve each other in turns until neither can; then links that raise the score of both
directions together are added one by one. The result is a local optimum, and its score a lower bound.

Best paths of one direction's chain: plain Viterbi recursions, O(n m²).

`theta` float64 (n, m + 1, m + 1): [i − 1, j before, j], as in `dualign.decode.joint.model`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.dual import BOUND, IMPOSSIBLE, NEVER, ROUNDS, Record, trace_of
from dualign.decode.joint.model import JointProblem, Masks, link_cost, score


@part
def maxima(theta: Array) -> tuple[Array, Array]:
    """The best scores up to each cell and after it, float64 (n + 1, m + 1) each."""
    n, m = theta.shape[0], theta.shape[1] - 1
    there, back = np.full((n + 1, m + 1), NEVER), np.full((n + 1, m + 1), NEVER)
    there[0, 0] = 0.0
    back[n] = 0.0
    for i in range(1, n + 1):
        for before in range(m + 1 if i > 1 else 1):
            z = there[i - 1, before]
            for j in range(m + 1):
                there[i, j] = max(there[i, j], z + theta[i - 1, before, j])
    for i in range(n, 0, -1):
        for before in range(m + 1 if i > 1 else 1):
            z = NEVER
            for j in range(m + 1):
                z = max(z, back[i, j] + theta[i - 1, before, j])
            back[i - 1, before] = z
    return there, back


@part
def best_through(theta: Array, through: Array, path: Array) -> float:
    """`through[i, j]`, float64 (n + 1, m + 1), gets the best score of any chain with a_i = j, and `path`
    int64 (n + 1) the best chain; returns its score."""
    n, m = theta.shape[0], theta.shape[1] - 1
    there, back = maxima(theta)
    value = NEVER
    for j in range(m + 1):
        value = max(value, there[n, j])
    before = 0
    for i in range(1, n + 1):
        most, choice = 2 * NEVER, 0
        for j in range(m + 1):
            z = theta[i - 1, before, j] + back[i, j]
            if z > most:
                most, choice = z, j
        path[i] = before = choice
    for i in range(1, n + 1):
        for j in range(m + 1):
            z = there[i, j] + back[i, j]
            through[i, j] = z if z > IMPOSSIBLE else NEVER
    return value


@part
def best_weighted(theta: Array, weights: Array, path: Array) -> float:
    """The maximum of θ(a) + Σ_i weights[i, a_i], `weights` float64 (n + 1, m + 1); the chain that has it goes
    into `path` int64 (n + 1), unless there is none."""
    n, m = theta.shape[0], theta.shape[1] - 1
    best = np.empty((n + 1, m + 1))
    back = np.zeros((n + 1, m + 1), np.int32)
    for i in range(1, n + 1):
        for j in range(m + 1):
            best[i, j] = NEVER
            if weights[i, j] < IMPOSSIBLE:
                continue
            most = theta[0, 0, j] if i == 1 else 2 * NEVER
            for before in range(m + 1 if i > 1 else 0):
                z = best[i - 1, before] + theta[i - 1, before, j]
                if z > most:
                    most = z
                    back[i, j] = before
            best[i, j] = max(NEVER, most + weights[i, j])
    last = best[n].argmax()
    value = best[n, last]
    if value > IMPOSSIBLE:
        for i in range(n, 0, -1):
            path[i] = last
            last = back[i, last]
    return value


GAIN = 1e-9
"""Improvements smaller than this are rounding."""


class Incumbent(NamedTuple):
    """The best alignment so far: `a` int64 (I + 1), `b` int64 (J + 1), `value` float64 (1), its score."""

    a: Array
    b: Array
    value: Array


def new_incumbent(I: int, J: int) -> Incumbent:
    """No alignment yet."""
    return Incumbent(np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64), np.full(1, NEVER))


@dataclass(frozen=True, slots=True)
class JointOutcome:
    """The best alignment found (chains with entry 0 = 0), a proved bound, rounds, bound and score by round.

    `nodes`: parts of the search space that were looked at; `constraints`: how many were put back.
    """

    incumbent: Incumbent
    bound: float
    rounds: int = 0
    trace: tuple[tuple[float, float], ...] = ()
    nodes: int = 1
    constraints: int = 0


def outcome_of(incumbent: Incumbent, bound: float, record: Record, constraints: int = 0) -> JointOutcome:
    """What a dual search proved, given another bound that is known."""
    bound = max(min(bound, float(record.numbers[BOUND])), float(incumbent.value[0]))
    rounds = int(record.numbers[ROUNDS])
    return JointOutcome(incumbent, bound, rounds, trace_of(record), constraints=constraints)


@part
def offer(problem: JointProblem, a: Array, b: Array, incumbent: Incumbent) -> bool:
    """Keep a and b if they are feasible and better than what is there."""
    value = score(problem, a, b)
    if value > IMPOSSIBLE and value > incumbent.value[0] + GAIN:
        incumbent.a[:] = a
        incumbent.b[:] = b
        incumbent.value[0] = value
        return True
    return False


compiled_offer = kernel(offer)


@part
def drop_unsupported(a: Array, b: Array) -> None:
    """Set links to null until all that are left have a counterpart at most one position off."""
    changed = True
    while changed:
        changed = False
        for i in range(1, len(a)):
            j = a[i]
            if j > 0 and (b[j] == 0 or abs(b[j] - i) > 1):
                a[i] = 0
                changed = True
        for j in range(1, len(b)):
            i = b[j]
            if i > 0 and (a[i] == 0 or abs(a[i] - j) > 1):
                b[j] = 0
                changed = True


@part
def best_reply(omega: Array, alpha: float, gamma: float, a: Array, b: Array) -> None:
    """b ← the best chain given a; b stays as it is if there is none. O(J I²)."""
    I, J = len(a) - 1, len(b) - 1
    weights = np.zeros((J + 1, I + 1))
    pointing = np.zeros(J + 1, np.int32)
    for i in range(1, I + 1):
        pointing[a[i]] += 1
    for j in range(1, J + 1):
        for i in range(I + 1):
            weight = 0.0
            rest = pointing[j]
            if i > 0:
                weight = link_cost(j, a[i], alpha, gamma)
                for k in range(max(1, i - 1), min(I, i + 1) + 1):
                    if a[k] == j:
                        weight += link_cost(k, i, alpha, gamma)
                        rest -= 1
            if rest > 0:
                weight += rest * gamma
            weights[j, i] = weight
    best_weighted(omega, weights, b)


@part
def climb(problem: JointProblem, masks: Masks, a: Array, b: Array) -> float:
    """Make a and b feasible and locally optimal, in place; returns their score (NEVER if that fails)."""
    theta, omega, alpha, gamma = problem
    I, J = len(a) - 1, len(b) - 1
    if gamma < IMPOSSIBLE:
        drop_unsupported(a, b)
    value = score(problem, a, b)
    if value < IMPOSSIBLE:
        return value
    while True:
        while True:
            best_reply(omega, alpha, gamma, a, b)
            best_reply(theta, alpha, gamma, b, a)
            new = score(problem, a, b)
            if not new > value + GAIN:
                break
            value = new
        most, row, column = GAIN, 0, 0
        for i in range(1, I + 1):
            if a[i] > 0:
                continue
            for j in range(1, J + 1):
                if b[j] > 0 or not masks.x[i, j] or not masks.y[i, j]:
                    continue
                gain = theta[i - 1, a[i - 1], j] - theta[i - 1, a[i - 1], 0]
                gain += omega[j - 1, b[j - 1], i] - omega[j - 1, b[j - 1], 0]
                if i < I:
                    gain += theta[i, j, a[i + 1]] - theta[i, 0, a[i + 1]]
                if j < J:
                    gain += omega[j, i, b[j + 1]] - omega[j, 0, b[j + 1]]
                if gain > most:
                    most, row, column = gain, i, j
        if row == 0:
            return value
        a[row], b[column] = column, row
        value = score(problem, a, b)


@part
def offer_best(problem: JointProblem, masks: Masks, a: Array, b: Array, incumbent: Incumbent) -> None:
    """Offer a and b; if they are not kept, what climbing makes of them."""
    if not offer(problem, a, b, incumbent):
        climb(problem, masks, a, b)
        offer(problem, a, b, incumbent)
