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

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.fields import check_value
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, slot_of
from dualign.phrase.aligning import align_pair, no_alignment
from dualign.phrase.coverage import (
    CHARGED,
    RAISED,
    VALUE,
    Coverage,
    CoverageGuide,
    SpanLinks,
    States,
    charge_links,
    charges,
    compiled_consistent,
    coverage_of,
    expand,
    extended,
    first_state,
    links_of,
    log_add,
    states_of,
)
from dualign.phrase.weights import LinkWeights, PhraseLink, WeightedPair, weighted_pair

STATES = 1 << 14
"""Sets of covered words per row up to which sums are exact."""

RUNS = 16
_SAMPLED = 1 << 10  # kept per row by a run at most: all runs together take about as long as an exact walk
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


def total(weights: LinkWeights, source_length: int, target_length: int, **settings: int) -> float:
    """log S; raises `Infeasible` if there is no alignment. See `sums` for the settings and the error."""
    return sums(weights, source_length, target_length, **settings).log_total


def expectations(
    weights: LinkWeights, source_length: int, target_length: int, **settings: int
) -> dict[PhraseLink, float]:
    """Return E of each link; raises `Infeasible` if there is no alignment. See `sums` for the settings."""
    return sums(weights, source_length, target_length, **settings).expectations


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
        check_value(name, value, least=least)
    pair = weighted_pair(weights, source_length, target_length)
    empty = dict.fromkeys(((i, j, k, l) for i, j, k, l in weights), 0.0)
    if pair.source_length == pair.target_length == 0:
        return Sums(0.0, 0.0, True, {}, {})
    logs, shares, exact = _runs(pair, states, runs, seed)
    if not len(logs) or not np.isfinite(logs).any():
        if not exact:
            align_pair(pair)  # raises if there is none; an alignment that all runs missed is for the caller
            raise UsageError(f"no run met an alignment, though there are some; use more states than {states}")
        raise no_alignment(pair)
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
    links = links_of(pair)
    links = compiled_consistent(links, np.ones(len(links.weights), np.bool_))
    if not len(links.weights):
        return np.empty(0), np.empty((0, len(pair.weights))), True
    mu, height = balance(links, _BALANCING), len(links.begin) - 1
    walks = [_walk(links, mu, states, np.empty(0))]
    exact = walks[0][2]
    if not exact:
        random = np.random.Generator(np.random.PCG64(seed))
        kept = min(states, _SAMPLED)
        walks = [_walk(links, mu, kept, random.random(height + 1)) for _ in range(runs)]
    every = np.zeros((len(walks), len(pair.weights)))
    every[:, links.numbers] = [shares for _, shares, _ in walks]
    return np.array([log_total for log_total, _, _ in walks]), every, exact


@kernel
def balance(links: SpanLinks, rounds: int) -> Array:
    """Return multipliers [J] for which a random path covers each column about once."""
    spans, begin, height = links.spans, links.begin, len(links.begin) - 1
    mu = np.zeros(links.width)
    r = np.empty(len(links.weights))
    for _ in range(rounds):
        charge_links(links, mu, r)
        behind = np.full(height + 1, -np.inf)
        behind[height] = 0.0
        for i in range(height - 1, -1, -1):
            for a in range(begin[i], begin[i + 1]):
                behind[i] = log_add(behind[i], r[a] + behind[spans[a, 1]])
        before = np.full(height + 1, -np.inf)
        before[0] = 0.0
        covered = np.zeros(len(mu))
        for i in range(height):
            for a in range(begin[i], begin[i + 1]):
                j = spans[a, 1]
                before[j] = log_add(before[j], before[i] + r[a])
                share = np.exp(before[i] + r[a] + behind[j] - behind[0])
                for y in range(spans[a, 2], spans[a, 3]):
                    covered[y] += share
        for y in range(len(mu)):
            mu[y] += 0.5 * np.log(max(covered[y], _RARELY))
    return mu


@part
def _cut(weights: Array, limit: int) -> float:
    """c with Σ min(1, weights / c) = limit, for more than `limit` weights > 0."""
    weights = np.sort(weights)
    rest = weights.sum()
    for n in range(len(weights) - 1, -1, -1):
        # The larger ones are sure to stay; do the others fit into the places that are left?
        places = limit - (len(weights) - 1 - n)
        if weights[n] * places <= rest:
            return rest / places
        rest -= weights[n]
    return 0.0


@part
def _thin(states: States, i: int, limit: int, draw: float) -> None:
    """Drop states of row i at random until about `limit` are left, which are raised by −log of their chance.

    `draw` is uniform in 0..1.
    """
    values, numbers = states.values, states_of(states, i)
    weights = values[:, VALUE][numbers] - values[:, CHARGED][numbers]
    top = weights.max()
    for n in range(len(numbers)):
        # No state is so light that it could never be drawn: its share, divided by its chance, stays finite.
        weights[n] = max(np.exp(weights[n] - top), 1e-200)
    c = _cut(weights, limit)
    passed = 0.0
    for n in range(len(numbers)):
        chance = weights[n] / c
        if chance < 1.0:
            passed += chance
            if passed > draw:
                draw += 1.0
                values[numbers[n], RAISED] = -np.log(chance)
                values[numbers[n], VALUE] += values[numbers[n], RAISED]
            else:
                values[numbers[n], VALUE] = -np.inf


@kernel
def _walk(links: SpanLinks, mu: Array, limit: int, draws: Array) -> tuple[float, Array, bool]:
    """Do one run; return log S, the expectation of each link, and whether nothing was thinned.

    `draws` [I + 1] are uniform in 0..1, one for the thinning of each row; if empty, the walk ends at the
    first row that would have to be thinned.
    """
    height = len(links.begin) - 1
    coverage = coverage_of(links)
    guide = CoverageGuide(
        links.weights, 0.0, np.zeros(height + 1), -np.inf, charges(mu), np.zeros(1, np.uint8)
    )
    states = first_state(height, coverage)
    exact = True
    for i in range(height):
        if states.counts[i] > limit:
            exact = False
            if len(draws) == 0:
                break
            _thin(states, i, limit, draws[i])
        states = expand(states, links, coverage, guide, i, True)
    last = states.heads[height]
    if last == EMPTY or (not exact and len(draws) == 0):
        return -np.inf, np.zeros(len(links.weights)), exact
    return states.values[last, VALUE], _shares(states, links, coverage), exact


@part
def _shares(states: States, links: SpanLinks, coverage: Coverage) -> Array:
    """Return the expectation of each link, from the last row back to the first."""
    keys, values, height = states.keys, states.values, len(links.begin) - 1
    last = states.heads[height]
    shares = np.zeros(len(links.weights))
    key = np.empty(keys.shape[1], np.uint64)
    behind = np.full(len(values), -np.inf)
    behind[last] = 0.0
    for i in range(height - 1, -1, -1):
        state = states.heads[i]
        while state != EMPTY:
            value = values[state, VALUE]
            for a in range(links.begin[i], links.begin[i] if value == -np.inf else links.begin[i + 1]):
                if not extended(keys, state, coverage, a, links.spans[a, 1], key):
                    continue
                other = states.slots[slot_of(states.slots, keys, key)]
                if other == EMPTY or values[other, VALUE] == -np.inf or behind[other] == -np.inf:
                    continue
                way = links.weights[a] + values[other, RAISED] + behind[other]
                behind[state] = log_add(behind[state], way)
                shares[a] += np.exp(value + way - values[last, VALUE])
            state = states.following[state]
    return shares
