"""The best bijective phrase alignment of a weighted sentence pair (DeNero & Klein 2008, problems O and D).

    maximise Σ_{links of a} log φ(link)   over alignments a that use each word in exactly one link

It is NP-hard. Three methods under one interface:

- `exact`: Lagrangian relaxation, fixing and search (`relaxation`); where that leaves something
  open, branch and bound on links around it. Always proved, unless a time limit stops it.
- `ilp`: the program (1)-(4) of the paper, solved by HiGHS.
- `greedy`: link the best, then hill-climb, in the manner of Marcu & Wong 2002, with a bound from relaxation.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from itertools import count
from time import perf_counter

import numpy as np

from dualign.core.arrays import Array
from dualign.core.certified import Certified
from dualign.core.errors import Infeasible, UsageError
from dualign.phrase.alignment.found import Found, tolerance_of, trivial
from dualign.phrase.alignment.relaxation import solve
from dualign.phrase.alignment.weighted import LinkWeights, PhraseLink, WeightedPair, weighted_pair

METHODS = ("exact", "ilp", "greedy")

PhraseAlignment = tuple[PhraseLink, ...]
"""Links `(i, j, k, l)` in the order of the source."""

STATES = 1 << 14
"""States a row that one search of `exact` may keep before it branches."""


def align(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    *,
    method: str = "exact",
    time_limit: float | None = None,
) -> Certified[PhraseAlignment | None]:
    """The best phrase alignment of a sentence pair.

    `weights` is `{(i, j, k, l): log φ}` for the source span i..j−1 and the target span k..l−1; links that are
    absent are impossible. Raises `Infeasible` where it is proved that there is no alignment. With a
    `time_limit` (seconds) the best that was found is returned with its bound; if none was found, `solution`
    is None and `score` −∞. `greedy`, which proves little, may end like that too. `exact` looks at the clock
    between searches, which take up to a second or so for long sentences.
    """
    return align_pair(weighted_pair(weights, source_length, target_length), method, time_limit)


def align_pair(
    pair: WeightedPair, method: str = "exact", time_limit: float | None = None, *, states: int = STATES
) -> Certified[PhraseAlignment | None]:
    """`align` for a pair that has been checked; `states` is for tests of the branching."""
    if method not in METHODS:
        raise UsageError(f"method={method!r} is not known; there are {', '.join(METHODS)}")
    _check_limit(time_limit)
    began = perf_counter()
    if method == "exact":
        found = _exact(pair, time_limit, states, enough=math.inf)
    elif method == "ilp":
        from dualign.phrase.alignment.phrase_program import solve_program

        found = solve_program(pair, time_limit)
    else:
        from dualign.phrase.alignment.climbing import climb

        found = climb(pair, time_limit)
    links = sorted(map(pair.link, found.links.tolist()))
    score = float(pair.weights[np.sort(found.links)].sum()) if found.found else -math.inf
    if not found.found and found.bound == -math.inf:
        raise Infeasible(
            f"there is no phrase alignment of {pair.source_length} and {pair.target_length} words with these "
            f"{len(pair.weights)} links; that is proved"
        )
    bound = max(found.bound, score)
    return Certified(
        solution=tuple(links) if found.found else None,
        score=score,
        bound=bound,
        certified=bound - score <= found.tolerance,
        method=method,
        iterations=found.iterations,
        seconds=perf_counter() - began,
    )


def decide(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    threshold: float = 0.0,
    *,
    time_limit: float | None = None,
) -> bool:
    """Whether some alignment scores at least `threshold`, a logarithm (problem D has log 1 = 0).

    Scores are compared with the tolerance of floating point. If the time limit ends the search undecided,
    that is a `UsageError`.
    """
    pair = weighted_pair(weights, source_length, target_length)
    if math.isnan(threshold):
        raise UsageError("threshold is not a number")
    _check_limit(time_limit)
    least = threshold - tolerance_of(pair)
    # What scores less is of no interest.
    found = _exact(pair, time_limit, STATES, enough=least, known=least)
    if found.found:
        return float(pair.weights[found.links].sum()) >= least
    if not found.open:
        return False
    raise UsageError(f"time_limit={time_limit} was too short to decide; allow more")


def _check_limit(time_limit: float | None) -> None:
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"time_limit={time_limit} must be more than 0 seconds")


def _exact(
    pair: WeightedPair, time_limit: float | None, states: int, enough: float, known: float = -math.inf
) -> Found:
    """Best-first branch and bound on links around `solve`; nearly always the first call is all.

    Finds an alignment that scores more than `known`, if there is one: the best, or one that scores `enough`.
    """
    if (answer := trivial(pair)) is not None:
        return answer
    ends = math.inf if time_limit is None else perf_counter() + time_limit
    spans, weights = pair.spans, pair.weights
    numbers = np.arange(len(weights))
    sizes = np.array([pair.source_length, pair.target_length])
    if pair.source_length < pair.target_length:
        # Search keeps sets of columns: let there be fewer of these.
        order = np.lexsort((spans[:, 1], spans[:, 0], spans[:, 3], spans[:, 2]))
        spans = np.ascontiguousarray(spans[order][:, [2, 3, 0, 1]])
        weights, numbers, sizes = weights[order], order, sizes[::-1].copy()
    # Half of it: what is left of the bound stays within the tolerance after rounding.
    tolerance = tolerance_of(pair) / 2
    place = np.empty(len(numbers), np.int64)
    place[numbers] = np.arange(len(numbers))
    best, score = np.empty(0, np.int64), known
    closed = -math.inf  # bound on what has been searched to the end
    ticket = count()
    nodes: list[tuple[float, int, Array, Array]] = []
    heappush(nodes, (-math.inf, next(ticket), np.arange(len(numbers)), np.zeros(sizes[1])))
    iterations = 0
    while nodes:
        bound, _, links, multipliers = heappop(nodes)
        if -bound <= score + tolerance:
            closed = max(closed, -bound)
            continue
        if perf_counter() > ends and iterations:
            heappush(nodes, (bound, next(ticket), links, multipliers))
            break
        limit = states if math.isinf(ends) else min(states, 1 << 10)
        outcome = solve(
            spans[links], weights[links], numbers[links], sizes, multipliers, score, enough, tolerance, limit
        )
        iterations += outcome.rounds
        if len(outcome.chosen):
            best = outcome.chosen
            score = float(pair.weights[best].sum())
        if not outcome.open:
            closed = max(closed, outcome.bound)
            continue
        if len(best) and score >= enough:
            heappush(nodes, (-outcome.bound, next(ticket), links, multipliers))
            break
        for child in _children(spans, place[outcome.links], outcome.usage):
            heappush(nodes, (-outcome.bound, next(ticket), child, outcome.multipliers))
    is_open = bool(nodes) and -nodes[0][0] > score + tolerance
    if not len(best):
        bound = -nodes[0][0] if is_open else -math.inf
        return Found(best, False, bound, 2 * tolerance, iterations, is_open)
    bound = max(score, min(closed, score + tolerance), -nodes[0][0] if is_open else -math.inf)
    return Found(best, True, bound, 2 * tolerance, iterations, is_open)


def _children(spans: Array, links: Array, usage: Array) -> list[Array]:
    """Branch on the link that relaxed paths are most undecided about: with it, and without it."""
    at = int(np.argmin(np.abs(usage - 0.5)))
    i, j, k, l = spans[links[at]]
    rows, columns = spans[links, :2], spans[links, 2:]
    apart = ((rows[:, 1] <= i) | (rows[:, 0] >= j)) & ((columns[:, 1] <= k) | (columns[:, 0] >= l))
    apart[at] = True
    others = np.ones(len(links), np.bool_)
    others[at] = False
    return [links[apart], links[others]]
