"""Greedy maximisation of a concave-over-modular score of links, under limits on the links of each word; and a
proved upper bound on what any set of links within the limits is worth.

For scores s_ij ≥ 0 a set of links A is worth (Lin & Bilmes 2011, Eq. 2-3)

    f(A) = u · Σ_i ( Σ_{j:(i,j)∈A} s_ij )^α  +  v · Σ_j ( Σ_{i:(i,j)∈A} s_ij )^α,      0 < α ≤ 1,

which is monotone and submodular: another link of a word brings less than the one before. The paper's
objective has u = 1, v = 0; its symmetric version here u = v = ½. Row i may have at most k_i links and
column j at most k_j: a partition matroid each. With m of them binding, greedy has at least 1/(m+1) of the
optimum (Fisher et al. 1978).

Greedy takes the link with the largest gain that the limits allow, the first in row-major order among equals,
while that gain is positive. The lazy variant (Minoux 1978) keeps old gains, which can only have fallen, and
evaluates again only what comes to the top; its answer is the same.

**The bound.** f is concave in the sums x_i, y_j of the rows' and columns' scores. It lies below its tangent
at any point x, y > 0, and the tangent is modular:

    f(A) ≤ Σ_i u (1 − α) x_i^α + Σ_j v (1 − α) y_j^α + Σ_{(i,j)∈A} π_ij,
    π_ij = ( u α x_i^{α−1} + v α y_j^{α−1} ) s_ij.

The best A for π within the columns' limits takes the k_j best of each column; within the rows' limits the
best of each row; the smaller sum holds for both limits together. The tangent at the sums of the greedy answer
is already tight where each of its links is among the best of its column by these prices. Frank-Wolfe steps,
x ← (1 − γ) x + γ (sums of the tangent's best links), move it towards the optimum of the concave relaxation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part

SLACK = 1e-12
"""Gains are right to a few parts in 10¹⁶; a new gain may exceed the old one by this share."""

EXPONENTS = 400
"""Scores are 0, or lie between 2^−400 and 2^400."""

BOUND_ROUNDS = 10
"""Frank-Wolfe steps after the first tangent; on word alignments more of them gain almost nothing."""


class WordLimits(NamedTuple):
    """The objective: α, the weight u of the rows, the weight v of the columns."""

    alpha: float
    rows: float
    columns: float


class Matrices(NamedTuple):
    """Score matrices end to end.

    `scores` float64: cell (i, j) of matrix n is `first[n] + i · J + j`; `first` int64 (matrices + 1). The
    rows of matrix n are `row_begin[n]` … `row_begin[n + 1]` of `row_limits` int32, its columns likewise.
    """

    scores: Array
    first: Array
    row_begin: Array
    column_begin: Array
    row_limits: Array
    column_limits: Array


class MatchingMatrix(NamedTuple):
    """One of them: `scores` float64 (I, J), limits int32 (I) and (J), and links uint8 (I, J)."""

    scores: Array
    row_limits: Array
    column_limits: Array
    chosen: Array


@part
def matrix_of(n: int, matrices: Matrices, chosen: Array) -> MatchingMatrix:
    """Matrix n with its links from `chosen` uint8, which is laid out like the scores."""
    r, c = matrices.row_begin[n], matrices.column_begin[n]
    I, J = matrices.row_begin[n + 1] - r, matrices.column_begin[n + 1] - c
    begin, end = matrices.first[n], matrices.first[n + 1]
    return MatchingMatrix(
        matrices.scores[begin:end].reshape(I, J),
        matrices.row_limits[r : r + I],
        matrices.column_limits[c : c + J],
        chosen[begin:end].reshape(I, J),
    )


class ChosenSums(NamedTuple):
    """Of the links so far: sums of scores, float64, and numbers of links, int32, of rows and columns."""

    row_sum: Array
    column_sum: Array
    row_links: Array
    column_links: Array


@part
def no_sums(I: int, J: int) -> ChosenSums:
    """Those of no links."""
    return ChosenSums(np.zeros(I), np.zeros(J), np.zeros(I, np.int32), np.zeros(J, np.int32))


@part
def tangents(alpha: float) -> Array:
    """The lines that touch x^α at powers of two, float64 (exponents, 2): bounds on s^α for the cost of a
    multiplication."""
    tangent = np.empty((2 * EXPONENTS + 1, 2))
    for e in range(len(tangent)):
        x = 2.0 ** (e - EXPONENTS)
        tangent[e, 0] = (1 - alpha) * x**alpha * (1 + SLACK)
        tangent[e, 1] = alpha * x ** (alpha - 1) * (1 + SLACK)
    return tangent


@part
def power(x: float, alpha: float) -> float:
    """x^α."""
    if alpha == 1.0:
        return x
    if alpha == 0.5:
        return np.sqrt(x)
    return x**alpha if x > 0 else 0.0


@part
def slope(x: float, alpha: float) -> float:
    """The derivative of x^α."""
    if alpha == 1.0:
        return 1.0
    return alpha * x ** (alpha - 1.0)


@part
def rise(total: float, s: float, alpha: float) -> float:
    """(total + s)^α − total^α, without the loss of digits of that difference."""
    if alpha == 1.0:
        return s
    if total == 0.0:
        return power(s, alpha)
    if alpha == 0.5:
        return s / (np.sqrt(total + s) + np.sqrt(total))
    return total**alpha * np.expm1(alpha * np.log1p(s / total))


@part
def gain(x: float, y: float, s: float, rule: WordLimits) -> float:
    """What a link with score s adds to f, in a row that has the sum x and a column that has y."""
    g = 0.0
    if rule.rows > 0:
        g += rule.rows * rise(x, s, rule.alpha)
    if rule.columns > 0:
        g += rule.columns * rise(y, s, rule.alpha)
    return g


@part
def add_rows(total: float, S: Array, chosen: Array, weight: float, alpha: float) -> float:
    """`total` and the part of f that is due to the rows."""
    for i in range(S.shape[0]):
        x = 0.0
        for j in range(S.shape[1]):
            if chosen[i, j]:
                x += S[i, j]
        total += weight * power(x, alpha)
    return total


@part
def value(S: Array, chosen: Array, rule: WordLimits) -> float:
    """f of the `chosen` links, uint8 (I, J), from its definition."""
    total = 0.0
    if rule.rows > 0:
        total = add_rows(total, S, chosen, rule.rows, rule.alpha)
    if rule.columns > 0:
        total = add_rows(total, S.T, chosen.T, rule.columns, rule.alpha)
    return total


compiled_value = kernel(value)


@part(allocates=False)
def accept(i: int, j: int, matrix: MatchingMatrix, sums: ChosenSums) -> None:
    """Add the link (i, j)."""
    matrix.chosen[i, j] = 1
    sums.row_sum[i] += matrix.scores[i, j]
    sums.column_sum[j] += matrix.scores[i, j]
    sums.row_links[i] += 1
    sums.column_links[j] += 1


@part
def take_plainly(matrix: MatchingMatrix, rule: WordLimits) -> int:
    """Evaluate every link that may still be added, take the best, repeat: O(cells · links) evaluations."""
    S, row_limits, column_limits, chosen = matrix
    I, J = S.shape
    sums = no_sums(I, J)
    x, y, row_links, column_links = sums
    evaluations = 0
    while True:
        best, most = -1, 0.0
        for i in range(I):
            if row_links[i] >= row_limits[i]:
                continue
            for j in range(J):
                if S[i, j] > 0 and not chosen[i, j] and column_links[j] < column_limits[j]:
                    g = gain(x[i], y[j], S[i, j], rule)
                    evaluations += 1
                    if g > most:
                        best, most = i * J + j, g
        if best < 0:
            return evaluations
        accept(best // J, best % J, matrix, sums)


@part
def take_lazily(matrix: MatchingMatrix, rule: WordLimits, tangent: Array) -> int:
    """The same links from stored gains, each as old as its `stamp`; those on top are evaluated again.

    At first only an upper bound on each gain is stored. A gain depends on how many links its row (if u > 0)
    and its column (if v > 0) had; the sum of the two numbers, which only grow, tells whether it is still
    right. Because of rounding an old gain may be slightly below the new one, so everything within `SLACK` of
    the best is updated before the best is taken. Each row knows its largest gain, so that a link costs
    O(I + J) and not the O(cells) of a full search. `tangent`: see `tangents`.
    """
    S, row_limits, column_limits, _ = matrix
    I, J = S.shape
    sums = no_sums(I, J)
    x, y, row_links, column_links = sums
    key, stamp = np.zeros((I, J)), np.full((I, J), -1, np.int32)
    top, top_column = np.empty(I), np.empty(I, np.int32)
    bits = S.view(np.int64)
    weight = rule.rows + rule.columns
    evaluations = 0
    for i in range(I):
        for j in range(J):
            if S[i, j] > 0 and row_limits[i] > 0 and column_limits[j] > 0:
                if rule.alpha < 1:
                    e = (bits[i, j] >> 52) - 1023 + EXPONENTS
                    key[i, j] = weight * (tangent[e, 0] + tangent[e, 1] * S[i, j])
                else:
                    key[i, j] = weight * S[i, j]
                    evaluations += 1
        top_column[i], top[i] = largest(i, key)
    while True:
        r, most, rival = -1, 0.0, 0.0
        for i in range(I):
            if top[i] > most:
                r, most, rival = i, top[i], most
            elif top[i] > rival:
                rival = top[i]
        if r < 0:
            return evaluations
        j = top_column[r]
        if column_links[j] >= column_limits[j]:
            top_column[r], top[r] = largest(r, key)
            continue
        if rule.alpha < 1:
            now = age(row_links[r], column_links[j], rule)
            if stamp[r, j] != now:
                key[r, j] = gain(x[r], y[j], S[r, j], rule)
                stamp[r, j] = now
                evaluations += 1
                top_column[r], top[r] = largest(r, key)
                continue
            close = rival >= most * (1 - SLACK)
            for k in range(J):
                close |= k != j and key[r, k] >= most * (1 - SLACK)
            refreshed = 0
            for i in range(I):
                if close and refreshed == 0 and top[i] >= most * (1 - SLACK):
                    refreshed = refresh(i, most, S, rule, sums, key, stamp)
                    top_column[i], top[i] = largest(i, key)
            if refreshed > 0:
                evaluations += refreshed
                continue
        accept(r, j, matrix, sums)
        key[r, j] = 0
        if row_links[r] >= row_limits[r]:
            top[r] = 0
        else:
            top_column[r], top[r] = largest(r, key)
        if column_links[j] >= column_limits[j]:
            # Rows that have their largest gain here look for another when it is their turn.
            for i in range(I):
                key[i, j] = 0


@part(allocates=False)
def largest(i: int, key: Array) -> tuple[int, float]:
    """Column and size of row i's largest stored gain, the first among equals; (−1, 0) if it has none left."""
    column, top = -1, 0.0
    for j in range(key.shape[1]):
        if key[i, j] > top:
            column, top = j, key[i, j]
    return column, top


