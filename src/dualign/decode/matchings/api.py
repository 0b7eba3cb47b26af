"""The matching decoders for one matrix of scores: its arguments checked, its links with a proved bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.fields import check_value
from dualign._core.progress import Clock, check_time_limit
from dualign._search.certificate import PRECISION, ROUNDING, certify
from dualign.decode.matchings.exact import compiled_match
from dualign.decode.matchings.greedy import (
    MatchingMatrix,
    Matrices,
    WordLimits,
    bound_batch,
    compiled_value,
    greedy_batch,
)
from dualign.text.checks import number_of
from dualign.text.links import Link

CONCAVE = {"rows": (1.0, 0.0), "columns": (0.0, 1.0), "both": (0.5, 0.5)}
"""Whose further links bring less and less: the weights u, v of `dualign.decode.matchings.greedy`."""

TINY, HUGE = 1e-100, 1e100
"""Scores below the first count as 0, so that no product of theirs underflows; none may be over the second."""

Limits = int | Sequence[int] | Array | None
"""The most links of every word, or of each; None for no limit."""


def as_scores(scores: Any, name: str = "scores", negative: str = "refuse") -> Array:
    """A matrix of scores as float64 (I, J); what is `negative` is refused, kept, or clipped to 0."""
    try:
        matrix = np.asarray(scores)
    except ValueError:
        matrix = np.array(None)
    if matrix.shape == (0,):
        matrix = matrix.reshape(0, 0)
    if matrix.dtype.kind not in "biuf":
        fault = f": {_ragged(scores)}"
    elif matrix.ndim != 2:
        shape = f"{matrix.ndim} axes, shape {matrix.shape}"
        fault = f" has {shape}; give a matrix (source words, target words)"
    else:
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        if negative == "clip":
            matrix = np.maximum(matrix, 0.0)
        # Written so that NaN is not fine.
        if (fine := (matrix >= (-HUGE if negative == "keep" else 0)) & (matrix <= HUGE)).all():
            return np.where(np.abs(matrix) < TINY, 0.0, matrix)
        i, j = np.argwhere(~fine)[0].tolist()
        remedy = (
            f"scores are at most {HUGE:g}; divide all of them"
            if matrix[i, j] > 0
            else "scores are numbers"
            if negative == "clip"
            else "scores are numbers and not negative; shift or clip similarities, exponentiate logarithms"
        )
        fault = f"[{i}, {j}] is {matrix[i, j]:g}; {remedy}"
    raise DataError(name + fault)


def _ragged(scores: Any) -> str:
    """Why nested lists are not a matrix of numbers."""
    if isinstance(scores, Iterable) and not isinstance(scores, str):
        width = None
        for i, row in enumerate(scores):
            if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str):
                return f"row {i} is not a list of numbers"
            if width is not None and len(row) != width:
                return (
                    f"row {i} has {number_of(len(row), 'scores')}, but row 0 has {width}; "
                    "all rows need the same number"
                )
            width = len(row)
            for j, score in enumerate(row):
                if not isinstance(score, int | float | np.number):
                    return f"[{i}, {j}] is not a number: {score!r:.40}"
    return "not a matrix of numbers; give rows of scores, or a NumPy array"


def as_limits(limits: Limits, words: int, most: int, name: str) -> Array:
    """One limit for each word as int32, at most `most`, the number of words to link to."""
    if limits is None:
        return np.full(words, most, np.int32)
    try:
        given = np.asarray(limits)
    except ValueError:
        given = np.array(None)
    # An empty list has no whole numbers, and needs none.
    if given.dtype.kind not in "iu" and (given.size or words):
        fault = f"={limits!r:.60} must be a whole number, or one for each word"
    elif given.ndim == 0 and given < 0:
        fault = f"={limits} is negative; use 0 for no link at all, None for no limit"
    elif given.ndim and given.shape != (words,):
        fault = f" has shape {given.shape}, but there are {words} words; give one for each"
    elif (given < 0).any():
        k = int(np.flatnonzero(given < 0)[0])
        fault = f"[{k}]={given[k]} is negative; use 0 for no link at all"
    else:
        return np.minimum(np.broadcast_to(given, words), most).astype(np.int32)
    raise DataError(name + fault)


def as_costs(costs: Any, words: int, name: str) -> Array:
    """Costs of a word's second, third … link as float64 (words, levels), rising from left to right."""
    with refusing(TypeError, ValueError, what=f"{name} is not a matrix of numbers (words, levels)"):
        given = np.asarray(costs, dtype=np.float64)
    if given.ndim == 1:
        given = np.tile(given, (words, 1))
    finite = np.isfinite(given)
    if given.ndim != 2 or len(given) != words:
        fault = f" has shape {given.shape}; give costs of levels, or a matrix ({words}, levels)"
    elif (fine := finite & (np.diff(np.where(finite, given, 0.0), prepend=0.0) >= 0)).all():
        return given
    else:
        row = int(np.argmin(fine.all(axis=1)))
        fault = f"[{row}]={given[row].tolist()} must be finite, ≥ 0 and not falling"
    raise DataError(name + fault)


