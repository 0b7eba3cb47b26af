"""The relaxation of phrase alignment, and the search that it guides: the kernels of the exact solver.

A pair of sides: *rows* 0..I (the longer side) and *columns* 0..J. A link a covers the rows i..j−1 and the
columns k..l−1 and has weight w. A phrase alignment is a path of links from row 0 to row I that covers each
column exactly once.

**Bound.** Let the columns be covered any number of times, and charge `μ_y` for each time, with one charge
given back (Lagrange multipliers of program (2), DeNero & Klein 2008, §4.2):

    L(μ) = Σ_y μ_y + max over paths from 0 to I of Σ_a r(a),   r(a) = w(a) − Σ_{k ≤ y < l} μ_y

No alignment scores more than L(μ), for any μ, and `min L` is the linear program's value. `_tighten` descends.

**Fixing.** `Σμ + α(i) + r(a) + β(j)`, of the best ways before and behind, bounds alignments with link a; if
that is not above the best score known, a is dropped for good. So are links that no path of either side uses.

**Search.** Paths row by row, one state for each set of covered columns (two ways to the same set: the better
one stays), each with the bound `Σμ + r(so far) + β(row)`; states whose bound is not above the best score
known are dropped. If a row has too many, the best by bound stay; what was dropped bounds what was missed.
Nothing missed: the answer is proved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.phrase.alignment.coverage import (
    NO_STATE,
    consistent,
    due_columns,
    extended,
    link_masks,
    longer,
    rehashed,
    rows_of,
    slot_of,
    wider,
)

_ROUNDS = 100  # of descent between two searches
_PATIENCE = 6  # rounds without progress before the aim is brought nearer


class Outcome(NamedTuple):
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
    states: int


@kernel()
def _reduce(spans: Array, weights: Array, mu: Array, r: Array) -> float:
    """Fill r [links]; returns Σμ."""
    charge = np.zeros(len(mu) + 1)
    for y in range(len(mu)):
        charge[y + 1] = charge[y] + mu[y]
    for a in range(len(r)):
        r[a] = weights[a] - (charge[spans[a, 3]] - charge[spans[a, 2]])
    return charge[len(mu)]


@kernel()
def _behind(spans: Array, begin: Array, r: Array, beta: Array, choice: Array) -> None:
    """Fill `beta` [I + 1], the best way from each row to the last, and the link it begins with."""
    height = len(beta) - 1
    beta[height] = 0.0
    for i in range(height - 1, -1, -1):
        best = -np.inf
        chosen = -1
        for a in range(begin[i], begin[i + 1]):
            value = r[a] + beta[spans[a, 1]]
            if value > best:
                best = value
                chosen = a
        beta[i] = best
        choice[i] = chosen


@kernel()
def _lowest(spans: Array, weights: Array, begin: Array, height: int) -> float:
    """The score of the worst path; no alignment scores less."""
    worst = np.full(height + 1, np.inf)
    worst[height] = 0.0
    for i in range(height - 1, -1, -1):
        for a in range(begin[i], begin[i + 1]):
            worst[i] = min(worst[i], weights[a] + worst[spans[a, 1]])
    return worst[0]


@kernel()
def _fix(
    spans: Array, weights: Array, begin: Array, mu: Array, floor: float, height: int, alive: Array
) -> None:
    """Clear `alive` of links in no alignment above `floor`, by the bound at μ and by reachability."""
    r = np.empty(len(weights))
    total = _reduce(spans, weights, mu, r)
    beta = np.empty(height + 1)
    choice = np.empty(height, np.int64)
    _behind(spans, begin, r, beta, choice)
    alpha = np.full(height + 1, -np.inf)
    alpha[0] = 0.0
    for i in range(height):
        for a in range(begin[i], begin[i + 1]):
            alpha[spans[a, 1]] = max(alpha[spans[a, 1]], alpha[i] + r[a])
    for a in range(len(alive)):
        if total + alpha[spans[a, 0]] + r[a] + beta[spans[a, 1]] <= floor:
            alive[a] = False
    consistent(spans, alive, height, len(mu))


@kernel()
def _tighten(
    spans: Array,
    weights: Array,
    begin: Array,
    mu: Array,
    floor: float,
    tolerance: float,
    rounds: int,
    distance: float,
    usage: Array,
    path: Array,
) -> tuple[float, int, float, int]:
    """Descend on L(μ) from `mu`, which becomes the best μ met; adds to `usage` the paths met.

    Steps are Polyak's, (L − aim) / ‖g‖² with g_y = 1 − (times y is covered), where the aim is `floor` or,
    nearer, the best bound less `distance`, which shrinks while nothing gets better. Returns the best bound,
    the rounds, the distance, and the length of `path` if the last path covers each column once (then it is
    the best alignment), else −1. Stops as well when the bound is not above `floor` + `tolerance`, or when
    there is next to nothing to aim at.
    """
    height, width = len(begin) - 1, len(mu)
    r = np.empty(len(weights))
    beta = np.empty(height + 1)
    choice = np.empty(height, np.int64)
    here = mu.copy()
    best = np.inf
    stalled = 0
    done = 0
    covered = np.empty(width, np.int64)
    for done in range(1, rounds + 1):
        total = _reduce(spans, weights, here, r)
        _behind(spans, begin, r, beta, choice)
        bound = total + beta[0]
        distance = min(distance, 0.5 * (bound - floor))
        if bound < best:
            stalled = 0 if best - bound > 0.05 * distance else stalled + 1
            best = bound
            mu[:] = here
        else:
            stalled += 1
        if best <= floor + tolerance:
            return best, done, distance, -1
        if stalled >= _PATIENCE:
            distance *= 0.5
            stalled = 0
            if distance < tolerance:
                return best, done, distance, -1
        covered[:] = 0
        i = 0
        steps = 0
        while i < height:
            a = choice[i]
            usage[a] += 1
            path[steps] = a
            steps += 1
            for y in range(spans[a, 2], spans[a, 3]):
                covered[y] += 1
            i = spans[a, 1]
        norm = 0.0
        for y in range(width):
            norm += (covered[y] - 1.0) ** 2
        if norm == 0:
            mu[:] = here
            return bound, done, distance, steps
        step = (bound - max(floor, best - distance)) / norm
        for y in range(width):
            here[y] += step * (covered[y] - 1.0)
    return best, done, distance, -1


@kernel()
def _search(
    spans: Array,
    weights: Array,
    begin: Array,
    mu: Array,
    floor: float,
    tolerance: float,
    limit: int,
    path: Array,
) -> tuple[float, int, float, int]:
    """Search row by row, with at most `limit` states a row, for an alignment above `floor` + `tolerance`.

    Returns its score (−∞ if none was found) and the length of its `path`, a bound on alignments that were
    missed (−∞: none was), and the number of states.
    """
    height, width = len(begin) - 1, len(mu)
    words = (width + 63) // 64
    r = np.empty(len(weights))
    total = _reduce(spans, weights, mu, r)
    beta = np.empty(height + 1)
    choice = np.empty(height, np.int64)
    _behind(spans, begin, r, beta, choice)
    columns = link_masks(spans, words)
    due = due_columns(spans, columns, height)

    size = 1 << 10
    masks = np.zeros((size, words), np.uint64)
    rows = np.empty(size, np.int64)
    scores = np.empty(size)
    parents = np.empty(size, np.int64)
    links = np.empty(size, np.int64)
    following = np.empty(size, np.int64)
    table = np.full(4 * size, NO_STATE, np.int64)
    heads = np.full(height + 1, NO_STATE, np.int64)
    counts = np.zeros(height + 1, np.int64)

    rows[0] = 0
    scores[0] = 0.0
    parents[0] = NO_STATE
    links[0] = -1
    following[0] = NO_STATE
    heads[0] = 0
    counts[0] = 1
    mask = np.zeros(words, np.uint64)
    table[slot_of(masks, rows, table, 0, mask)] = 0
    used = 1
    missed = -np.inf
    for i in range(height):
        threshold = -np.inf
        room = limit
        if counts[i] > limit:
            values = np.empty(counts[i])
            state = heads[i]
            n = 0
            while state != NO_STATE:
                values[n] = scores[state]
                n += 1
                state = following[state]
            values.sort()
            threshold = values[counts[i] - limit]
            for n in range(counts[i] - limit, counts[i]):
                # Of states on the threshold some may have to go.
                room -= values[n] > threshold
        state = heads[i]
        while state != NO_STATE:
            keep = scores[state] > threshold
            if not keep and (counts[i] <= limit or (scores[state] == threshold and room > 0)):
                keep = True
                room -= 1
            if not keep:
                missed = max(missed, total + scores[state] + beta[i])
                state = following[state]
                continue
            for a in range(begin[i], begin[i + 1]):
                j = spans[a, 1]
                score = scores[state] + r[a]
                if total + score + beta[j] <= floor + tolerance:
                    continue
                if not extended(masks, state, columns, a, due, j, mask):
                    continue
                slot = slot_of(masks, rows, table, j, mask)
                other = table[slot]
                if other != NO_STATE:
                    if score > scores[other]:
                        scores[other] = score
                        parents[other] = state
                        links[other] = a
                    continue
                if used == size:
                    size *= 2
                    masks = wider(masks)
                    rows = longer(rows)
                    scores = longer(scores)
                    parents = longer(parents)
                    links = longer(links)
                    following = longer(following)
                    table = rehashed(masks, rows, used)
                    slot = slot_of(masks, rows, table, j, mask)
                for word in range(words):
                    masks[used, word] = mask[word]
                rows[used] = j
                scores[used] = score
                parents[used] = state
                links[used] = a
                following[used] = heads[j]
                heads[j] = used
                counts[j] += 1
                table[slot] = used
                used += 1
            state = following[state]
    # All columns are due at the last row: one state at most.
    state = heads[height]
    if state == NO_STATE:
        return -np.inf, 0, missed, used
    score = 0.0
    steps = 0
    while links[state] >= 0:
        path[steps] = links[state]
        score += weights[links[state]]
        steps += 1
        state = parents[state]
    return score, steps, missed, used


@kernel()
def solve(
    spans: Array,
    weights: Array,
    numbers: Array,
    sizes: Array,
    mu: Array,
    known: float,
    enough: float,
    tolerance: float,
    limit: int,
) -> Outcome:
    """The best alignment that scores more than `known` + `tolerance`, or what is left to search.

    Links `spans` [links, 4] (i, j, k, l, sorted), `weights` and `numbers` (by which they are reported);
    `sizes` (I, J); `mu` [J] to start from. `known` is the score of an alignment that the caller has, or −∞.
    Stops at a score of `enough`. `limit` is the number of states a row that the last search may keep.
    """
    height, width = sizes[0], sizes[1]
    mu = mu.copy()
    alive = np.ones(len(weights), np.bool_)
    consistent(spans, alive, height, width)
    spans, weights, numbers = spans[alive], weights[alive], numbers[alive]
    usage = np.zeros(len(weights))
    path = np.empty(height, np.int64)
    chosen = np.empty(0, np.int64)
    bound = known
    rounds = 0
    states = 0
    if len(weights) == 0:
        return Outcome(chosen, known, False, numbers, usage, mu, rounds, states)
    begin = rows_of(spans, height)
    # Without an alignment in hand: none scores less than the worst path.
    floor = max(known, _lowest(spans, weights, begin, height) - 1.0 - 2 * tolerance)
    bound = np.inf
    beam = min(16, limit)
    seen = 0
    distance = np.inf
    share = _ROUNDS
    while True:
        best, done, distance, steps = _tighten(
            spans, weights, begin, mu, floor, tolerance, share, distance, usage, path
        )
        rounds += done
        seen += done
        bound = min(bound, best)
        if steps >= 0:
            chosen = numbers[path[:steps]]
            return Outcome(chosen, bound, False, numbers[:0], usage[:0], mu, rounds, states)
        if bound <= floor + tolerance:
            bound = max(bound, floor)
            return Outcome(chosen, bound, False, numbers[:0], usage[:0], mu, rounds, states)
        score, steps, missed, used = _search(spans, weights, begin, mu, floor, tolerance, beam, path)
        states += used
        if score > floor:
            floor = score
            chosen = numbers[path[:steps]]
        bound = min(bound, max(missed, floor + tolerance))
        if bound <= floor + tolerance or (len(chosen) and floor >= enough):
            is_open = bound > floor + tolerance
            return Outcome(chosen, bound, is_open, numbers[:0], usage[:0], mu, rounds, states)
        alive = np.ones(len(weights), np.bool_)
        _fix(spans, weights, begin, mu, floor + tolerance, height, alive)
        if not alive.all():
            spans, weights, numbers, usage = spans[alive], weights[alive], numbers[alive], usage[alive]
            if len(weights) == 0:
                return Outcome(chosen, floor + tolerance, False, numbers, usage, mu, rounds, states)
            begin = rows_of(spans, height)
        if beam == limit:
            return Outcome(chosen, bound, True, numbers, usage / seen, mu, rounds, states)
        # A search takes longer than the rounds before it by far; what they save it is worth more of them.
        beam = min(4 * beam, limit)
        share *= 3