@part
def age(row_links: int, column_links: int, rule: WordLimits) -> int:
    """The stamp of a gain that is right: the number of links it depends on."""
    return (row_links if rule.rows > 0 else 0) + (column_links if rule.columns > 0 else 0)


@part(allocates=False)
def refresh(
    i: int, most: float, S: Array, rule: WordLimits, sums: ChosenSums, key: Array, stamp: Array
) -> int:
    """Evaluate again the gains of row i that may reach `most` and are out of date; how many there were."""
    evaluations = 0
    least = most * (1 - SLACK)
    for j in range(S.shape[1]):
        now = age(sums.row_links[i], sums.column_links[j], rule)
        if key[i, j] >= least and stamp[i, j] != now:
            key[i, j] = gain(sums.row_sum[i], sums.column_sum[j], S[i, j], rule)
            stamp[i, j] = now
            evaluations += 1
    return evaluations


@kernel
def greedy_batch(n0: int, n1: int, matrices: Matrices, rule: WordLimits, lazy: bool, chosen: Array) -> int:
    """Choose the links of matrices n0..n1 into `chosen` uint8, laid out like the scores; evaluations."""
    chosen[matrices.first[n0] : matrices.first[n1]] = 0
    tangent = tangents(rule.alpha)
    evaluations = 0
    for n in range(n0, n1):
        matrix = matrix_of(n, matrices, chosen)
        evaluations += take_lazily(matrix, rule, tangent) if lazy else take_plainly(matrix, rule)
    return evaluations


