"""The matching decoders for one matrix of scores, each with a proved bound."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.certified import Certified
from dualign.core.errors import UsageError
from dualign.decode.matchings.arguments import Limits, as_costs, as_limits, as_scores, rule_of
from dualign.decode.matchings.assignment import match
from dualign.decode.matchings.bounds import ROUNDS, upper_bound
from dualign.decode.matchings.greedy import allocate_work, greedy, value
from dualign.text.alignment import Link

METHODS = ("lazy", "plain", "exact")

TOLERANCE = 1e-9
"""A bound this close to the score, relative to it, has met it: scores are of any size."""

PROGRAM_TOLERANCE = 1e-6
"""The same for integer programs, whose solver works to that."""

Links = Certified[set[Link]]


def submodular(
    scores: Any,
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
    is an integer program on HiGHS, for small matrices; it stops at `time_limit` seconds with what it has.
    """
    began = perf_counter()
    if method not in METHODS:
        raise UsageError(f'method="{method}" is not one of {", ".join(METHODS)}')
    if time_limit is not None and method != "exact":
        raise UsageError('time_limit is for method="exact"; greedy takes microseconds')
    S = as_scores(scores)
    I, J = S.shape
    rule = rule_of(alpha, concave)
    limits = as_limits(row_limits, I, J, "row_limits"), as_limits(column_limits, J, I, "column_limits")
    chosen = np.zeros((I, J), np.uint8)
    work = allocate_work(I * J, I, J, rule.alpha)
    iterations = greedy(S, rule, *limits, method != "plain", work, chosen)
    bound = upper_bound(S, rule, *limits, chosen, ROUNDS)
    tolerance = TOLERANCE
    if method == "exact":
        from dualign.decode.matchings.matching_program import best_links

        chosen, bound, iterations = best_links(S, rule, *limits, chosen, bound, PROGRAM_TOLERANCE, time_limit)
        tolerance = PROGRAM_TOLERANCE
    score = value(S, chosen, rule)
    return certified(chosen, score, bound, tolerance * score, f"submodular, {method}", iterations, began)


def matching(scores: Any) -> Links:
    """The links of the maximum-weight bipartite matching: no word has two, and Σ s_ij is the greatest.

    `scores` (I, J) ≥ 0; links with score 0 are left out. The bound is that of the dual prices (see
    `dualign.decode.matchings.assignment`).
    """
    began = perf_counter()
    S = as_scores(scores)
    chosen = np.zeros(S.shape, np.uint8)
    bound = match(S, chosen)
    score = float(S[chosen > 0].sum())
    return certified(chosen, score, bound, TOLERANCE * score, "matching", min(S.shape), began)


def penalized(
    scores: Any, *, row_costs: Any, column_costs: Any, link_cost: float = 0.0, time_limit: float | None = None
) -> Links:
    """Links that maximise Σ (s_ij − link_cost) less a cost for every further link of a word, on HiGHS.

    The fertility-penalised integer program of Lacoste-Julien et al. 2006: a word's second link costs
    `costs[word, 0]`, its third `costs[word, 1]` more, and so on, not falling; it can have one link more than
    there are levels. One list of levels serves all words. A link with score 0 is never taken, whatever
    `link_cost` is.
    """
    began = perf_counter()
    S = as_scores(scores)
    costs = (as_costs(row_costs, S.shape[0], "row_costs"), as_costs(column_costs, S.shape[1], "column_costs"))
    if not isinstance(link_cost, int | float | np.number) or not np.isfinite(link_cost):
        raise UsageError(f"link_cost={link_cost!r} must be a finite number")
    from dualign.decode.matchings.matching_program import penalized_links, penalized_value

    chosen, bound, nodes = penalized_links(S, *costs, link_cost, time_limit)
    score = penalized_value(S, *costs, link_cost, chosen)
    return certified(chosen, score, bound, PROGRAM_TOLERANCE * abs(score), "penalized", nodes, began)


def certified(
    chosen: Array, score: float, bound: float, tolerance: float, method: str, iterations: int, began: float
) -> Links:
    """The answer with its proof; a bound that rounding has put below the score is the score."""
    links = {(int(i), int(j)) for i, j in np.argwhere(chosen)}
    score, bound = float(score), max(float(bound), float(score))
    met = bool(bound - score <= tolerance)
    return Certified(links, score, bound, met, method, iterations, perf_counter() - began)
