"""Best paths of one direction's chain: plain Viterbi recursions, O(n m²).

`theta` float64 (n, m + 1, m + 1): [i − 1, j before, j], as in `dualign.decode.joint.objective`.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import IMPOSSIBLE, NEVER


@kernel()
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


@kernel()
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


@kernel()
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