@part
def upper_bound(matrix: MatchingMatrix, rule: WordLimits, score: float) -> float:
    """The least of the bounds of the tangents; `score` is that of the links, which are greedy's.

    O(cells · rounds), times the limits where these are neither 1 nor all. Greedy's guarantee is one more
    bound: (m + 1) f(chosen), m the number of sides whose limits bind.
    """
    S, row_limits, column_limits, chosen = matrix
    I, J = S.shape
    best = score * (1 + int(np.any(row_limits < J)) + int(np.any(column_limits < I)))
    x, y = np.zeros(I), np.zeros(J)
    add_sums(S, chosen, x, y)
    leave_zero(S, row_limits, column_limits, x)
    leave_zero(S.T, column_limits, row_limits, y)
    taken = np.empty((I, J), np.uint8)
    dx, dy = np.empty(I), np.empty(J)
    for r in range(BOUND_ROUNDS + 1):
        best = min(best, tangent_bound(matrix, rule, x, y, taken))
        if rule.alpha == 1.0:
            break
        dx[:] = 0
        dy[:] = 0
        add_sums(S, taken, dx, dy)
        step = 1 / (r + 3.0)
        for i in range(I):
            x[i] += step * (dx[i] - x[i])
        for j in range(J):
            y[j] += step * (dy[j] - y[j])
    return max(best, score)  # rounding may put it below


