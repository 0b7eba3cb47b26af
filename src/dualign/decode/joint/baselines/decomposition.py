"""`dual-decomposition`: each direction a plain Viterbi, their links made to agree (DeNero & Macherey 2011).

Variables c(i, j) stand for the links of both directions together. Each direction has its own copy:
c(i, j) = 1 costs nothing where the direction has the link itself (where it must be 1), α where word i (or j)
has one that is adjacent, γ elsewhere (−∞ forbids). Requiring both copies to be equal, with multipliers u,

    L(u) = max_{a, c} [θ(a) + costs + u·c] + max_{b, c} [ω(b) + costs − u·c],

and given a chain the best c is a matter of each entry alone, so that both maxima are Viterbi decodings with
weights on the cells. L(u) is never less than the optimum; where the copies agree, the chains are optimal.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.jit import kernel
from dualign.decode.joint.baselines.relax import MOST_ROUNDS, PATIENCE, REPAIR_EVERY, SHRINK
from dualign.decode.joint.bound import prune_by_chains, rounds_at_once
from dualign.decode.joint.masks import Masks, all_allowed, copied
from dualign.decode.joint.objective import Problem, link_cost
from dualign.decode.joint.outcome import Outcome
from dualign.decode.joint.primal import Incumbent, climb, new_incumbent, offer
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


@kernel()
def directed(theta: Array, alpha: float, gamma: float, u: Array, path: Array, c: Array) -> float:
    """max_{a, c} [θ(a) + costs + u·c] of one direction; a into `path` int64 (n + 1), c uint8 (n + 1, m + 1).

    `u` float64 (n + 1, m + 1). O(n m²).
    """
    n, m = theta.shape[0], theta.shape[1] - 1
    best = np.empty((n + 1, m + 1))
    back = np.zeros((n + 1, m + 1), np.int32)
    for i in range(1, n + 1):
        unseen = 0.0
        for j in range(1, m + 1):
            unseen += max(0.0, u[i, j] + gamma)
        for j in range(m + 1):
            weight = unseen
            if j > 0:
                for k in range(max(1, j - 1), min(m, j + 1) + 1):
                    weight -= max(0.0, u[i, k] + gamma)
                    weight += u[i, k] if k == j else max(0.0, u[i, k] + alpha)
            most = theta[0, 0, j] if i == 1 else 2 * NEVER
            if i > 1:
                for before in range(m + 1):
                    z = best[i - 1, before] + theta[i - 1, before, j]
                    if z > most:
                        most = z
                        back[i, j] = before
            best[i, j] = max(NEVER, most + weight)
    last = 0
    for j in range(m + 1):
        if best[n, j] > best[n, last]:
            last = j
    value = best[n, last]
    for i in range(n, 0, -1):
        path[i] = last
        for j in range(1, m + 1):
            c[i, j] = j == last or u[i, j] + link_cost(j, last, alpha, gamma) > 0
        last = back[i, last]
    return value


@kernel()
def descend(
    problem: Problem,
    masks: Masks,
    u: Array,
    incumbent: Incumbent,
    record: Record,
    rounds: int,
    tolerance: float,
) -> int:
    """Up to so many rounds; returns OPEN, CLOSED or MET. `u` float64 (I + 1, J + 1) moves on."""
    theta, omega, alpha, gamma = problem
    I, J = len(theta), len(omega)
    a, b = np.zeros(I + 1, np.int64), np.zeros(J + 1, np.int64)
    there, back = np.zeros((I + 1, J + 1), np.uint8), np.zeros((J + 1, I + 1), np.uint8)
    turned = np.zeros((J + 1, I + 1))
    for _ in range(rounds):
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                turned[j, i] = -u[i, j]
        value = directed(theta, alpha, gamma, u, a, there) + directed(omega, alpha, gamma, turned, b, back)
        if value < IMPOSSIBLE:
            record.numbers[BOUND] = NEVER
            return CLOSED
        norm = 0.0
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                norm += there[i, j] != back[j, i]
        trying = norm == 0 or record.numbers[ROUNDS] % REPAIR_EVERY == 0
        if trying and not offer(problem, a, b, incumbent):
            climb(problem, masks, a, b)
            offer(problem, a, b, incumbent)
        least = incumbent.value[0]
        observe(record, value, least, PATIENCE, SHRINK)
        if record.numbers[BOUND] <= least + tolerance:
            return CLOSED
        if norm == 0:
            return MET
        step = polyak_step(record, value, norm, aim(value, least))
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                u[i, j] -= step * (float(there[i, j]) - float(back[j, i]))
    return OPEN


def search(
    problem: Problem, tolerance: float, time_limit: float | None = None, trace: int = MOST_ROUNDS
) -> Outcome:
    """400 rounds at most. The bound need not meet the score."""
    clock = Clock(time_limit)
    I, J = len(problem.theta), len(problem.omega)
    masks, incumbent, record = all_allowed(I, J), new_incumbent(I, J), new_record(trace)
    plain = float(prune_by_chains(problem, copied(masks), incumbent, tolerance))
    u = np.zeros((I + 1, J + 1))

    def advance(rounds: int) -> int:
        return descend(problem, masks, u, incumbent, record, rounds, tolerance)

    run(advance, record, MOST_ROUNDS, rounds_at_once(I, J), clock)
    bound = min(plain, float(record.numbers[BOUND]))
    return Outcome(
        incumbent, max(bound, float(incumbent.value[0])), int(record.numbers[ROUNDS]), trace_of(record)
    )
