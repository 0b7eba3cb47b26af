"""The matching decoders for one matrix of scores, each with a proved bound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dualign.core.arrays import Array
from dualign.core.certified import Certified
from dualign.core.clocks import Clock, check_time_limit
from dualign.core.errors import UsageError
from dualign.decode.matchings.arguments import Limits, as_costs, as_limits, as_scores, rule_of
from dualign.decode.matchings.assignment import match
from dualign.decode.matchings.bounds import upper_bound
from dualign.decode.matchings.greedy import Matrix, allocate_work, greedy, value
from dualign.search.certificate import PRECISION, ROUNDING, certify
from dualign.text.alignment import Link

METHODS = ("lazy", "plain", "exact")

Links = Certified[set[Link]]


def submodular(
    scores: npt.ArrayLike,
    *,
    alpha: float = 0.5,
    column_limits: Limits = None,
    row_limits: Limits = None,
    concave: str = "rows",
    method: str = "lazy",
    time_limit: float | None = None,
) -> Links:
    """Links (i, j) that maximise Σ_i (Σ_j s_ij)^α over those within the limits (Lin & Bilmes 2011).

    `scores` (I, J) ≥ 0; a link with score 0 is never taken. A limit is the most links of a row or column: one
    number for all, or one for each. `concave` says whose further links bring less: "rows", "columns", or
    "both", the mean of the two objectives. `method`: "lazy" and "plain" are the same greedy choice, at least
    1/(m+1) of the optimum where m sides have limits; `iterations` counts their evaluations of a gain. "exact"
    is an integer program on HiGHS, for small matrices; at `time_limit` seconds it returns the best so far.
    """
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    if method not in METHODS:
        raise UsageError("{method=} is not one of {choices}", method=method, choices=", ".join(METHODS))
    if time_limit is not None and method != "exact":
        raise UsageError('time_limit is for method="exact"; greedy takes microseconds')
    S = as_scores(scores)
    I, J = S.shape
    rule = rule_of(alpha, concave)
    limits = as_limits(row_limits, I, J, "row_limits"), as_limits(column_limits, J, I, "column_limits")
    matrix = Matrix(S, *limits, np.zeros((I, J), np.uint8))
    iterations = greedy(matrix, rule, method != "plain", allocate_work(I * J, I, J, rule.alpha))
    chosen, bound, tolerance = matrix.chosen, upper_bound(matrix, rule), ROUNDING
    if method == "exact":
        from dualign.decode.matchings.matching_program import best_links

        tolerance = PRECISION
        chosen, bound, iterations = best_links(matrix, rule, bound, tolerance, clock)
    score = value(S, chosen, rule)
    name = f"submodular, {method}"
    return certify(links_of(chosen), score, bound, tolerance * score, name, clock, iterations)


def matching(scores: npt.ArrayLike) -> Links:
    """The links of the maximum-weight bipartite matching: no word has two, and Σ s_ij is the greatest.

    `scores` (I, J); links with score 0 or less are left out, for without them the sum is no smaller. The
    bound is that of the dual prices (see `dualign.decode.matchings.assignment`).
    """
    clock = Clock()
    S = as_scores(scores, negative="clip")
    chosen = np.zeros(S.shape, np.uint8)
    bound = match(S, chosen)
    score = float(S[chosen > 0].sum())
    return certify(links_of(chosen), score, bound, ROUNDING * score, "matching", clock, min(S.shape))


def penalized(
    scores: npt.ArrayLike,
    *,
    row_costs: npt.ArrayLike,
    column_costs: npt.ArrayLike,
    link_cost: float = 0.0,
    time_limit: float | None = None,
) -> Links:
    """Links that maximise Σ (s_ij − link_cost) less a cost for every further link of a word, on HiGHS.

    The fertility-penalised integer program of Lacoste-Julien et al. 2006: a word's second link costs
    `costs[word, 0]`, its third `costs[word, 1]` more, and so on, not falling; it can have one link more than
    there are levels. One list of levels serves all words. A link with score 0 is never taken, whatever
    `link_cost` is.
    """
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    S = as_scores(scores)
    costs = (as_costs(row_costs, S.shape[0], "row_costs"), as_costs(column_costs, S.shape[1], "column_costs"))
    if not isinstance(link_cost, int | float | np.number) or not np.isfinite(link_cost):
        raise UsageError("{link_cost=} must be a finite number", link_cost=link_cost)
    from dualign.decode.matchings.matching_program import penalized_links, penalized_value

    chosen, bound, nodes = penalized_links(S, *costs, link_cost, clock)
    score = penalized_value(S, *costs, link_cost, chosen)
    return certify(links_of(chosen), score, bound, PRECISION * abs(score), "penalized", clock, nodes)


def links_of(chosen: Array) -> set[Link]:
    """The links that are marked, as a set."""
    return {(int(i), int(j)) for i, j in np.argwhere(chosen)}
