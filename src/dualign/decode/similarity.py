"""Links from similarities of words, such as cosines of embeddings: the decoders that neural aligners use.

- `argmax`: i-j if j is the best of row i and i the best of column j.
- `itermax`: argmax, then again for the words that are left. Where exactly one of the two words is linked, a
  score counts less; where both are, not at all. Up to `rounds` in all, as long as new links come. A pair with
  at most two words on a side has one round. (Jalili Sabet et al. 2020, §2.2; the links of SimAlign.)
- `softmax`: i-j if exp S_ij over its row's sum and exp S_ij over its column's sum are both over the
  threshold. (Dou & Neubig 2021, §2.1; the links of awesome-align.)

The first of equal scores is the best. Matrices are float64 (I, J), finite, and may be negative. None of these
maximises anything over sets of links, so that there is no bound to report.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dualign._core.arrays import Array
from dualign.decode.choosing import LEAST, compiled_fitting_threshold

DISCOUNT = 0.1
"""How much less a score counts, as a share of it, if one of its words is linked already."""

SOFTMAX_THRESHOLD = 1e-3


def argmax(scores: Array, threshold: float = 0.0) -> Array:
    """Which cells are the best of their row and of their column, and over the threshold: bool (I, J)."""
    scores = np.asarray(scores)
    chosen = np.zeros(scores.shape, np.bool_)
    if scores.size:
        rows = np.arange(len(scores))
        best = scores.argmax(axis=1)
        mutual = scores.argmax(axis=0)[best] == rows
        chosen[rows[mutual], best[mutual]] = True
    return chosen & (scores > threshold)


def itermax(scores: Array, threshold: float = 0.0, rounds: int = 2) -> Array:
    """Argmax in several rounds: bool (I, J)."""
    scores = np.asarray(scores)
    chosen = argmax(scores, -np.inf)
    if min(scores.shape) > 2:
        for _ in range(rounds - 1):
            source, target = chosen.any(axis=1, keepdims=True), chosen.any(axis=0, keepdims=True)
            if source.all() or target.all():
                break
            left = np.where(source | target, scores - DISCOUNT * np.abs(scores), scores)
            left[source & target] = -np.inf
            more = argmax(left, -np.inf)
            if not more.any():
                break
            chosen |= more
    return chosen & (scores > threshold)


def softmax(scores: Array, threshold: float = SOFTMAX_THRESHOLD) -> Array:
    """Which cells have a large share of their row and of their column: bool (I, J)."""
    scores = np.asarray(scores)
    chosen = np.ones(scores.shape, np.bool_)
    if scores.size:
        for axis in (0, 1):
            power = np.exp(scores - scores.max(axis=axis, keepdims=True))
            chosen &= power / power.sum(axis=axis, keepdims=True) > threshold
    return chosen


def own_threshold(probabilities: Array) -> float:
    """The threshold that the aligner's soft union gives to a pair with these link probabilities."""
    likely = probabilities[probabilities > LEAST].astype(np.float32)
    return float(compiled_fitting_threshold(likely, float(probabilities.sum(dtype=float))))


def over_threshold(scores: Array, threshold: float = 0.0) -> Array:
    """Which cells are over the threshold, or over the pair's own if it is 0: bool (I, J)."""
    return scores > (threshold or own_threshold(scores))


Chooser = Callable[..., Array]
CHOOSERS: dict[str, tuple[Chooser, float]] = {
    "argmax": (argmax, 0.0),
    "itermax": (itermax, 0.0),
    "softmax": (softmax, SOFTMAX_THRESHOLD),
    "soft-union": (over_threshold, 0.0),
}
"""By name: what chooses cells of a matrix, and its usual threshold."""
