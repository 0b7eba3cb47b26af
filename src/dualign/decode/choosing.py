"""Links of a block of sentence pairs from their posteriors: the kernel behind every word-alignment decoder.

All decoders share the link probability, the mean of the two directions' posteriors (after projection if one
is asked for), and the value of a set of links, Σ (probability − threshold). They choose differently:

- soft union: the links whose probability is over the threshold, which have the greatest value there is; each
  pair may have a threshold of its own, that of the greatest expected F1 (`fitting_threshold`); in the style
  `full`, words that have no link then join their neighbours' (`grow`);
- posterior: in each direction the links whose own posterior is over the threshold; then symmetrised;
- viterbi: each direction's most probable path; then symmetrised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._search.certificate import met
from dualign.decode.symmetrize import symmetrize_links
from dualign.hmm.batched_chains import close_gains, emissions, jumps_of
from dualign.hmm.blocks import Block, lengths_of
from dualign.hmm.viterbi import best_choices, priors_of, viterbi

LEAST = 0.25
"""No pair's own threshold is lower."""

STEPS = 100
"""Far more than it takes to find that threshold, unless there is no number to find."""

PRIOR_LINKS, PRIOR_QUALITY = 50.0, 0.9
"""Links, the model's and true ones together, that each pair is taken to have beside its own, and their F1."""

GROWN = 0.2
"""Style `full`: a word without links joins its neighbour's if its own posterior of that link is over this."""


class LinkBuffer(NamedTuple):
    """Links of the block's pairs: those of pair n are at `room[n]` … `room[n] + number[n]`.

    `source`, `target` int32; `probability` float32; `number` int32 (pairs); `score` float64 (pairs): what
    the links are worth, here Σ (probability − threshold); `bound` float64 (pairs): the most that any set is;
    `certified` bool (pairs): they have met.
    """

    room: Array
    number: Array
    source: Array
    target: Array
    probability: Array
    score: Array
    bound: Array
    certified: Array


@kernel
def mark_paths(block: Block, marks: Array) -> None:
    """Mark each direction's most probable path in `marks`, uint8 (slots, 2)."""
    for n in range(len(block.first) - 1):
        I, J = lengths_of(n, block.pairs)
        if I == 0 or J == 0:
            continue
        E0, E1, null0, null1 = emissions(n, block)
        own = marks[block.first[n] : block.first[n + 1]].reshape(I, J, 2)
        mark_path(n, 0, block, E0, null0, own[:, :, 0].T)
        mark_path(n, 1, block, E1, null1, own[:, :, 1])


@part
def mark_path(n: int, d: int, block: Block, E: Array, null: Array, marks: Array) -> None:
    """Mark the most probable path of direction d, whose emissions are given, in `marks` (R, S)."""
    R, S = E.shape
    path = np.empty(R, np.int32)
    if len(block.prior) > 0:
        by_target, by_source = priors_of(n, *lengths_of(n, block.pairs), block)
        best_choices(R, S, E, null, by_target if d == 0 else by_source, path)
    else:
        jumps, gain = jumps_of(n, d, block), close_gains(n, d, block)
        viterbi(E, null, block.weights[d], jumps, gain, np.empty((2, R, S), np.int32), path)
    for r in range(R):
        if path[r] >= 0:
            marks[r, path[r]] = 1


@kernel
def mark_over_threshold(threshold: float, posterior: Array, marks: Array) -> None:
    """Mark the links over the threshold, each direction by its own posterior."""
    for c in range(len(marks)):
        marks[c, 0] = posterior[c, 0] > threshold
        marks[c, 1] = posterior[c, 1] > threshold


@part(allocates=False)
def link_probability(posterior: Array, c: int) -> Any:
    """The mean of both directions' posteriors of the link in slot c, float32; rounding may put it over 1."""
    return np.float32(0.5) * (posterior[c, 0] + posterior[c, 1])


@part(allocates=False)
def prove(n: int, score: float, bound: float, found: LinkBuffer) -> None:
    """Write what the links of pair n are worth, and the most that any are."""
    found.score[n] = score
    found.bound[n] = bound
    found.certified[n] = met(score, bound)


@part(allocates=False)
def put_link(i: int, j: int, mean: float, c: int, found: LinkBuffer) -> int:
    """Write a link at place c; returns the next."""
    found.source[c] = i
    found.target[c] = j
    found.probability[c] = min(mean, np.float32(1))  # rounding may exceed it
    return c + 1


@kernel
def choose_over_threshold(
    block: Block, threshold: float, full: bool, posterior: Array, found: LinkBuffer
) -> None:
    """The soft union: list the links whose probability is over the threshold; 0 means the pair's own.

    In the style `full`, words without links join their neighbours.
    """
    least = threshold if threshold > 0 else np.float64(LEAST)
    for n in range(len(found.number)):
        I, J = lengths_of(n, block.pairs)
        c = found.room[n]
        total = 0.0
        for i in range(I):
            for j in range(J):
                mean = link_probability(posterior, block.first[n] + i * J + j)
                total += mean
                if mean > least:
                    c = put_link(i, j, mean, c, found)
        t = keep_over_threshold(n, c, threshold, total, found)
        if full and found.number[n] > 0:
            grow(n, t, block, posterior, found)


