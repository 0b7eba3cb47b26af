"""`dual-decomposition`: each direction a plain Viterbi, their links made to agree (DeNero & Macherey 2011).

Variables c(i, j) stand for the links of both directions together. Each direction has its own copy:
c(i, j) = 1 costs nothing where the direction has the link itself (where it must be 1), α where word i (or j)
has an adjacent one, γ elsewhere (−∞ forbids). Requiring both copies to be equal, with multipliers u,

    L(u) = max_{a, c} [θ(a) + costs + u·c] + max_{b, c} [ω(b) + costs − u·c],

and given a chain the best c is found entry by entry, so that both maxima are Viterbi decodings with weights
on the cells. L(u) is never less than the optimum; where the copies agree, the chains are optimal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part
from dualign._core.progress import Clock
from dualign._search.dual import ROUNDS, Record, descent
from dualign.decode.joint.feasible import Incumbent, JointOutcome, best_weighted, offer_best
from dualign.decode.joint.model import JointProblem, Masks, link_cost
from dualign.decode.joint.relax import REPAIR_EVERY, RULE, search_by


@part
def directed(theta: Array, alpha: float, gamma: float, u: Array, path: Array, c: Array) -> float:
    """max_{a, c} [θ(a) + costs + u·c] of one direction; a into `path` int64 (n + 1), c uint8 (n + 1, m + 1).

    `u` float64 (n + 1, m + 1). O(n m²).
    """
    n, m = theta.shape[0], theta.shape[1] - 1
    weights = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        unseen = 0.0
        for j in range(1, m + 1):
            unseen += max(0.0, u[i, j] + gamma)
        for j in range(m + 1):
            weights[i, j] = unseen
            for k in range(max(1, j - 1), min(m, j + 1) + 1 if j > 0 else 0):
                weights[i, j] -= max(0.0, u[i, k] + gamma)
                weights[i, j] += u[i, k] if k == j else max(0.0, u[i, k] + alpha)
    value = best_weighted(theta, weights, path)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c[i, j] = j == path[i] or u[i, j] + link_cost(j, path[i], alpha, gamma) > 0
    return value


class Copies(NamedTuple):
    """`u` float64 (I + 1, J + 1): the multipliers; `a`, `b` int64: the chains; `there` uint8 (I + 1, J + 1),
    `back` (J + 1, I + 1): the two copies of c. All of them change; `masks` exclude nothing."""

    problem: JointProblem
    masks: Masks
    incumbent: Incumbent
    u: Array
    a: Array
    b: Array
    there: Array
    back: Array


def new_copies(problem: JointProblem, masks: Masks, incumbent: Incumbent) -> Copies:
    """Multipliers 0."""
    shape, turned = masks.x.shape, masks.x.T.shape
    a, b = np.zeros(shape[0], np.int64), np.zeros(shape[1], np.int64)
    there, back = np.zeros(shape, np.uint8), np.zeros(turned, np.uint8)
    return Copies(problem, masks, incumbent, np.zeros(shape), a, b, there, back)


@part
def evaluate(copies: Copies) -> tuple[float, float]:
    """L(u), and in how many links the copies differ."""
    theta, omega, alpha, gamma = copies.problem
    value = directed(theta, alpha, gamma, copies.u, copies.a, copies.there)
    value += directed(omega, alpha, gamma, -copies.u.T.copy(), copies.b, copies.back)
    norm = 0.0
    for i in range(1, copies.u.shape[0]):
        for j in range(1, copies.u.shape[1]):
            norm += copies.there[i, j] != copies.back[j, i]
    return value, norm


@part
def improve(copies: Copies, record: Record, t: int, norm: float) -> float:
    """Every fourth round, and where the copies agree, offer the chains; the best score known."""
    if norm == 0 or record.numbers[ROUNDS] % REPAIR_EVERY == 0:
        offer_best(copies.problem, copies.masks, copies.a, copies.b, copies.incumbent)
    return copies.incumbent.value[0]


@part(allocates=False)
def move(copies: Copies, step: float) -> None:
    """A step of the multipliers against the difference of the copies."""
    for i in range(1, copies.u.shape[0]):
        for j in range(1, copies.u.shape[1]):
            copies.u[i, j] -= step * (float(copies.there[i, j]) - float(copies.back[j, i]))


descend = descent(evaluate, improve, move, RULE)
"""`descend(copies, record, rounds, tolerance)`."""


def search(problem: JointProblem, tolerance: float, clock: Clock) -> JointOutcome:
    """400 rounds at most. The bound need not meet the score."""
    return search_by(new_copies, descend, problem, tolerance, clock)