@part(allocates=False)
def add_sums(S: Array, marks: Array, x: Array, y: Array) -> None:
    """Add the scores of the marked links to the sums of their rows and columns."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            if marks[i, j]:
                x[i] += S[i, j]
                y[j] += S[i, j]


@part(allocates=False)
def leave_zero(S: Array, row_limits: Array, column_limits: Array, x: Array) -> None:
    """Sums of rows without a link become their largest score, because the slope at 0 is infinite.

    Rows that cannot have a link stay 0.
    """
    for i in range(S.shape[0]):
        if x[i] == 0 and row_limits[i] > 0:
            for j in range(S.shape[1]):
                if column_limits[j] > 0:
                    x[i] = max(x[i], S[i, j])


@part
def tangent_bound(matrix: MatchingMatrix, rule: WordLimits, x: Array, y: Array, taken: Array) -> float:
    """The bound by the tangent at `x`, `y`, whose best links are marked in `taken` uint8 (I, J).

    A sum may be 0 only where no link is possible.
    """
    S, row_limits, column_limits, _ = matrix
    I, J = S.shape
    p, q = np.zeros(I), np.zeros(J)
    constant = add_tangent(0.0, rule.rows, rule.alpha, x, p)
    constant = add_tangent(constant, rule.columns, rule.alpha, y, q)
    by_row, by_column = np.any(row_limits < J), np.any(column_limits < I)
    worth = best_of_columns(S.T, q, p, row_limits, taken.T)
    if by_column:
        other = np.empty((I, J), np.uint8)
        by_columns = best_of_columns(S, p, q, column_limits, other)
        if not by_row or by_columns < worth:
            worth = by_columns
            taken[:, :] = other
    return constant + worth


@part(allocates=False)
def add_tangent(total: float, weight: float, alpha: float, x: Array, p: Array) -> float:
    """`total` and the constants of the tangents at the sums `x` of one side; their slopes into `p`."""
    for i in range(len(x)):
        if x[i] > 0 and weight > 0:
            p[i] = weight * slope(x[i], alpha)
            total += weight * (1 - alpha) * power(x[i], alpha)
    return total


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
        bound[n] = upper_bound(matrix, rule, score[n])
