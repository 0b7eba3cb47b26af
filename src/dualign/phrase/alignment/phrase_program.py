"""Phrase alignment as an integer program, solved by HiGHS (DeNero & Klein 2008, §4.2).

max Σ w_a a     s.t.  (1) Σ_{spans over x} e = 1 for each source word x     (3) e_ij = Σ_{links on ij} a
                      (2) Σ_{spans over y} f = 1 for each target word y     (4) f_kl = Σ_{links on kl} a
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DualignError
from dualign.phrase.alignment.found import Found, tolerance_of, trivial
from dualign.phrase.alignment.weighted import WeightedPair

# What HiGHS promises of its solutions, and so of its bounds.
_PRECISION = 1e-6


def solve_program(pair: WeightedPair, time_limit: float | None) -> Found:
    """The best alignment by HiGHS, with its bound."""
    if (answer := trivial(pair)) is not None:
        return answer
    import highspy

    links = len(pair.weights)
    source, source_of = np.unique(pair.spans[:, :2], axis=0, return_inverse=True)
    target, target_of = np.unique(pair.spans[:, 2:], axis=0, return_inverse=True)
    columns = links + len(source) + len(target)
    words = pair.source_length + pair.target_length
    # Entries (row, column, value): coverage of words, then the spans' equations.
    entries = [
        _coverage(source, 0, links),
        _coverage(target, pair.source_length, links + len(source)),
        _spans(source_of.ravel(), words, links, len(source)),
        _spans(target_of.ravel(), words + len(source), links + len(source), len(target)),
    ]
    row, column, value = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    order = np.lexsort((column, row))
    rows = words + len(source) + len(target)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = np.concatenate((pair.weights, np.zeros(columns - links)))
    model.col_lower_, model.col_upper_ = np.zeros(columns), np.ones(columns)
    model.row_lower_ = model.row_upper_ = (np.arange(rows) < words).astype(np.float64)
    model.integrality_ = [highspy.HighsVarType.kInteger] * columns
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.searchsorted(row[order], np.arange(rows + 1)).astype(np.int32)
    model.a_matrix_.index_ = column[order].astype(np.int32)
    model.a_matrix_.value_ = value[order]
    solver = highspy.Highs()
    for option, setting in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 1e-9),
        ("time_limit", math.inf if time_limit is None else time_limit),
    ):
        solver.setOptionValue(option, setting)
    solver.passModel(model)
    solver.run()
    return _result(solver, pair)


def _coverage(spans: Array, row: int, column: int) -> tuple[Array, Array, Array]:
    """Each word is in one span."""
    sizes = spans[:, 1] - spans[:, 0]
    number = np.repeat(np.arange(len(spans)), sizes)
    within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return row + spans[number, 0] + within, column + number, np.ones(len(number))


def _spans(span_of: Array, row: int, column: int, spans: int) -> tuple[Array, Array, Array]:
    """A span is chosen as often as its links."""
    ones = np.arange(spans)
    return (
        np.concatenate((row + span_of, row + ones)),
        np.concatenate((np.arange(len(span_of)), column + ones)),
        np.concatenate((np.ones(len(span_of)), -np.ones(spans))),
    )


def _result(solver: Any, pair: WeightedPair) -> Found:
    import highspy

    nothing = np.empty(0, np.int64)
    tolerance = max(_PRECISION, tolerance_of(pair))
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Found(nothing, False, -math.inf, tolerance, 0)
    if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kTimeLimit):
        raise DualignError(f"HiGHS gave up: {solver.modelStatusToString(status)}; use method exact")
    info = solver.getInfo()
    bound = info.mip_dual_bound
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return Found(nothing, False, bound, tolerance, info.mip_node_count)
    values = np.array(solver.getSolution().col_value[: len(pair.weights)])
    return Found(np.flatnonzero(values > 0.5), True, bound, tolerance, info.mip_node_count)
