"""The relaxation of phrase alignment, and the search that it guides: the kernels of the exact solver.

A phrase alignment is a path of links from row 0 to row I that covers each of the columns 0..J−1 exactly once
(`dualign.phrase.coverage`); link a has weight w(a).

**Bound.** Let the columns be covered any number of times, and charge `μ_y` for each time, with one charge
given back (Lagrange multipliers of program (2), DeNero & Klein 2008, §4.2):

    L(μ) = Σ_y μ_y + max over paths from 0 to I of Σ_a r(a),   r(a) = w(a) − Σ_{k ≤ y < l} μ_y

No alignment scores more than L(μ), for any μ, and `min L` is the linear program's value. `descend` looks for
it.

**Fixing.** `Σμ + α(i) + r(a) + β(j)`, of the best ways before and behind, bounds alignments with link a; if
that is not above the best score known, a is dropped for good. So are links that no path of either side uses.

**Search.** A walk keeps one state for each set of covered columns, with the bound `Σμ + r(so far) + β(row)`;
states whose bound is not above the best score known are dropped. If a row has too many, the best by bound
stay; what was dropped bounds what was missed. If nothing was missed, the answer is proved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY
from dualign._search.dual import BOUND, MET, ROUNDS, SCORE, LevelRule, level_descent, new_level_record
from dualign.phrase.coverage import (
    VALUE,
    CoverageGuide,
    SpanLinks,
    States,
    charge_links,
    consistent,
    coverage_of,
    expand,
    first_state,
    states_of,
)

_ROUNDS = 100  # of descent before the first search


class Goal(NamedTuple):
    """What `solve` is to find: an alignment that scores more than `known` + `tolerance`.

    `known` is the score of an alignment that the caller has, or −∞. A score of `enough` ends the search. The
    last search keeps up to `states` states per row. `stop` uint8 (1) is 1 once the time is up: `solve` then
    returns what it has.
    """

    known: float
    enough: float
    tolerance: float
    states: int
    stop: Array


class PhraseOutcome(NamedTuple):
    """What `solve` found."""

    chosen: Array
    """Numbers of the links of the best alignment, int64; empty if none was found that beats `known`."""
    bound: float
    """No alignment scores more, except those that score no more than `known`."""
    open: bool
    """Whether there may be an alignment better than the best one known."""
    links: Array
    """Numbers of the links that a better alignment could use, if `open`."""
    usage: Array
    """How often each of `links` was in a relaxed path, 0 to 1."""
    multipliers: Array
    """The best μ, [J]."""
    rounds: int


class Relaxed(NamedTuple):
    """The relaxation: links, the best μ and the present one [J]; at the latter, r [links], β [I + 1] and the
    link it begins with [I], how often each column is covered [J]; `usage` [links] counts links of paths;
    `stop` is that of the goal."""

    links: SpanLinks
    best: Array
    mu: Array
    r: Array
    beta: Array
    choice: Array
    covered: Array
    usage: Array
    stop: Array


@part
def _relaxed(links: SpanLinks, mu: Array, usage: Array, stop: Array) -> Relaxed:
    height = len(links.begin) - 1
    r, beta, choice = np.empty(len(links.weights)), np.empty(height + 1), np.empty(height, np.int64)
    return Relaxed(links, mu.copy(), mu.copy(), r, beta, choice, np.empty(len(mu), np.int64), usage, stop)


@part
def _weigh(relaxed: Relaxed) -> Array:
    """Fill r, β (the best way from each row to the last) and the link it begins with; returns `charges`."""
    links, r, beta = relaxed.links, relaxed.r, relaxed.beta
    charge = charge_links(links, relaxed.mu, r)
    height = len(beta) - 1
    beta[height] = 0.0
    for i in range(height - 1, -1, -1):
        best = -np.inf
        chosen = -1
        for a in range(links.begin[i], links.begin[i + 1]):
            value = r[a] + beta[links.spans[a, 1]]
            if value > best:
                best = value
                chosen = a
        beta[i] = best
        relaxed.choice[i] = chosen
    return charge


@part
def _path_bound(relaxed: Relaxed) -> tuple[float, float]:
    """Return L(μ), and ‖g‖² of its subgradient g_y = 1 − (times the best path covers y)."""
    total = _weigh(relaxed)[-1]
    spans, covered = relaxed.links.spans, relaxed.covered
    covered[:] = 0
    i = 0
    while i < len(relaxed.choice):
        a = relaxed.choice[i]
        for y in range(spans[a, 2], spans[a, 3]):
            covered[y] += 1
        i = spans[a, 1]
    norm = 0.0
    for y in range(len(covered)):
        norm += (covered[y] - 1.0) ** 2
    return total + relaxed.beta[0], norm


@part
def _keep(relaxed: Relaxed) -> None:
    relaxed.best[:] = relaxed.mu


@part
def _move(relaxed: Relaxed, step: float) -> None:
    """A step of μ against the subgradient; the links of the path are counted."""
    i = 0
    while i < len(relaxed.choice):
        relaxed.usage[relaxed.choice[i]] += 1
        i = relaxed.links.spans[relaxed.choice[i], 1]
    for y in range(len(relaxed.mu)):
        relaxed.mu[y] += step * (relaxed.covered[y] - 1.0)


@part
def _halted(relaxed: Relaxed) -> bool:
    return relaxed.stop[0] != 0


descend = level_descent(_path_bound, _keep, _move, _halted, LevelRule(patience=6, shrink=0.5, progress=0.05))
"""`descend(relaxed, record, rounds, tolerance)`: rounds on L(μ)."""


@part
def _path(relaxed: Relaxed) -> Array:
    """Return the links of the best path."""
    path = np.empty(len(relaxed.choice), np.int64)
    i = steps = 0
    while i < len(relaxed.choice):
        path[steps] = relaxed.choice[i]
        i = relaxed.links.spans[path[steps], 1]
        steps += 1
    return path[:steps]


@part
def _lowest(links: SpanLinks) -> float:
    """Return the score of the worst path; no alignment scores less."""
    height = len(links.begin) - 1
    worst = np.full(height + 1, np.inf)
    worst[height] = 0.0
    for i in range(height - 1, -1, -1):
        for a in range(links.begin[i], links.begin[i + 1]):
            worst[i] = min(worst[i], links.weights[a] + worst[links.spans[a, 1]])
    return worst[0]


@part
def _fixed(relaxed: Relaxed, least: float) -> Relaxed:
    """Return the relaxation of those links that may be in an alignment above `least`, by the bound at the
    best μ."""
    links, r, beta = relaxed.links, relaxed.r, relaxed.beta
    relaxed.mu[:] = relaxed.best
    total = _weigh(relaxed)[-1]
    alpha = np.full(len(beta), -np.inf)
    alpha[0] = 0.0
    for i in range(len(beta) - 1):
        for a in range(links.begin[i], links.begin[i + 1]):
            alpha[links.spans[a, 1]] = max(alpha[links.spans[a, 1]], alpha[i] + r[a])
    alive = np.ones(len(r), np.bool_)
    for a in range(len(r)):
        alive[a] = total + alpha[links.spans[a, 0]] + r[a] + beta[links.spans[a, 1]] > least
    links = consistent(links, alive)
    return _relaxed(links, relaxed.best, relaxed.usage[alive], relaxed.stop)


@part
def _keep_best(states: States, guide: CoverageGuide, i: int, limit: int) -> float:
    """Drop all states of row i but the `limit` best; returns a bound on what the others could lead to."""
    numbers = states_of(states, i)
    values = states.values[:, VALUE][numbers]
    threshold = np.sort(values)[len(values) - limit]
    # Of states on the threshold some may have to go.
    room = limit - np.sum(values > threshold)
    missed = -np.inf
    for n in range(len(numbers)):
        if values[n] == threshold and room > 0:
            room -= 1
        elif values[n] <= threshold:
            missed = max(missed, guide.total + values[n] + guide.behind[i])
            states.values[numbers[n], VALUE] = -np.inf
    return missed


@part
def _search(relaxed: Relaxed, least: float, limit: int) -> tuple[float, Array, float]:
    """Walk, with at most `limit` states per row, to the best alignment above `least`.

    Returns its score (−∞ if none was found) and its links, and a bound on alignments that were missed (−∞:
    none was). If the time is up, it has found none and missed all.
    """
    links, height = relaxed.links, len(relaxed.choice)
    relaxed.mu[:] = relaxed.best
    charge = _weigh(relaxed)
    guide = CoverageGuide(relaxed.r, charge[-1], relaxed.beta, least, charge, relaxed.stop)
    coverage = coverage_of(links)
    states = first_state(height, coverage)
    missed = -np.inf
    for i in range(height):
        if states.counts[i] > limit:
            missed = max(missed, _keep_best(states, guide, i, limit))
        states = expand(states, links, coverage, guide, i, False)
        if relaxed.stop[0] != 0:
            return -np.inf, np.empty(0, np.int64), np.inf
    path = np.empty(height, np.int64)
    # All columns are due at the last row: one state at most.
    state = states.heads[height]
    if state == EMPTY:
        return -np.inf, path[:0], missed
    score = 0.0
    steps = 0
    while states.origins[state, 1] != EMPTY:
        path[steps] = states.origins[state, 1]
        score += links.weights[path[steps]]
        steps += 1
        state = states.origins[state, 0]
    return score, path[:steps], missed


@kernel
def solve(links: SpanLinks, alive: Array, mu: Array, goal: Goal) -> PhraseOutcome:
    """Return the best alignment of links `alive` (a mask) that reaches the goal, or what is left to search.

    `mu` [J] is where the descent starts.
    """
    tolerance = goal.tolerance
    links = consistent(links, alive.copy())
    relaxed = _relaxed(links, mu, np.zeros(len(links.weights)), goal.stop)
    chosen = np.empty(0, np.int64)
    if len(links.weights) == 0:
        return PhraseOutcome(chosen, goal.known, False, links.numbers, relaxed.usage, relaxed.best, 0)
    # Without an alignment in hand: none scores less than the worst path.
    floor = max(goal.known, _lowest(links) - 1.0 - 2 * tolerance)
    record = new_level_record(floor)
    bound = np.inf
    beam, rounds = min(16, goal.states), _ROUNDS
    while True:
        status = descend(relaxed, record, rounds, tolerance)
        bound = min(bound, record.numbers[BOUND])
        if status == MET:
            chosen = relaxed.links.numbers[_path(relaxed)]
            floor = bound
        if bound <= floor + tolerance:
            bound = max(bound, floor)
            break
        if goal.stop[0] != 0:
            break
        score, path, missed = _search(relaxed, floor + tolerance, beam)
        if score > floor:
            floor = score
            chosen = relaxed.links.numbers[path]
        bound = min(bound, max(missed, floor + tolerance))
        if bound <= floor + tolerance or (len(chosen) and floor >= goal.enough) or goal.stop[0] != 0:
            break
        relaxed = _fixed(relaxed, floor + tolerance)
        if len(relaxed.r) == 0:
            bound = floor + tolerance
        if len(relaxed.r) == 0 or beam == goal.states:
            break
        record.numbers[SCORE] = floor
        # A search takes far longer than the rounds before it, so rounds that make it shorter pay off.
        beam = min(4 * beam, goal.states)
        rounds *= 3
    seen = record.numbers[ROUNDS]
    is_open = bound > floor + tolerance
    return PhraseOutcome(
        chosen, bound, is_open, relaxed.links.numbers, relaxed.usage / seen, relaxed.best, int(seen)
    )
