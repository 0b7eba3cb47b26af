"""Phrase alignment by hill-climbing, in the manner of Marcu & Wong 2002: the baseline that proves little.

Links are taken one after the other, the best per word it covers first, as long as they fit. Then each link is
tried: it takes the place of those it overlaps, and what that leaves uncovered is filled again in the same
manner; the change stays if more words are covered, or as many and the score is higher.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock
from dualign.phrase.coverage import SpanLinks, links_of
from dualign.phrase.relaxation import Goal, solve
from dualign.phrase.weights import PhraseSearchResult, WeightedPair, tolerance_of

_WORK = 1_000_000
"""Links that are tried, times links that each trial looks at, between two looks at the clock."""


class SpanChoice(NamedTuple):
    """Links that do not overlap: a mask bool [links], and the link of each row and column or −1, int64."""

    links: Array
    rows: Array
    columns: Array


def climb(pair: WeightedPair, clock: Clock, stop: Array) -> PhraseSearchResult:
    """Return a good alignment, if one is met, and the bound of a short relaxation.

    With a time limit, at which `stop` is raised, the best monotone alignment is taken if it is better.
    """
    tolerance = tolerance_of(pair)
    links = links_of(pair, longer_side=False)
    sizes = (pair.spans[:, [1, 3]] - pair.spans[:, [0, 2]]).sum(axis=1)
    order = np.argsort(-pair.weights / sizes, kind="stable")
    rows, columns = np.full(pair.source_length, -1), np.full(pair.target_length, -1)
    chosen = SpanChoice(np.zeros(len(order), np.bool_), rows, columns)
    _compiled_fill(links, order, chosen)
    state = np.zeros(3, np.int64)
    tries = max(1, _WORK // len(order))
    while _climb(links, order, chosen, state, tries) and not clock.is_over:
        pass
    every = np.ones(len(order), np.bool_)
    outcome = solve(links, every, np.zeros(links.width), Goal(-math.inf, -math.inf, tolerance, 1, stop))
    if not outcome.open and not len(outcome.chosen):
        return PhraseSearchResult(None, -math.inf, tolerance, int(state[2]))
    whole = (rows >= 0).all() and (columns >= 0).all()
    used = np.flatnonzero(chosen.links) if whole else None
    if clock.limit is not None:
        way = _monotone(links)
        if len(way) and pair.score(way) > pair.score(used):
            used = way
    return PhraseSearchResult(used, outcome.bound, tolerance, int(state[2]))


@kernel
def _monotone(links: SpanLinks) -> Array:
    """Return the best alignment whose links have the same order on both sides, in O(links); empty if none
    has."""
    height = len(links.begin) - 1
    best = np.full((height + 1, links.width + 1), -np.inf)
    last = np.full((height + 1, links.width + 1), -1, np.int64)
    best[0, 0] = 0.0
    for i in range(height):
        for a in range(links.begin[i], links.begin[i + 1]):
            _, j, k, l = links.spans[a]
            value = best[i, k] + links.weights[a]
            if value > best[j, l]:
                best[j, l] = value
                last[j, l] = a
    path = np.empty(height, np.int64)
    steps, row, column = 0, height, links.width
    while row > 0 and last[row, column] >= 0:
        path[steps] = last[row, column]
        row, column = links.spans[path[steps], 0], links.spans[path[steps], 2]
        steps += 1
    return path[:steps] if row == 0 and column == 0 else path[:0]


@part
def _put(span: Array, chosen: SpanChoice, owner: int) -> None:
    """Give the words of a link to an owner, −1 for none."""
    chosen.rows[span[0] : span[1]] = owner
    chosen.columns[span[2] : span[3]] = owner


@part
def _remove(links: SpanLinks, chosen: SpanChoice, owners: Array) -> None:
    """Remove the links that own some words."""
    for n in range(len(owners)):
        owner = owners[n]
        if owner >= 0:
            _put(links.spans[owner], chosen, -1)
            chosen.links[owner] = False


@part
def _value(links: SpanLinks, chosen: SpanChoice) -> tuple[int, float]:
    """Return words covered, and the score."""
    score = 0.0
    for a in range(len(links.weights)):
        if chosen.links[a]:
            score += links.weights[a]
    return int(np.sum(chosen.rows >= 0) + np.sum(chosen.columns >= 0)), score


@part
def _fill(links: SpanLinks, order: Array, chosen: SpanChoice) -> None:
    """Take links in that order as long as they fit."""
    for a in order:
        span = links.spans[a]
        if chosen.links[a] or np.any(chosen.rows[span[0] : span[1]] >= 0):
            continue
        if np.all(chosen.columns[span[2] : span[3]] < 0):
            _put(span, chosen, a)
            chosen.links[a] = True


_compiled_fill = kernel(_fill)


@kernel
def _climb(links: SpanLinks, order: Array, chosen: SpanChoice, state: Array, tries: int) -> bool:
    """Try that many links for a change that improves what is `chosen`; False at a local optimum.

    `state` int64 [3] is where the next call goes on: the place in `order`, whether this pass over it has
    improved anything, and the number of changes tried.
    """
    covered, score = _value(links, chosen)
    for _ in range(tries):
        if state[0] == len(order):
            if not state[1]:
                return False
            state[0] = state[1] = 0
        a = order[state[0]]
        state[0] += 1
        if chosen.links[a]:
            continue
        state[2] += 1
        now = SpanChoice(chosen.links.copy(), chosen.rows.copy(), chosen.columns.copy())
        span = links.spans[a]
        _remove(links, now, now.rows[span[0] : span[1]])
        _remove(links, now, now.columns[span[2] : span[3]])
        _put(span, now, a)
        now.links[a] = True
        _fill(links, order, now)
        now_covered, now_score = _value(links, now)
        if now_covered > covered or (now_covered == covered and now_score > score + 1e-12):
            chosen.links[:], chosen.rows[:], chosen.columns[:] = now.links, now.rows, now.columns
            covered, score = now_covered, now_score
            state[1] = 1
    return True
