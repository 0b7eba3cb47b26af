"""The best bijective phrase alignment of a weighted sentence pair (DeNero & Klein 2008, problems O and D).

    maximise Σ_{links of a} log φ(link)   over alignments a that use each word in exactly one link

It is NP-hard. Three methods under one interface:

- `exact`: Lagrangian relaxation, fixing and search (`relaxation`); if that leaves something open, branch and
  bound on links. Always proved, unless a time limit stops it.
- `ilp`: the program (1)-(4) of the paper, solved by HiGHS.
- `greedy`: link the best, then hill-climb, in the manner of Marcu & Wong 2002, with a bound from relaxation.
"""

from __future__ import annotations

import math

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import Certified
from dualign._core.errors import Infeasible, UsageError
from dualign._core.fields import check_value
from dualign._core.progress import Alarm, Clock, check_time_limit
from dualign._search.certificate import PRECISION, certify, scale_of
from dualign._search.dual import OpenParts
from dualign._search.highs import Program, fits
from dualign.phrase.coverage import links_of
from dualign.phrase.relaxation import Goal, solve
from dualign.phrase.weights import (
    LinkWeights,
    PhraseLink,
    PhraseSearchResult,
    WeightedPair,
    tolerance_of,
    weighted_pair,
)
from dualign.text.checks import number_of

ENTRIES = 3
"""Entries of the program for each link, about."""


METHODS = ("exact", "ilp", "greedy")

PhraseAlignment = tuple[PhraseLink, ...]
"""Links `(i, j, k, l)` in the order of the source."""

GREEDY_SHARE = 0.25
"""Of a time limit, what `greedy` may use before another method begins."""

STATES = 1 << 14
"""States per row that one search of `exact` may keep before it branches."""


def align(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    *,
    method: str = "exact",
    time_limit: float | None = None,
) -> Certified[PhraseAlignment | None]:
    """Return the best phrase alignment of a sentence pair.

    `weights` is `{(i, j, k, l): log φ}` for the source span i..j−1 and the target span k..l−1; links that are
    absent are impossible. Raises `Infeasible` if there is provably no alignment. With a
    `time_limit` (seconds, after `weights` have been checked) the best that was found is returned with its
    bound: what `greedy` finds in a quarter of the time, or better. If none was found, `solution` is None and
    `score` −∞; `greedy` may end like that even without a limit.
    """
    return align_pair(weighted_pair(weights, source_length, target_length), method, time_limit)


def align_pair(
    pair: WeightedPair, method: str = "exact", time_limit: float | None = None, *, states: int = STATES
) -> Certified[PhraseAlignment | None]:
    """`align` for a pair that has been checked; `states` is for tests of the branching."""
    check_value("method", method, choices=METHODS)
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    scale = scale_of(float(np.abs(pair.weights).max(initial=0.0)))
    with Alarm(clock).set() as alarm:
        found = _found(pair._replace(weights=pair.weights * scale), method, clock, alarm.flag, states)
    bound = found.bound / scale
    if found.links is None:
        if bound == -math.inf:
            raise no_alignment(pair)
        return certify(None, -math.inf, bound, found.tolerance / scale, method, clock, found.iterations)
    solution = tuple(sorted(map(pair.link, found.links.tolist())))
    score = pair.score(np.sort(found.links))
    return certify(solution, score, bound, found.tolerance / scale, method, clock, found.iterations)


def _found(pair: WeightedPair, method: str, clock: Clock, stop: Array, states: int) -> PhraseSearchResult:
    """Return what a method finds; with a time limit, what `greedy` finds in a part of the time if that is
    better."""
    from dualign.phrase.climbing import climb

    if not len(pair.weights):
        return _without_links(pair)
    if method == "greedy":
        return climb(pair, clock, stop)
    first, known = None, -math.inf
    if clock.limit is not None:
        part = Clock(GREEDY_SHARE * clock.limit)
        with Alarm(part).set() as enough:
            first = climb(pair, part, enough.flag)
        if clock.is_over or (first.links is None and first.bound == -math.inf):
            return first
        known = pair.score(first.links)
    if method == "exact":
        found = _exact(pair, clock, stop, states, enough=math.inf, known=known)
    else:
        found = solve_program(pair, clock)
    if first is None:
        return found
    links = first.links if pair.score(found.links) < known else found.links
    return found._replace(links=links, bound=max(known, min(found.bound, first.bound)))


def no_alignment(pair: WeightedPair) -> Infeasible:
    """Return the error for a pair that is proved to have no alignment."""
    return Infeasible(
        f"there is no phrase alignment of {pair.source_length} and {pair.target_length} words with "
        f"{number_of(len(pair.weights), 'links')}; that is proved"
    )


def decide(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    threshold: float = 0.0,
    *,
    time_limit: float | None = None,
) -> bool:
    """Return whether some alignment scores at least `threshold`, a logarithm (problem D has log 1 = 0).

    Scores are compared with the tolerance of floating point. Raises `UsageError` if the time limit ends the
    search before it is decided.
    """
    pair = weighted_pair(weights, source_length, target_length)
    if math.isnan(threshold):
        raise UsageError("threshold is not a number")
    check_time_limit(time_limit)
    clock, least = Clock(time_limit), threshold - tolerance_of(pair)
    with Alarm(clock).set() as alarm:
        # Alignments that score less do not matter.
        found = _exact(pair, clock, alarm.flag, STATES, enough=least, known=least)
    if found.links is not None or not found.open:
        return found.links is not None and pair.score(found.links) >= least
    raise UsageError("{time_limit=} was too short to decide; allow more", time_limit=time_limit)


