"""Exact matchings: the bipartite one by prices; others, for reference, by integer programs on HiGHS.

**The submodular optimum.** Binary z_ij; y_i ≤ (Σ_j s_ij z_ij)^α for rows, and likewise w_j for columns;
maximise u Σ y_i + v Σ w_j within the limits. The power is concave: it is the least of its tangents,

    y_i ≤ (1 − α) x^α + α x^{α−1} Σ_j s_ij z_ij      for every x > 0,

of which those at the sums of each solution are added until solution and bound meet (outer approximation).
The slope at 0 is infinite; there the submodular cut y_i ≤ Σ_j s_ij^α z_ij (Nemhauser & Wolsey 1981)
replaces the tangent.

**Fertility penalties** (Lacoste-Julien et al. 2006): Σ_j z_ij ≤ 1 + Σ_d r_id with 0 ≤ r_id ≤ 1 at cost c_id.

**Maximum-weight bipartite matching**, with the prices that prove it.

    max Σ s_ij z_ij   s.t.  Σ_j z_ij ≤ 1,  Σ_i z_ij ≤ 1,  z ≥ 0
  = min Σ_i p_i + Σ_j q_j   s.t.  p_i + q_j ≥ s_ij,  p, q ≥ 0

Shortest augmenting paths (the Hungarian method as in Jonker & Volgenant 1987): one row at a time, O(I² J) for
I ≤ J. Prices that satisfy every inequality bound the score of any matching; where they add up to the score
of the one found, it is proved to be best. For s ≥ 0 a row loses nothing by taking a column, so the
smaller side is matched completely, except for rows of zeros; links with score 0 are removed at the end.
"""

from __future__ import annotations

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign._search.certificate import ROUNDING
from dualign._search.highs import Program
from dualign.decode.matchings.greedy import MatchingMatrix, Matrices, WordLimits, compiled_value, matrix_of


@part
def match(S: Array, chosen: Array) -> float:
    """Best matching of `S` (I, J), scores ≥ 0, into `chosen` uint8 (I, J); returns the proved bound."""
    I, J = S.shape
    chosen[:, :] = 0
    if I == 0 or J == 0:
        return 0.0
    turned = I > J
    if turned:
        I, J = J, I
    A = np.ascontiguousarray(S.T) if turned else S
    # Costs −s. Column J stands for "the row being placed"; row −1 for no row.
    p, q = np.zeros(I), np.zeros(J + 1)
    row_of = np.full(J + 1, -1, np.int32)
    distance, come_from = np.empty(J), np.empty(J, np.int32)
    done = np.empty(J + 1, np.bool_)
    for start in range(I):
        if not A[start].any():
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
                    reduced = -A[i, k] - p[i] - q[k]
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
        if row_of[j] >= 0 and A[row_of[j], j] > 0:
            a, b = (j, row_of[j]) if turned else (row_of[j], j)
            chosen[a, b] = 1
    return proved(A, p, q)


compiled_match = kernel(match)


@part
def proved(A: Array, p: Array, q: Array) -> float:
    """Σ prices after rounding them up until every inequality holds: a bound, however they were computed."""
    I, J = len(p), len(q) - 1
    total = 0.0
    for j in range(J):
        q[j] = max(0.0, -q[j])
        total += q[j]
    for i in range(I):
        price = 0.0
        for j in range(J):
            price = max(price, A[i, j] - q[j])
        total += price
    return total


@kernel
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


MOST_ROUNDS = 1000


