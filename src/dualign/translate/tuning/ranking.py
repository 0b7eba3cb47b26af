"""Pairwise ranking of translations (PRO, Hopkins & May 2011): weights that order lists as BLEU does.

Of each sentence, pairs of candidates are drawn; those that differ most in smoothed sentence BLEU are kept.
With x = features of the better minus those of the worse, divided by their root mean squares σ, the weights
minimise the strictly convex

    f(w) = mean log(1 + exp(−w·x)) + ½ λ ‖w − w₀‖²        (w, w₀ times σ)

by Newton's method, where w₀ are the weights of the round before. Unlike the corners of BLEU's own surface,
its one minimum moves little when the lists change a little: tuning is steadier than by `mert`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dualign.core.arrays import Array
from dualign.measure.bleu import bleu_of_counts
from dualign.translate.tuning.mert import Candidates

DRAWN, KEPT = 5000, 50
"""Pairs that are drawn of each sentence, and those with the largest differences that are kept."""

LEAST_DIFFERENCE = 5.0
"""In BLEU; a smaller one is no reason to prefer a translation."""

STRENGTH = 1e-3
"""λ, the pull towards the weights of the round before."""


def rank_weights(lists: Sequence[Candidates], weights: Array, *, seed: int = 1) -> Array:
    """Weights (F) that rank candidates best; with the same sum of sizes as `weights`.

    Weights of features that are the same in all pairs stay, and so do all if no two candidates differ enough.
    """
    rng = np.random.default_rng(seed)
    drawn = [_pairs(entry, rng) for entry in lists if len(entry.features) > 1]
    differences = np.concatenate([*drawn, np.empty((0, len(weights)))])
    scale = np.sqrt((differences**2).mean(axis=0)) if len(differences) else np.zeros(len(weights))
    free = scale > 1e-9
    if not free.any():
        return weights
    x = differences[:, free] / scale[free]
    found = weights.copy()
    found[free] = minimise(x, weights[free] * scale[free]) / scale[free]
    size = float(np.abs(found[free]).sum())
    if size > 0:
        found[free] *= float(np.abs(weights[free]).sum() or 1.0) / size
    return found


def _pairs(entry: Candidates, rng: np.random.Generator) -> Array:
    """Differences (at most KEPT, F) of pairs of candidates, the better minus the worse."""
    features = np.array(entry.features)
    value = bleu_of_counts(np.array(entry.counts), smooth=1.0)
    one, other = np.unique(np.sort(rng.integers(0, len(features), (2, DRAWN)), axis=0), axis=1)
    gain = value[one] - value[other]
    most = np.argsort(-np.abs(gain), kind="stable")[:KEPT]
    most = most[np.abs(gain[most]) >= LEAST_DIFFERENCE]
    return (features[one] - features[other])[most] * np.sign(gain[most])[:, None]


def objective(x: Array, w: Array, start: Array) -> tuple[float, Array, Array]:
    """f(w) for differences x (n, F), its gradient (F) and its Hessian (F, F)."""
    margin = x @ w
    wrong = np.exp(-np.logaddexp(0.0, margin))
    value = np.logaddexp(0.0, -margin).mean() + 0.5 * STRENGTH * ((w - start) ** 2).sum()
    gradient = -(wrong @ x) / len(x) + STRENGTH * (w - start)
    hessian = (x.T * (wrong * (1.0 - wrong))) @ x / len(x) + STRENGTH * np.eye(len(w))
    return float(value), gradient, hessian


def minimise(x: Array, start: Array, rounds: int = 100) -> Array:
    """The minimum of f, from w₀ = `start`; steps are halved until they go down."""
    w = start
    value, gradient, hessian = objective(x, w, start)
    for _ in range(rounds):
        step = np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)
        if decrease < 1e-14:
            break
        size = 1.0
        while size > 1e-10:
            tried = objective(x, w - size * step, start)
            if tried[0] <= value - 1e-4 * size * decrease:
                w = w - size * step
                value, gradient, hessian = tried
                break
            size *= 0.5
        else:
            break
    return w