@part
def grow(n: int, t: float, block: Block, posterior: Array, found: LinkBuffer) -> None:
    """Add to the links L of pair n, which has the threshold t, those of words that have none in L.

    Target word j joins its neighbour's link i-(j ± 1) in L if p(b_j = i) > GROWN, source word i its
    neighbour's (i ± 1)-j if p(a_i = j) > GROWN. A link that joined is not a neighbour for others.
    """
    I, J = lengths_of(n, block.pairs)
    begin = c = found.room[n]
    # A border of zeros: no word stands before the first or after the last.
    own = np.zeros((I + 2, J + 2), np.uint8)
    source, target = np.zeros(I, np.uint8), np.zeros(J, np.uint8)
    for k in range(begin, begin + found.number[n]):
        i, j = found.source[k], found.target[k]
        own[i + 1, j + 1] = source[i] = target[j] = 1
    score = 0.0
    for i in range(I):
        for j in range(J):
            slot = block.first[n] + i * J + j
            joins = not target[j] and posterior[slot, 0] > GROWN and (own[i + 1, j] or own[i + 1, j + 2])
            if not joins and not source[i] and posterior[slot, 1] > GROWN:
                joins = own[i, j + 1] or own[i + 2, j + 1]
            if joins or own[i + 1, j + 1]:
                mean = link_probability(posterior, slot)
                score += min(mean, np.float32(1)) - t
                c = put_link(i, j, mean, c, found)
    found.number[n] = c - begin
    prove(n, score, found.bound[n], found)


@part(allocates=False)
def keep_over_threshold(n: int, end: int, threshold: float, total: float, found: LinkBuffer) -> float:
    """Of the links of pair n, which end at `end`, keep those over the threshold, which is returned; 0 means
    the pair's own."""
    begin = c = found.room[n]
    t = threshold if threshold > 0 else fitting_threshold(found.probability[begin:end], total)
    score = 0.0
    for k in range(begin, end):
        p = found.probability[k]
        if p > t:
            score += p - t
            c = put_link(found.source[k], found.target[k], p, c, found)
    found.number[n] = c - begin
    prove(n, score, score, found)
    return t


@kernel
def keep_candidates(threshold: float, total: Array, found: LinkBuffer) -> None:
    """`keep_over_threshold` for all pairs, whose numbers of links are there; `total` float64 (pairs)."""
    for n in range(len(found.number)):
        keep_over_threshold(n, found.room[n] + found.number[n], threshold, total[n], found)


@part(allocates=False)
def fitting_threshold(probability: Array, total: float) -> float:
    """The threshold t for which the links L over it have the greatest expected F1, κ prior links included:

        F(L) = (2 Σ_L p + κ f) / (|L| + Σ p + κ),    t = max(F / 2, LEAST).

    `probability` (≥ LEAST each): of the links that come into question; `total`: Σ p of all. To take a link
    raises F if and only if its p > F / 2, so F / 2 of the links over t is a better t until it is t itself
    (Dinkelbach's method).
    """
    t = PRIOR_QUALITY / 2
    better = t
    for _ in range(STEPS):
        inside = 0.0
        number = 0
        for p in probability:
            if p > t:
                inside += p
                number += 1
        better = (inside + PRIOR_LINKS * PRIOR_QUALITY / 2) / (number + total + PRIOR_LINKS)
        if abs(better - t) < 1e-9:
            break
        t = better
    return max(better, LEAST)


compiled_fitting_threshold = kernel(fitting_threshold)


@kernel
def choose_links(
    block: Block, method: int, threshold: float, posterior: Array, marks: Array, found: LinkBuffer
) -> None:
    """Symmetrise the marks of both directions by `method`, and list the links with their probabilities."""
    first = block.first
    for n in range(len(found.number)):
        I, J = lengths_of(n, block.pairs)
        own = marks[first[n] : first[n + 1]].reshape(I, J, 2)
        chosen = np.empty((I, J), np.uint8)
        symmetrize_links(own[:, :, 0], own[:, :, 1], method, chosen)
        list_links(n, chosen, posterior[first[n] : first[n + 1]], found)
        score = bound = 0.0
        for i in range(I):
            for j in range(J):
                worth = link_probability(posterior, first[n] + i * J + j) - threshold
                bound += max(0.0, worth)
                if chosen[i, j]:
                    score += worth
        prove(n, score, bound, found)


@part(allocates=False)
def list_links(n: int, chosen: Array, posterior: Array, found: LinkBuffer) -> None:
    """List the links of pair n that are `chosen`, uint8 (I, J), with their probabilities."""
    I, J = chosen.shape
    c = found.room[n]
    for i in range(I):
        for j in range(J):
            if chosen[i, j]:
                c = put_link(i, j, link_probability(posterior, i * J + j), c, found)
    found.number[n] = c - found.room[n]