def best_links(
    matrix: MatchingMatrix, rule: WordLimits, bound: float, tolerance: float, clock: Clock
) -> tuple[Array, float, int]:
    """The best links, their bound, and how many programs were solved; the search starts from `matrix.chosen`.

    Scores are divided by the largest that a link can have, which scales f.
    """
    S, row_limits, column_limits, chosen = matrix
    best = chosen.copy()
    cells = np.argwhere((S > 0) & (row_limits[:, None] > 0) & (column_limits > 0))
    if len(cells) == 0:
        return best, bound, 0
    unit = S[tuple(cells.T)].max()
    scale = unit**rule.alpha
    T = S / unit
    most, least = bound / scale, compiled_value(T, best, rule)
    weights, limits = (rule.rows, rule.columns), (row_limits, column_limits)
    words = [
        (side, word, np.flatnonzero(cells[:, side] == word))
        for side in (0, 1)
        for word in np.unique(cells[:, side])
    ]
    lines = [line for line in words if weights[line[0]] > 0]
    program = Program()
    program.add_variables(np.zeros(len(cells)), whole=True)
    program.add_variables([weights[side] for side, *_ in lines], upper=np.inf)
    for side, word, members in words:
        if limits[side][word] < len(members):
            program.at_most(float(limits[side][word]), members, np.ones(len(members)))
    of_cells = T[tuple(cells.T)]
    for number, (*_, members) in enumerate(lines, len(cells)):
        powers = of_cells[members] ** rule.alpha
        program.at_most(0.0, np.append(members, number), np.append(-powers, 1.0))

    def sums_of(links: Array) -> list[float]:
        return [float((T * links).sum(axis=1 - side)[word]) for side, word, _ in lines]

    sums = sums_of(best)
    seen: set[tuple[int, float]] = set()
    rounds = 0
    while most - least > tolerance * (1 + least) / 10 and rounds < MOST_ROUNDS:
        new = 0
        for number, ((*_, members), x) in enumerate(zip(lines, sums, strict=True)):
            if x > 0 and (number, x) not in seen:
                seen.add((number, x))
                new += 1
                # Divided by x^α, so that coefficients are near 1 however small the scores of a word are.
                coefficients = np.append(-rule.alpha * of_cells[members] / x, x**-rule.alpha)
                program.at_most(1 - rule.alpha, np.append(members, len(cells) + number), coefficients)
        if new == 0 and rounds > 0:
            break  # The solution is exact at its own tangents: it is optimal to the solver's tolerance.
        found = program.solve(clock.left)
        rounds += 1
        # HiGHS drops coefficients as small as ROUNDING; the bound allows for it.
        most = min(most, found.bound * (1 + ROUNDING))
        if found.values is not None:
            taken = np.zeros(S.shape, np.uint8)
            taken[tuple(cells[found.values[: len(cells)] > 0.5].T)] = 1
            sums = sums_of(taken)
            if (worth := compiled_value(T, taken, rule)) > least:
                best, least = taken, worth
        if not found.ended:
            break
    return best, most * scale, rounds


def penalized_links(
    S: Array, row_costs: Array, column_costs: Array, link_cost: float, clock: Clock
) -> tuple[Array, float, int]:
    """The best links of the fertility-penalised program, their bound, and the nodes searched.

    Scores and costs are divided by the most that a link is worth.
    """
    chosen = np.zeros(S.shape, np.uint8)
    least = max(link_cost, 0.0)
    cells = np.argwhere(S - least > 0)
    if len(cells) == 0:
        return chosen, 0.0, 0
    worth = S[tuple(cells.T)] - link_cost
    unit = worth.max()
    program = Program()
    program.add_variables(worth / unit, whole=True)
    program.add_variables(-np.concatenate((row_costs.ravel(), column_costs.ravel())) / unit)
    begin = len(cells)
    for side, costs in ((0, row_costs), (1, column_costs)):
        words, levels = costs.shape
        for word in range(words):
            members = np.flatnonzero(cells[:, side] == word)
            if len(members) > 1:
                further = begin + word * levels + np.arange(levels)
                ones = np.concatenate((np.ones(len(members)), -np.ones(levels)))
                program.at_most(1.0, np.concatenate((members, further)), ones)
        begin += costs.size
    found = program.solve(clock.left)
    if found.values is not None:
        chosen[tuple(cells[found.values[: len(cells)] > 0.5].T)] = 1
    # If time ran out before the solver had a bound, there is the one without limits and costs.
    return chosen, min(found.bound * unit, float(worth.sum())), found.nodes


def penalized_value(
    S: Array, row_costs: Array, column_costs: Array, link_cost: float, chosen: Array
) -> float:
    """What links are worth to the program, from its definition."""
    total = float(((S - link_cost) * chosen).sum())
    for axis, costs in ((1, row_costs), (0, column_costs)):
        further = np.maximum(chosen.sum(axis=axis, dtype=np.int64) - 1, 0)
        total -= sum(float(levels[:count].sum()) for levels, count in zip(costs, further, strict=True))
    return total