def _without_links(pair: WeightedPair) -> PhraseSearchResult:
    """Return the empty alignment, if there are no words; none otherwise."""
    if pair.source_length == pair.target_length == 0:
        return PhraseSearchResult(np.empty(0, np.int64), 0.0, 0.0, 0)
    return PhraseSearchResult(None, -math.inf, 0.0, 0)


def solve_program(pair: WeightedPair, clock: Clock) -> PhraseSearchResult:
    """Return the best alignment by HiGHS, with its bound; none, and ∞, if there is no time to build the
    program.

    max Σ w_a a     s.t.  (1) Σ_{spans over x} e = 1 for each source word x     (3) e_ij = Σ_{links on ij} a
                          (2) Σ_{spans over y} f = 1 for each target word y     (4) f_kl = Σ_{links on kl} a

    (DeNero & Klein 2008, §4.2).
    """
    if not fits(ENTRIES * len(pair.weights), clock.left):
        return PhraseSearchResult(None, math.inf, max(PRECISION, tolerance_of(pair)), 0)
    program = Program()
    links = program.add_variables(pair.weights, whole=True)
    sides = [np.unique(spans, axis=0, return_inverse=True) for spans in np.hsplit(pair.spans, 2)]
    variables = [program.add_variables(np.zeros(len(spans)), whole=True) for spans, _ in sides]
    lengths = pair.source_length, pair.target_length
    for length, (spans, _), chosen in zip(lengths, sides, variables, strict=True):
        words = program.add_constraints(np.ones(length), np.ones(length))
        sizes = spans[:, 1] - spans[:, 0]
        number = np.repeat(np.arange(len(spans)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        program.add_entries(words[spans[number, 0] + within], chosen[number], 1.0)
    for (_, span_of), chosen in zip(sides, variables, strict=True):
        rows = program.add_constraints(np.zeros(len(chosen)), np.zeros(len(chosen)))
        program.add_entries(rows[span_of.ravel()], links, 1.0)
        program.add_entries(rows, chosen, -1.0)
    solved = program.solve(clock.left)
    used = None if solved.values is None else np.flatnonzero(solved.values[: len(links)] > 0.5)
    return PhraseSearchResult(used, solved.bound, max(PRECISION, tolerance_of(pair)), solved.nodes)


def _exact(
    pair: WeightedPair, clock: Clock, stop: Array, states: int, *, enough: float, known: float
) -> PhraseSearchResult:
    """Best-first branch and bound on links around `solve`; nearly always the first call is all.

    Finds an alignment that scores more than `known`, if there is one: the best, or one that scores `enough`.
    """
    if not len(pair.weights):
        return _without_links(pair)
    every = links_of(pair)
    place = np.argsort(every.numbers)
    # Half of it: what is left of the bound stays within the tolerance after rounding.
    tolerance = tolerance_of(pair) / 2
    best: Array | None = None
    score, closed, iterations = known, -math.inf, 0
    limit = states if clock.limit is None else min(states, 1 << 10)

    parts: OpenParts[tuple[Array, Array]] = OpenParts()  # links (a mask), and multipliers to begin with
    parts.add([(math.inf, (np.ones(len(place), np.bool_), np.zeros(every.width)))], score + tolerance)
    while parts.are_left(score + tolerance):
        if (best is not None and score >= enough) or (iterations > 0 and clock.is_over):
            break
        _, (alive, multipliers) = parts.take()
        outcome = solve(every, alive, multipliers, Goal(score, enough, tolerance, limit, stop))
        iterations += outcome.rounds
        if len(outcome.chosen):
            best = outcome.chosen
            score = pair.score(best)
        if not outcome.open:
            closed = max(closed, outcome.bound)
        elif stop[0]:
            parts.add([(outcome.bound, (alive, multipliers))], score + tolerance)
        else:
            children = _children(every.spans, place[outcome.links], outcome.usage)
            left = [(outcome.bound, (child, outcome.multipliers)) for child in children]
            parts.add(left, score + tolerance)
    bound, is_open = parts.bound, parts.are_left(score + tolerance)
    if not is_open:
        bound = -math.inf if best is None else max(score, min(max(bound, closed), score + tolerance))
    return PhraseSearchResult(best, bound, 2 * tolerance, iterations, is_open)


def _children(spans: Array, links: Array, usage: Array) -> list[Array]:
    """Branch on the link that relaxed paths are most undecided about: with it, and without it (masks)."""
    at = int(np.argmin(np.abs(usage - 0.5)))
    i, j, k, l = spans[links[at]]
    rows, columns = spans[links, :2], spans[links, 2:]
    apart = ((rows[:, 1] <= i) | (rows[:, 0] >= j)) & ((columns[:, 1] <= k) | (columns[:, 0] >= l))
    with_it, without_it = np.zeros((2, len(spans)), np.bool_)
    with_it[links[apart]] = without_it[links] = True
    with_it[links[at]], without_it[links[at]] = True, False
    return [with_it, without_it]
