"""Maximum-weight bipartite matching, exactly, with the prices that prove it.

    max Σ s_ij z_ij   s.t.  Σ_j z_ij ≤ 1,  Σ_i z_ij ≤ 1,  z ≥ 0
  = min Σ_i p_i + Σ_j q_j   s.t.  p_i + q_j ≥ s_ij,  p, q ≥ 0

Shortest augmenting paths (the Hungarian method as in Jonker & Volgenant 1987): one row at a time, O(I² J) for
I ≤ J. Prices that satisfy every inequality bound the score of any matching; where they add up to the score
of the one found, it is proved to be best. For s ≥ 0 a row loses nothing by taking a column, so the
smaller side is matched completely, except for rows of zeros; links with score 0 are removed at the end.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.decode.matchings.greedy import Matrices, matrix_of


@kernel()
def match(S: Array, chosen: Array) -> float:
    """Best matching of `S` (I, J), scores ≥ 0, into `chosen` uint8 (I, J); returns the proved bound."""
    I, J = S.shape
    chosen[:, :] = 0
    if I == 0 or J == 0:
        return 0.0
    turned = I > J
    if turned:
        I, J = J, I
    # Costs −s. Column J stands for "the row being placed"; row −1 for no row.
    p, q = np.zeros(I), np.zeros(J + 1)
    row_of = np.full(J + 1, -1, np.int32)
    distance, come_from = np.empty(J), np.empty(J, np.int32)
    done = np.empty(J + 1, np.bool_)
    for start in range(I):
        k = 0
        while k < J and (S[k, start] if turned else S[start, k]) == 0:
            k += 1
        if k == J:
            continue
        row_of[J] = start
        j = J
        distance[:] = np.inf
        done[:] = False
        while row_of[j] >= 0:
            done[j] = True
            i = row_of[j]
            step, nearest = np.inf, -1
            for k in range(J):
                if not done[k]:
                    reduced = -(S[k, i] if turned else S[i, k]) - p[i] - q[k]
                    if reduced < distance[k]:
                        distance[k] = reduced
                        come_from[k] = j
                    if distance[k] < step:
                        step, nearest = distance[k], k
            for k in range(J + 1):
                if done[k]:
                    p[row_of[k]] += step
                    q[k] -= step
                elif k < J:
                    distance[k] -= step
            j = nearest
        while j != J:
            row_of[j] = row_of[come_from[j]]
            j = come_from[j]
    for j in range(J):
        if row_of[j] >= 0:
            a, b = (j, row_of[j]) if turned else (row_of[j], j)
            if S[a, b] > 0:
                chosen[a, b] = 1
    return proved(S, turned, p, q)


@kernel()
def proved(S: Array, turned: bool, p: Array, q: Array) -> float:
    """Σ prices after rounding them up until every inequality holds: a bound, however they were computed."""
    I, J = len(p), len(q) - 1
    total = 0.0
    for j in range(J):
        q[j] = max(0.0, -q[j])
        total += q[j]
    for i in range(I):
        price = 0.0
        for j in range(J):
            price = max(price, (S[j, i] if turned else S[i, j]) - q[j])
        total += price
    return total


@kernel()
def match_batch(n0: int, n1: int, matrices: Matrices, chosen: Array, score: Array, bound: Array) -> None:
    """Match matrices n0..n1: `chosen` is laid out like the scores; `score`, `bound` float64 (matrices)."""
    for n in range(n0, n1):
        S, _, _, A = matrix_of(n, matrices, chosen)
        bound[n] = match(S, A)
        score[n] = 0
        for i in range(S.shape[0]):
            for j in range(S.shape[1]):
                if A[i, j]:
                    score[n] += S[i, j]
        bound[n] = max(bound[n], score[n])  # rounding may put it below