def rule_of(alpha: float, concave: str) -> WordLimits:
    """The objective by the names of its parts."""
    if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number):
        raise UsageError("{alpha=} must be a number", alpha=alpha)
    check_value("alpha", alpha, over=0, most=1)
    check_value("concave", concave, choices=CONCAVE)
    return WordLimits(float(alpha), *CONCAVE[concave])


def pack(matrices: Sequence[Array], row_limits: Limits, column_limits: Limits) -> Matrices:
    """Checked matrices end to end, and the limits of all of them."""
    shapes = np.array([matrix.shape for matrix in matrices], np.int64).reshape(-1, 2)
    first, rows, columns = (
        np.concatenate(([0], np.cumsum(sizes))) for sizes in (shapes.prod(axis=1), *shapes.T)
    )
    by_row = [as_limits(row_limits, I, J, "row_limits") for I, J in shapes.tolist()]
    by_column = [as_limits(column_limits, J, I, "column_limits") for I, J in shapes.tolist()]
    return Matrices(
        np.concatenate([np.zeros(0), *(matrix.ravel() for matrix in matrices)]), first, rows, columns,
        np.concatenate([np.zeros(0, np.int32), *by_row]), np.concatenate([np.zeros(0, np.int32), *by_column]),
    )  # fmt: skip


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
    check_value("method", method, choices=METHODS)
    if time_limit is not None and method != "exact":
        raise UsageError('time_limit is for method="exact"; greedy takes microseconds')
    S = as_scores(scores)
    rule = rule_of(alpha, concave)
    together = pack([S], row_limits, column_limits)
    chosen: Array = np.zeros(S.size, np.uint8)
    value, bounded = np.zeros((2, 1))
    iterations = greedy_batch(0, 1, together, rule, method != "plain", chosen)
    bound_batch(0, 1, together, rule, chosen, value, bounded)
    score, bound, tolerance, chosen = float(value[0]), float(bounded[0]), ROUNDING, chosen.reshape(S.shape)
    if method == "exact":
        from dualign.decode.matchings.exact import best_links

        tolerance = PRECISION
        matrix = MatchingMatrix(S, together.row_limits, together.column_limits, chosen)
        chosen, bound, iterations = best_links(matrix, rule, bound, tolerance, clock)
        score = compiled_value(S, chosen, rule)
    name = f"submodular, {method}"
    return certify(links_of(chosen), score, bound, tolerance * score, name, clock, iterations)


def matching(scores: npt.ArrayLike) -> Links:
    """The links of the maximum-weight bipartite matching: no word has two, and Σ s_ij is the greatest.

    `scores` (I, J); links with score 0 or less are left out, for without them the sum is no smaller. The
    bound is that of the dual prices (see `dualign.decode.matchings.exact`).
    """
    clock = Clock()
    S = as_scores(scores, negative="clip")
    chosen = np.zeros(S.shape, np.uint8)
    bound = compiled_match(S, chosen)
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
    from dualign.decode.matchings.exact import penalized_links, penalized_value

    chosen, bound, nodes = penalized_links(S, *costs, link_cost, clock)
    score = penalized_value(S, *costs, link_cost, chosen)
    return certify(links_of(chosen), score, bound, PRECISION * abs(score), "penalized", clock, nodes)


def links_of(chosen: Array) -> set[Link]:
    """The links that are marked, as a set."""
    return {(i, j) for i, j in np.argwhere(chosen).tolist()}
