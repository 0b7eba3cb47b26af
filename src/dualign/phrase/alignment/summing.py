"""Sums over all phrase alignments, and the share of each link in them (DeNero & Klein 2008, problems S and
E).

    S = Σ_a Π_{links of a} φ(link)        E(link) = Σ_{a with link} Π φ / S

Both are #P-hard. The dynamic program walks over the words of the longer side and keeps, for each set of
covered words of the shorter side, the sum of the ways there. Where no row has more sets than `states`, that
is **exact**.

Where a row has more, they are thinned at random, without bias (Fearnhead & Clifford 2003): a set of weight q
stays with probability `p = min(1, q / c)`, with c for the number that shall be left, and counts 1/p. The
expectation over the draws is the true sum, and so it is for the sums with a link. Independent runs give the
**standard error**. The weight q is the sum so far times a guess at what follows, `Π_{y uncovered} exp μ_y`,
with μ such that paths that need not cover every column once cover it once on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import Infeasible, UsageError
from dualign.core.jit import kernel
from dualign.phrase.alignment.aligning import align_pair
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
from dualign.phrase.alignment.weighted import LinkWeights, PhraseLink, WeightedPair, weighted_pair

STATES = 1 << 14
"""Sets of covered words a row up to which sums are exact."""

RUNS = 16
_SAMPLED = 1 << 10  # what a run keeps at most: all of them together take about as long as an exact walk
_BALANCING = 30
_RARELY = 1e-12


@dataclass(frozen=True, slots=True)
class Sums:
    """The sum and the expectations of one sentence pair."""

    log_total: float
    """log S."""
    standard_error: float
    """Of S, relative to S, and so that of log S; 0 if exact."""
    exact: bool
    """Whether nothing was left to chance."""
    expectations: dict[PhraseLink, float] = field(repr=False)
    """E of each link that was given."""
    expectation_errors: dict[PhraseLink, float] = field(repr=False)
    """Their standard errors."""


def total(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    *,
    states: int = STATES,
    runs: int = RUNS,
    seed: int = 1,
) -> float:
    """log S; raises `Infeasible` if there is no alignment. See `sums` for the parameters and the error."""
    return sums(weights, source_length, target_length, states=states, runs=runs, seed=seed).log_total


def expectations(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    *,
    states: int = STATES,
    runs: int = RUNS,
    seed: int = 1,
) -> dict[PhraseLink, float]:
    """E of each link; raises `Infeasible` if there is no alignment. See `sums`."""
    return sums(weights, source_length, target_length, states=states, runs=runs, seed=seed).expectations


def sums(
    weights: LinkWeights,
    source_length: int,
    target_length: int,
    *,
    states: int = STATES,
    runs: int = RUNS,
    seed: int = 1,
) -> Sums:
    """Sum and expectations of a sentence pair; `weights` as in `dualign.phrase.align`.

    Exact while no row has more than `states` sets of covered words; else the mean of `runs` runs that keep
    that many, or 1,024 if that is less, seeded by `seed`, with its standard error. Raises `Infeasible` if
    there is no alignment.
    """
    for name, value, least in (("states", states, 1), ("runs", runs, 2), ("seed", seed, 0)):
        if value < least:
            raise UsageError(f"{name}={value} must be at least {least}")
    pair = weighted_pair(weights, source_length, target_length)
    empty = dict.fromkeys(((i, j, k, l) for i, j, k, l in weights), 0.0)
    if pair.source_length == pair.target_length == 0:
        return Sums(0.0, 0.0, True, {}, {})
    logs, shares, exact = _runs(pair, states, runs, seed)
    if not len(logs) or not np.isfinite(logs).any():
        if not exact:
            align_pair(pair)  # raises if there is none; an alignment that all runs missed is for the caller
            raise UsageError(f"no run met an alignment, though there are some; use more states than {states}")
        raise Infeasible(
            f"there is no phrase alignment of {pair.source_length} and {pair.target_length} words with these "
            f"{len(pair.weights)} links; that is proved"
        )
    top = logs.max()
    sizes = np.exp(logs - top)
    mean = sizes.mean()
    share = (sizes[:, None] * shares).mean(axis=0) / mean
    if exact:
        error, errors = 0.0, np.zeros(len(share))
    else:
        scale = mean * math.sqrt(len(logs) * (len(logs) - 1))
        error = math.sqrt(((sizes - mean) ** 2).sum()) / scale
        errors = np.sqrt(((sizes[:, None] * (shares - share)) ** 2).sum(axis=0)) / scale
    links = [pair.link(n) for n in range(len(share))]
    return Sums(
        float(top + math.log(mean)),
        error,
        exact,
        empty | dict(zip(links, share.tolist(), strict=True)),
        empty | dict(zip(links, errors.tolist(), strict=True)),
    )


def _runs(pair: WeightedPair, states: int, runs: int, seed: int) -> tuple[Array, Array, bool]:
    """log S and expectations [runs, links] of each run, and whether one run was enough, being exact."""
    spans, weights = pair.spans, pair.weights
    order = np.arange(len(weights))
    height, width = pair.source_length, pair.target_length
    if height < width:
        order = np.lexsort((spans[:, 1], spans[:, 0], spans[:, 3], spans[:, 2]))
        spans, weights = np.ascontiguousarray(spans[order][:, [2, 3, 0, 1]]), weights[order]
        height, width = width, height
    alive = np.ones(len(weights), np.bool_)
    consistent(spans, alive, height, width)
    if not alive.any():
        return np.empty(0), np.empty((0, len(order))), True
    spans, weights, order = np.ascontiguousarray(spans[alive]), weights[alive], order[alive]
    mu = balance(spans, weights, height, width, _BALANCING)
    log_total, share, exact = _walk(spans, weights, mu, height, states, np.empty(0))
    logs, shares = [log_total], [share]
    if not exact:
        random = np.random.Generator(np.random.PCG64(seed))
        kept = min(states, _SAMPLED)
        walks = [_walk(spans, weights, mu, height, kept, random.random(height + 1)) for _ in range(runs)]
        logs, shares = [walk[0] for walk in walks], [walk[1] for walk in walks]
    every = np.zeros((len(logs), len(pair.weights)))
    every[:, order] = shares
    return np.array(logs), every, exact


@kernel()
def _add(a: float, b: float) -> float:
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@kernel()
def balance(spans: Array, weights: Array, height: int, width: int, rounds: int) -> Array:
    """Multipliers [J] for which a random path covers each column about once."""
    begin = rows_of(spans, height)
    mu = np.zeros(width)
    charge = np.zeros(width + 1)
    r = np.empty(len(weights))
    for _ in range(rounds):
        for y in range(width):
            charge[y + 1] = charge[y] + mu[y]
        for a in range(len(r)):
            r[a] = weights[a] - (charge[spans[a, 3]] - charge[spans[a, 2]])
        behind = np.full(height + 1, -np.inf)
        behind[height] = 0.0
        for i in range(height - 1, -1, -1):
            for a in range(begin[i], begin[i + 1]):
                behind[i] = _add(behind[i], r[a] + behind[spans[a, 1]])
        before = np.full(height + 1, -np.inf)
        before[0] = 0.0
        covered = np.zeros(width)
        for i in range(height):
            for a in range(begin[i], begin[i + 1]):
                j = spans[a, 1]
                before[j] = _add(before[j], before[i] + r[a])
                share = np.exp(before[i] + r[a] + behind[j] - behind[0])
                for y in range(spans[a, 2], spans[a, 3]):
                    covered[y] += share
        for y in range(width):
            mu[y] += 0.5 * np.log(max(covered[y], _RARELY))
    return mu


@kernel()
def _cut(weights: Array, limit: int) -> float:
    """c with Σ min(1, weights / c) = limit, for more than `limit` weights > 0."""
    weights = np.sort(weights)
    rest = weights.sum()
    for n in range(len(weights) - 1, -1, -1):
        # The larger ones stay for sure; do the others fit in the places that are left?
        places = limit - (len(weights) - 1 - n)
        if weights[n] * places <= rest:
            return rest / places
        rest -= weights[n]
    return 0.0


@kernel()
def _walk(
    spans: Array, weights: Array, mu: Array, height: int, limit: int, draws: Array
) -> tuple[float, Array, bool]:
    """One run: log S, the expectation of each link, and whether nothing was thinned.

    `draws` [I + 1] are uniform in 0..1, one for the thinning of each row; if empty, the walk ends at the
    first row that would have to be thinned.
    """
    width = len(mu)
    words = (width + 63) // 64
    begin = rows_of(spans, height)
    columns = link_masks(spans, words)
    due = due_columns(spans, columns, height)
    charge = np.zeros(width + 1)
    for y in range(width):
        charge[y + 1] = charge[y] + mu[y]

    size = 1 << 10
    masks = np.zeros((size, words), np.uint64)
    rows = np.empty(size, np.int64)
    sums = np.empty(size)  # log of the sum of the ways to a state
    guess = np.empty(size)  # Σ μ of its columns
    gone = np.empty(size)  # −log of the probability to stay, +∞ once dropped
    following = np.empty(size, np.int64)
    table = np.full(4 * size, NO_STATE, np.int64)
    heads = np.full(height + 1, NO_STATE, np.int64)
    counts = np.zeros(height + 1, np.int64)
    rows[0], sums[0], guess[0], gone[0], following[0] = 0, 0.0, 0.0, 0.0, NO_STATE
    heads[0] = 0
    counts[0] = 1
    mask = np.zeros(words, np.uint64)
    table[slot_of(masks, rows, table, 0, mask)] = 0
    used = 1
    exact = True
    for i in range(height):
        if counts[i] > limit:
            exact = False
            if len(draws) == 0:
                break
            top = -np.inf
            state = heads[i]
            while state != NO_STATE:
                top = max(top, sums[state] - guess[state])
                state = following[state]
            values = np.empty(counts[i])
            n = 0
            state = heads[i]
            while state != NO_STATE:
                # None is so light that it could not be drawn: its share, divided by its chance, stays finite.
                values[n] = max(np.exp(sums[state] - guess[state] - top), 1e-200)
                n += 1
                state = following[state]
            c = _cut(values, limit)
            due_draw = draws[i]
            passed = 0.0
            n = 0
            state = heads[i]
            while state != NO_STATE:
                chance = values[n] / c
                if chance < 1.0:
                    passed += chance
                    if passed > due_draw:
                        due_draw += 1.0
                        gone[state] = -np.log(chance)
                        sums[state] += gone[state]
                    else:
                        gone[state] = np.inf
                n += 1
                state = following[state]
        state = heads[i]
        while state != NO_STATE:
            if gone[state] == np.inf:
                state = following[state]
                continue
            for a in range(begin[i], begin[i + 1]):
                j = spans[a, 1]
                if not extended(masks, state, columns, a, due, j, mask):
                    continue
                slot = slot_of(masks, rows, table, j, mask)
                other = table[slot]
                if other != NO_STATE:
                    sums[other] = _add(sums[other], sums[state] + weights[a])
                    continue
                if used == size:
                    size *= 2
                    masks = wider(masks)
                    rows, sums, guess = longer(rows), longer(sums), longer(guess)
                    gone, following = longer(gone), longer(following)
                    table = rehashed(masks, rows, used)
                    slot = slot_of(masks, rows, table, j, mask)
                for word in range(words):
                    masks[used, word] = mask[word]
                rows[used] = j
                sums[used] = sums[state] + weights[a]
                guess[used] = guess[state] + charge[spans[a, 3]] - charge[spans[a, 2]]
                gone[used] = 0.0
                following[used] = heads[j]
                heads[j] = used
                counts[j] += 1
                table[slot] = used
                used += 1
            state = following[state]
    shares = np.zeros(len(weights))
    last = heads[height]
    if last == NO_STATE or (not exact and len(draws) == 0):
        return -np.inf, shares, exact
    log_total = sums[last]
    # States are behind those they come from, except within a row, where there are no steps.
    behind = np.full(used, -np.inf)
    behind[last] = 0.0
    for i in range(height - 1, -1, -1):
        state = heads[i]
        while state != NO_STATE:
            if gone[state] == np.inf:
                state = following[state]
                continue
            for a in range(begin[i], begin[i + 1]):
                if not extended(masks, state, columns, a, due, spans[a, 1], mask):
                    continue
                other = table[slot_of(masks, rows, table, spans[a, 1], mask)]
                if other == NO_STATE or gone[other] == np.inf or behind[other] == -np.inf:
                    continue
                way = weights[a] + gone[other] + behind[other]
                behind[state] = _add(behind[state], way)
                shares[a] += np.exp(sums[state] + way - log_total)
            state = following[state]
    return log_total, shares, exact
