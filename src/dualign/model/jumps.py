"""Jump and start weights: their initial values and their maximum-likelihood update.

A chain at position i' of S states jumps to i with probability w(i − i') / Z(S, i'), where Z sums the weights
of the jumps that stay inside. The expected log-likelihood is therefore

    Σ_d n_d log w(d) − Σ_{S, i'} m(S, i') log Z(S, i'),     Z = Σ_d available(d; S, i') w(d),

with n_d expected jumps and m expected departures. Its maximum has no closed form (relative frequencies
ignore that Z depends on the borders), but `w(d) ← n_d / Σ m · available(d) / Z` never lowers it: the
minorise-maximise step of choice models. Starts are the case of one departure a sentence.
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.model.chain import FAR, FLOOR, NULL, NULL_FLOOR, REACH, START, STARTS, WEIGHTS

__all__ = ["initial_weights", "update_weights"]

STEPS = 20
PRIOR = 1.0
NEAR = np.exp(-0.3 * np.abs(np.arange(-REACH, REACH + 2) - 1))
"""Initial weights of the jumps: a mild preference for one step forward."""

EVEN = np.ones(STARTS + 1)
"""Initial weights of the start."""


def initial_weights(null: float, floor: float) -> Array:
    """Weights (2, WEIGHTS) before training."""
    weights = np.ones((2, WEIGHTS), np.float32)
    weights[:, : FAR + 1] = NEAR
    weights[:, NULL] = null
    weights[:, FLOOR] = weights[:, NULL_FLOOR] = floor
    return weights


def update_weights(
    weights: Array, jumps: Array, departures: Array, starts: Array, lengths: tuple[Array, Array]
) -> Array:
    """New weights from the statistics of `dualign.train.expectation.Expected`.

    `lengths[d]` holds the number of states of each chain of direction d.
    """
    new = weights.copy()
    for d in range(2):
        states, position = np.nonzero(departures[d] > 0)
        leaving = departures[d][states, position]
        landing = position[:, None] + np.arange(-REACH, REACH + 1)
        near = ((landing >= 0) & (landing < states[:, None])).astype(float)
        available = np.column_stack((near, states - near.sum(axis=1)))
        far = max(leaving.sum() - jumps[d].sum(), 0.0)
        counts = np.append(jumps[d], far)
        new[d, : FAR + 1] = choice_weights(weights[d, : FAR + 1], NEAR, counts, leaving, available)

        sentences = np.bincount(lengths[d])
        states = np.flatnonzero(sentences)
        near = (np.arange(STARTS) < states[:, None]).astype(float)
        available = np.column_stack((near, states - near.sum(axis=1)))
        first = weights[d, START : START + STARTS + 1]
        new[d, START : START + STARTS + 1] = choice_weights(
            first, EVEN, starts[d], sentences[states], available
        )
    return new


def choice_weights(weights: Array, prior: Array, counts: Array, departures: Array, available: Array) -> Array:
    """Weights, adding up to 1, that raise the likelihood above.

    `counts` (K): expected choices; `departures` (N) with `available` (N, K) choices. The prior is a little
    evidence more: PRIOR departures with all choices open, made as `prior` says. It holds together the weights
    of choices that are never open at the same time, and leaves none impossible.
    """
    counts = counts + PRIOR * prior / prior.sum()
    departures = np.append(departures, PRIOR)
    available = np.vstack((available, np.ones(len(counts))))
    w = weights / weights.sum(dtype=float)
    for _ in range(STEPS):
        w = counts / ((departures / (available @ w)) @ available)
        w /= w.sum()
    return w
