"""A proved upper bound on what any set of links within the limits is worth.

The objective f (see `dualign.decode.matchings.greedy`) is concave in the sums x_i, y_j of the rows' and
columns' scores. It lies below its tangent at any point x, y > 0, and the tangent is modular:

    f(A) ≤ Σ_i u (1 − α) x_i^α + Σ_j v (1 − α) y_j^α + Σ_{(i,j)∈A} π_ij,
    π_ij = ( u α x_i^{α−1} + v α y_j^{α−1} ) s_ij.

The best A for π within the columns' limits takes the k_j best of each column; within the rows' limits the
best of each row; the smaller sum holds for both limits together. The tangent at the sums of the greedy answer
is already tight where each of its links is among the best of its column by these prices. Frank-Wolfe steps,
x ← (1 − γ) x + γ (sums of the tangent's best links), move it towards the optimum of the concave relaxation.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.decode.matchings.greedy import (
    MatchingMatrix,
    Matrices,
    WordLimits,
    matrix_of,
    power,
    slope,
    value,
)

ROUNDS = 10
"""Steps after the first tangent; on word alignments more of them gain almost nothing."""


@part
def upper_bound(matrix: MatchingMatrix, rule: WordLimits, rounds: int = ROUNDS) -> float:
    """The least of the tangents' bounds, of which there are `rounds` + 1; the links are greedy's.

    O(cells · rounds), times the limits where these are neither 1 nor all. Greedy's guarantee is one more
    bound: (m + 1) f(chosen), m the number of sides whose limits bind.
    """
    S, row_limits, column_limits, chosen = matrix
    I, J = S.shape
    least = value(S, chosen, rule)
    best = least * (1 + int(np.any(row_limits < J)) + int(np.any(column_limits < I)))
    x, y = np.zeros(I), np.zeros(J)
    starting_point(matrix, x, y)
    taken = np.empty((I, J), np.uint8)
    dx, dy = np.empty(I), np.empty(J)
    for r in range(rounds + 1):
        best = min(best, tangent_bound(matrix, rule, x, y, taken))
        if rule.alpha == 1.0:
            break
        dx[:] = 0
        dy[:] = 0
        for i in range(I):
            for j in range(J):
                if taken[i, j]:
                    dx[i] += S[i, j]
                    dy[j] += S[i, j]
        step = 1 / (r + 3.0)
        for i in range(I):
            x[i] += step * (dx[i] - x[i])
        for j in range(J):
            y[j] += step * (dy[j] - y[j])
    return max(best, least)


compiled_upper_bound = kernel(upper_bound)  # rounding may put it below


@part
def tangent_bound(matrix: MatchingMatrix, rule: WordLimits, x: Array, y: Array, taken: Array) -> float:
    """The bound by the tangent at `x`, `y`, whose best links are marked in `taken` uint8 (I, J).

    A sum may be 0 only where no link is possible.
    """
    S, row_limits, column_limits, _ = matrix
    I, J = S.shape
    p, q = np.zeros(I), np.zeros(J)
    constant = 0.0
    for i in range(I):
        if x[i] > 0 and rule.rows > 0:
            p[i] = rule.rows * slope(x[i], rule.alpha)
            constant += rule.rows * (1 - rule.alpha) * power(x[i], rule.alpha)
    for j in range(J):
        if y[j] > 0 and rule.columns > 0:
            q[j] = rule.columns * slope(y[j], rule.alpha)
            constant += rule.columns * (1 - rule.alpha) * power(y[j], rule.alpha)
    by_row, by_column = np.any(row_limits < J), np.any(column_limits < I)
    worth = best_of_columns(S.T, q, p, row_limits, taken.T)
    if by_column:
        other = np.empty((I, J), np.uint8)
        by_columns = best_of_columns(S, p, q, column_limits, other)
        if not by_row or by_columns < worth:
            worth = by_columns
            taken[:, :] = other
    return constant + worth


@part
def starting_point(matrix: MatchingMatrix, x: Array, y: Array) -> None:
    """Greedy's sums; the largest score where greedy has no link, because the slope at 0 is infinite.

    Rows and columns that cannot have a link stay 0.
    """
    S, row_limits, column_limits, chosen = matrix
    I, J = S.shape
    for i in range(I):
        for j in range(J):
            if chosen[i, j]:
                x[i] += S[i, j]
                y[j] += S[i, j]
    for i in range(I):
        if x[i] == 0 and row_limits[i] > 0:
            for j in range(J):
                if column_limits[j] > 0:
                    x[i] = max(x[i], S[i, j])
    for j in range(J):
        if y[j] == 0 and column_limits[j] > 0:
            for i in range(I):
                if row_limits[i] > 0:
                    y[j] = max(y[j], S[i, j])


@part
def best_of_columns(S: Array, p: Array, q: Array, limits: Array, taken: Array) -> float:
    """Σ_j of the `limits[j]` largest π_ij = (p_i + q_j) s_ij of column j, which are marked in `taken`."""
    I, J = S.shape
    taken[:, :] = 0
    total = 0.0
    for j in range(J):
        if limits[j] >= I:
            for i in range(I):
                taken[i, j] = 1
                total += (p[i] + q[j]) * S[i, j]
            continue
        for _ in range(limits[j]):
            top, most = -1, 0.0
            for i in range(I):
                pi = (p[i] + q[j]) * S[i, j]
                if pi > most and not taken[i, j]:
                    top, most = i, pi
            if top < 0:
                break
            taken[top, j] = 1
            total += most
    return total


@kernel
def bound_batch(
    n0: int, n1: int, matrices: Matrices, rule: WordLimits, chosen: Array, score: Array, bound: Array
) -> None:
    """Value and bound of the greedy answers of matrices n0..n1 into `score`, `bound`, float64 (matrices)."""
    for n in range(n0, n1):
        matrix = matrix_of(n, matrices, chosen)
        score[n] = value(matrix.scores, matrix.chosen, rule)
        bound[n] = upper_bound(matrix, rule)
