"""Phrase alignment by hill-climbing, in the manner of Marcu & Wong 2002: the baseline that proves little.

Links are taken one after the other, the best for the words it covers first, as long as they fit. Then each
link is tried: it takes the place of those it overlaps, and what that leaves uncovered is filled again
in the same manner; the change stays if more words are covered, or as many and the score is higher.
"""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.phrase.alignment.found import Found, tolerance_of, trivial
from dualign.phrase.alignment.relaxation import solve
from dualign.phrase.alignment.weighted import WeightedPair

_WORK = 1_000_000
"""Links that are looked at between two looks at the clock."""


def climb(pair: WeightedPair, time_limit: float | None = None) -> Found:
    """A good alignment, if one is met, and the bound of a short relaxation."""
    ends = math.inf if time_limit is None else perf_counter() + time_limit
    if (answer := trivial(pair)) is not None:
        return answer
    tolerance = tolerance_of(pair)
    sizes = pair.spans[:, [1, 3]] - pair.spans[:, [0, 2]]
    order = np.argsort(-pair.weights / sizes.sum(axis=1), kind="stable")
    chosen = np.zeros(len(pair.weights), np.bool_)
    lengths = np.array([pair.source_length, pair.target_length])
    rows, columns = (np.full(length, -1) for length in lengths)
    _fill(pair.spans, order, chosen, rows, columns)
    state = np.zeros(3, np.int64)
    tries = max(1, _WORK // len(order))
    while _climb(pair.spans, pair.weights, order, chosen, rows, columns, state, tries):
        if perf_counter() >= ends:
            break
    steps = int(state[2])
    links = np.flatnonzero(chosen)
    found = int(sizes[links].sum()) == int(lengths.sum())
    outcome = solve(
        pair.spans, pair.weights, np.arange(len(order)), lengths, np.zeros(pair.target_length),
        -math.inf, -math.inf, tolerance, 1,
    )  # fmt: skip
    if not outcome.open and not len(outcome.chosen):
        return Found(links[:0], False, -math.inf, tolerance, steps)
    return Found(links if found else links[:0], found, outcome.bound, tolerance, steps)


@kernel()
def _fits(span: Array, rows: Array, columns: Array) -> bool:
    if np.any(rows[span[0] : span[1]] >= 0):
        return False
    return bool(np.all(columns[span[2] : span[3]] < 0))


@kernel()
def _put(span: Array, rows: Array, columns: Array, owner: int) -> None:
    """Give the words of a link to an owner, −1 for none."""
    for x in range(span[0], span[1]):
        rows[x] = owner
    for y in range(span[2], span[3]):
        columns[y] = owner


@kernel()
def _value(weights: Array, chosen: Array, rows: Array, columns: Array) -> tuple[int, float]:
    """Words covered, and the score."""
    score = 0.0
    for a in range(len(weights)):
        if chosen[a]:
            score += weights[a]
    return int(np.sum(rows >= 0) + np.sum(columns >= 0)), score


@kernel()
def _fill(spans: Array, order: Array, chosen: Array, rows: Array, columns: Array) -> None:
    for a in order:
        if not chosen[a] and _fits(spans[a], rows, columns):
            _put(spans[a], rows, columns, a)
            chosen[a] = True


@kernel()
def _climb(
    spans: Array,
    weights: Array,
    order: Array,
    chosen: Array,
    rows: Array,
    columns: Array,
    state: Array,
    tries: int,
) -> bool:
    """Look at so many links for a change that improves what is `chosen`; False at a local optimum.

    `state` int64 [3] is where the next call goes on: the place in `order`, whether this pass over it has
    improved anything, and the number of changes tried.
    """
    covered, score = _value(weights, chosen, rows, columns)
    for _ in range(tries):
        if state[0] == len(order):
            if not state[1]:
                return False
            state[0] = state[1] = 0
        a = order[state[0]]
        state[0] += 1
        if chosen[a]:
            continue
        state[2] += 1
        now, now_rows, now_columns = chosen.copy(), rows.copy(), columns.copy()
        for x in range(spans[a, 0], spans[a, 1]):
            owner = now_rows[x]
            if owner >= 0:
                _put(spans[owner], now_rows, now_columns, -1)
                now[owner] = False
        for y in range(spans[a, 2], spans[a, 3]):
            owner = now_columns[y]
            if owner >= 0:
                _put(spans[owner], now_rows, now_columns, -1)
                now[owner] = False
        _put(spans[a], now_rows, now_columns, a)
        now[a] = True
        _fill(spans, order, now, now_rows, now_columns)
        now_covered, now_score = _value(weights, now, now_rows, now_columns)
        if now_covered > covered or (now_covered == covered and now_score > score + 1e-12):
            chosen[:] = now
            rows[:] = now_rows
            columns[:] = now_columns
            covered, score = now_covered, now_score
            state[1] = 1
    return True
