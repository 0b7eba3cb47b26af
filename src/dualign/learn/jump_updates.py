"""New weights of jumps, starts and stops from expected ones.

A chain at position i' of S states jumps to i with probability w(i − i') / Z(S, i'), where Z sums the weights
of the jumps that stay inside. The expected log-likelihood is therefore

    Σ_d n_d log w(d) − Σ_jumps log Z,     Z = Σ_d available(d) w(d),

with n_d expected jumps, pseudo-counts among them. Its maximum has no closed form (relative frequencies ignore
that Z depends on the borders). Let m_d be the jumps that the weights foresee, Σ_jumps available(d) w(d) / Z.
If each row has one set of weights, `w(d) ← w(d) · n_d / m_d` never lowers the likelihood: the
minorise-maximise step of choice models. Starts are the case of one jump per sentence. (The usual weights are
estimated anew each round, so they are not a fixed prior.)

The weight of a jump is a product of up to four parts: of the word that jumps and of the next, and, if it is a
short jump, of the words at the positions that it leaves and reaches. All are updated at once, each from the n
and m of its own class:

    part(d) ← part(d) · (n_d / m_d)^η.

With η = ¼ this never lowers the likelihood either: a product of four parts is at most the mean of their
fourth powers, each taken relative to its present value, which bounds Z (generalised iterative scaling;
Darroch and Ratcliff 1972). Where few rounds are made and they do not maximise the likelihood alone, a longer
step is better (over-relaxation). Many rounds of such steps would overshoot again and again, so that the more
rounds there are, the shorter the steps.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.model.jumps import (
    BESIDE,
    INITIAL,
    INITIAL_STOPS,
    LEAST,
    LEAST_CHOSEN,
    NEAR,
    REACH,
    START,
    STARTS,
    STOP,
    Jumps,
)

STEPS = 20
PRIOR = 1.0
STOP_PRIOR = 10.0

SAFE, BOLD = 0.25, 0.8
"""Steps η: one that never lowers the likelihood, and a longer one."""

FEW = 4
"""Rounds that take the longer step; of more rounds, each takes a shorter one."""


def update_jumps(
    jumps: Jumps, expected: Array, foreseen: Array, chosen: Array, strength: float, step: float = SAFE
) -> Jumps:
    """New jumps from the statistics `jumps`, `foreseen` and `chosen` of `dualign.infer.tallies.Sums`.

    `strength`: how many jumps of the usual kind each word is taken to have made beside its own, and as many
    to it, from it and to it where it is chosen. `step`: the exponent η; where no word has weights of its own
    there are no factors, and it is 1.
    """
    after = jumps._replace(weight=jumps.weight.copy(), factor=jumps.factor.copy(), chosen=jumps.chosen.copy())
    initial = INITIAL / INITIAL.sum()
    step = step if jumps.classes > 1 else 1.0
    for d in range(2):
        counts, guesses = np.maximum(expected[d], 0), np.maximum(foreseen[d], 0)
        old = with_far(jumps.weight[d])
        shares = old / old.sum(axis=1, keepdims=True)
        # What is usual: all words together, with weights that add up to 1.
        usual = (counts[0].sum(axis=0) + PRIOR * initial) / ((guesses[0] / shares).sum(axis=0) + PRIOR)
        usual /= usual.sum()
        # A prior is evidence of jumps with all choices open; class 0 needs just what leaves none impossible.
        prior = np.full((jumps.classes, 1), strength)
        prior[0] = PRIOR
        base = np.tile(usual, (jumps.classes, 1))
        base[0] = initial
        new = old * ((counts[0] + prior * base) / (guesses[0] + prior * shares)) ** step
        after.weight[d] = np.maximum(new[:, :NEAR] / new[:, NEAR:], LEAST)
        old = with_far(jumps.factor[d])
        shares = usual * old / (usual * old).sum(axis=1, keepdims=True)
        new = old * ((counts[1] + strength * usual) / (guesses[1] + strength * shares)) ** step
        # Class 0 stays what it is: weights and factors have one level between them.
        after.factor[d, 1:] = np.clip(new[:, :NEAR] / new[:, NEAR:], LEAST, 1 / LEAST)[1:]
        for role in range(2):
            old = jumps.chosen[d, role].astype(float)
            beside = usual[REACH - BESIDE : REACH + BESIDE + 1]
            shares = beside * old / (1 - beside.sum() + (beside * old).sum(axis=1, keepdims=True))
            counts, guesses = np.maximum(chosen[d, :, role], 0)
            new = old * ((counts + strength * beside) / (guesses + strength * shares)) ** step
            after.chosen[d, role, 1:] = np.clip(new, LEAST_CHOSEN, 1 / LEAST_CHOSEN)[1:]
    return after


def with_far(weight: Array) -> Array:
    """Weights (classes, NEAR) and that of a far jump, which is 1."""
    return np.column_stack((weight, np.ones(len(weight))))


def update_starts(weights: Array, starts: Array, lengths: tuple[Array, Array]) -> Array:
    """Weights with new starts; `lengths[d]` holds the number of states of each chain of direction d."""
    new = weights.copy()
    for d in range(2):
        sentences = np.bincount(lengths[d])
        states = np.flatnonzero(sentences)
        near = (np.arange(STARTS) < states[:, None]).astype(float)
        available = np.column_stack((near, states - near.sum(axis=1)))
        first = weights[d, START : START + STARTS + 1]
        new[d, START : START + STARTS + 1] = choice_weights(first, starts[d], sentences[states], available)
    return new


def update_stops(weights: Array, stops: Array) -> Array:
    """Weights with new probabilities to stop: how often a chain did, of all rows it was at such a position.

    `stops`: see `dualign.infer.tallies.Sums`; STOP_PRIOR rows behave as before training.
    """
    new = weights.copy()
    rows, ends = stops[:, 0] + STOP_PRIOR, stops[:, 1] + STOP_PRIOR * INITIAL_STOPS
    new[:, STOP:] = np.clip(ends / rows, LEAST, 1 - LEAST)
    return new


def choice_weights(weights: Array, counts: Array, departures: Array, available: Array) -> Array:
    """Weights, adding up to 1, that raise the likelihood above.

    `counts` (K): expected choices; `departures` (N) with `available` (N, K) choices. The prior is a little
    more evidence: PRIOR departures with all choices open and equally likely. It ties together the weights of
    choices that are never open at the same time, and leaves none impossible.
    """
    counts = counts + PRIOR / len(counts)
    departures = np.append(departures, PRIOR)
    available = np.vstack((available, np.ones(len(counts))))
    w = weights / weights.sum(dtype=float)
    for _ in range(STEPS):
        # Not `@`: for a linear-algebra library these are too small, and its threads would keep cores busy.
        rates = departures / (available * w).sum(axis=1)
        w = counts / (rates[:, None] * available).sum(axis=0)
        w /= w.sum()
    return w
