"""The exact references: integer programs on HiGHS.

**The submodular optimum.** Binary z_ij; y_i ≤ (Σ_j s_ij z_ij)^α for rows, and likewise w_j for columns;
maximise u Σ y_i + v Σ w_j within the limits. The power is concave: it is the least of its tangents,

    y_i ≤ (1 − α) x^α + α x^{α−1} Σ_j s_ij z_ij      for every x > 0,

of which those at the sums of each solution are added until solution and bound meet (outer approximation:
piecewise linear, and exact where it matters). The slope at 0 is infinite; there the submodular cut
y_i ≤ Σ_j s_ij^α z_ij (Nemhauser & Wolsey 1981) takes the tangent's place.

**Fertility penalties** (Lacoste-Julien et al. 2006): Σ_j z_ij ≤ 1 + Σ_d r_id with 0 ≤ r_id ≤ 1 at cost c_id.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DualignError, UsageError
from dualign.decode.matchings.greedy import Rule, value

MOST_ROUNDS = 1000
ROUNDING = 1e-9
"""HiGHS drops coefficients this small; the bound allows for it."""


class Program:
    """A maximisation over variables in [0, 1] or [0, ∞), with rows Σ a x ≤ b that can be added any time."""

    def __init__(self, values: Array, upper: Array, whole: Array, time_limit: float | None) -> None:
        import highspy

        if time_limit is not None and not time_limit > 0:
            raise UsageError(f"time_limit={time_limit} must be over 0 seconds")
        self.end = None if time_limit is None else perf_counter() + time_limit
        self.model = highspy.Highs()
        for name, setting in (
            ("output_flag", False),
            ("threads", 1),
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", ROUNDING),
        ):
            self.model.setOptionValue(name, setting)
        count = len(values)
        self.model.addVars(count, np.zeros(count), upper)
        self.model.changeColsCost(count, np.arange(count, dtype=np.int32), values)
        self.model.changeObjectiveSense(highspy.ObjSense.kMaximize)
        integer = np.flatnonzero(whole).astype(np.int32)
        kinds = np.full(len(integer), highspy.HighsVarType.kInteger)
        self.model.changeColsIntegrality(len(integer), integer, kinds)
        self.statuses = highspy.HighsModelStatus
        self.feasible = highspy.SolutionStatus.kSolutionStatusFeasible

    def at_most(self, bound: float, columns: Array, coefficients: Array) -> None:
        """Add the row Σ coefficients · columns ≤ bound."""
        self.model.addRow(
            -np.inf, bound, len(columns), columns.astype(np.int32), coefficients.astype(np.float64)
        )

    def solve(self) -> tuple[Array | None, float, int, bool]:
        """The best solution, a proved bound, the nodes searched, and whether time is left."""
        if self.end is not None:
            self.model.setOptionValue("time_limit", max(0.0, self.end - perf_counter()))
        self.model.run()
        status, found = self.model.getModelStatus(), self.model.getInfo()
        if status not in (self.statuses.kOptimal, self.statuses.kTimeLimit):
            raise DualignError(f"HiGHS ended with {self.model.modelStatusToString(status)}; try greedy")
        feasible = found.primal_solution_status == self.feasible.value
        solution = np.array(self.model.getSolution().col_value) if feasible else None
        ended = status == self.statuses.kOptimal
        return solution, float(found.mip_dual_bound), int(found.mip_node_count), ended


def best_links(
    S: Array,
    rule: Rule,
    row_limits: Array,
    column_limits: Array,
    chosen: Array,
    bound: float,
    tolerance: float,
    time_limit: float | None,
) -> tuple[Array, float, int]:
    """The best links, their bound, and how many programs were solved; greedy's answer is where it starts.

    Scores are divided by the largest that a link can have, which scales f.
    """
    best = chosen.copy()
    cells = np.argwhere((S > 0) & (row_limits[:, None] > 0) & (column_limits > 0))
    if len(cells) == 0:
        return best, bound, 0
    unit = S[tuple(cells.T)].max()
    scale = unit**rule.alpha
    T = S / unit
    most, least = bound / scale, value(T, best, rule)
    lines = [
        (side, line, np.flatnonzero(cells[:, side] == line), weight)
        for side, weight in ((0, rule.rows), (1, rule.columns))
        for line in np.unique(cells[:, side])
        if weight > 0
    ]
    values = np.concatenate((np.zeros(len(cells)), [weight for *_, weight in lines]))
    upper = np.concatenate((np.ones(len(cells)), np.full(len(lines), np.inf)))
    program = Program(values, upper, np.arange(len(values)) < len(cells), time_limit)
    for side, limits in ((0, row_limits), (1, column_limits)):
        for line in np.unique(cells[:, side]):
            members = np.flatnonzero(cells[:, side] == line)
            if limits[line] < len(members):
                program.at_most(float(limits[line]), members, np.ones(len(members)))
    of_cells = T[tuple(cells.T)]
    for number, (_, _, members, _) in enumerate(lines, len(cells)):
        powers = of_cells[members] ** rule.alpha
        program.at_most(0.0, np.append(members, number), np.append(-powers, 1.0))
    sums = [float((T * best).sum(axis=1 - side)[line]) for side, line, *_ in lines]
    seen: set[tuple[int, float]] = set()
    rounds = 0
    while most - least > tolerance * (1 + least) / 10 and rounds < MOST_ROUNDS:
        new = 0
        for number, ((_, _, members, _), x) in enumerate(zip(lines, sums, strict=True)):
            if x > 0 and (number, x) not in seen:
                seen.add((number, x))
                new += 1
                # Divided by x^α, so that coefficients are near 1 however small the scores of a word are.
                coefficients = np.append(-rule.alpha * of_cells[members] / x, x**-rule.alpha)
                program.at_most(1 - rule.alpha, np.append(members, len(cells) + number), coefficients)
        if new == 0 and rounds > 0:
            break  # The solution is exact at its own tangents: it is optimal to the solver's tolerance.
        solution, proved, _, ended = program.solve()
        rounds += 1
        most = min(most, proved * (1 + ROUNDING))
        if solution is not None:
            taken = np.zeros(S.shape, np.uint8)
            taken[tuple(cells[solution[: len(cells)] > 0.5].T)] = 1
            sums = [float((T * taken).sum(axis=1 - side)[line]) for side, line, *_ in lines]
            if (worth := value(T, taken, rule)) > least:
                best, least = taken, worth
        if not ended:
            break
    return best, most * scale, rounds


def penalized_links(
    S: Array, row_costs: Array, column_costs: Array, link_cost: float, time_limit: float | None
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
    values = np.concatenate((worth, -row_costs.ravel(), -column_costs.ravel())) / unit
    program = Program(values, np.ones(len(values)), np.arange(len(values)) < len(cells), time_limit)
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
    solution, bound, nodes, _ = program.solve()
    if solution is not None:
        chosen[tuple(cells[solution[: len(cells)] > 0.5].T)] = 1
    # Without a bound of the solver's, for want of time, there is the one without limits and costs.
    return chosen, min(bound * unit, float(worth.sum())), nodes


def penalized_value(
    S: Array, row_costs: Array, column_costs: Array, link_cost: float, chosen: Array
) -> float:
    """What links are worth to the program, from its definition."""
    total = float(((S - link_cost) * chosen).sum())
    for axis, costs in ((1, row_costs), (0, column_costs)):
        further = np.maximum(chosen.sum(axis=axis, dtype=np.int64) - 1, 0)
        total -= sum(float(levels[:count].sum()) for levels, count in zip(costs, further, strict=True))
    return total
