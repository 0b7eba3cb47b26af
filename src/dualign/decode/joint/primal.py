"""Feasible alignments: repair what a relaxation suggests, then climb; and what a search hands back.

Given one direction's chain, the best chain of the other is a Viterbi with the links' costs as weights, so the
two directions improve each other in turns until neither can; then links that raise the score of both
directions together are added one by one. The result is a local optimum, and its score a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.joint.chain_paths import best_weighted
from dualign.decode.joint.masks import Masks
from dualign.decode.joint.objective import Problem, link_cost, score
from dualign.search.dual import BOUND, IMPOSSIBLE, NEVER, ROUNDS, Record, trace_of

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
class Outcome:
    """The best alignment found (chains with entry 0 = 0), a proved bound, rounds, bound and score by round.

    `nodes`: parts of the search space that were looked at; `constraints`: how many were put back.
    """

    incumbent: Incumbent
    bound: float
    rounds: int = 0
    trace: tuple[tuple[float, float], ...] = ()
    nodes: int = 1
    constraints: int = 0


def outcome_of(incumbent: Incumbent, bound: float, record: Record, constraints: int = 0) -> Outcome:
    """What a dual search proved, given another bound that is known."""
    bound = max(min(bound, float(record.numbers[BOUND])), float(incumbent.value[0]))
    rounds = int(record.numbers[ROUNDS])
    return Outcome(incumbent, bound, rounds, trace_of(record), constraints=constraints)


@kernel()
def offer(problem: Problem, a: Array, b: Array, incumbent: Incumbent) -> bool:
    """Keep a and b if they are feasible and better than what is there."""
    value = score(problem, a, b)
    if value > IMPOSSIBLE and value > incumbent.value[0] + GAIN:
        incumbent.a[:] = a
        incumbent.b[:] = b
        incumbent.value[0] = value
        return True
    return False


@kernel()
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


@kernel()
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


@kernel()
def climb(problem: Problem, masks: Masks, a: Array, b: Array) -> float:
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
