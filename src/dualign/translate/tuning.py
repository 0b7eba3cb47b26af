"""Minimum error rate training of feature weights on lists of translations (Och 2003).

Along a line `w + t d` the score of each translation is linear in t, so the best translation of a sentence
changes at the corners of an upper envelope, and BLEU is constant between corners. All corners of all
sentences, sorted, give BLEU on the whole line exactly. Lines go along each weight and in random directions;
from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dualign.core.arrays import Array
from dualign.measure.bleu import bleu_of_counts

__all__ = ["Candidates", "tune_weights"]


@dataclass
class Candidates:
    """Translations of one sentence: `features` float64 (n, F), `counts` float64 (n, 10) for BLEU."""

    features: list[Array] = field(default_factory=list)
    counts: list[Array] = field(default_factory=list)
    seen: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, words: tuple[str, ...], features: Array, counts: Array) -> None:
        """Take note of a translation, unless the same words are there already with the same features."""
        key = (*words, "|||", *map(str, np.round(features, 6).tolist()))
        if key not in self.seen:
            self.seen.add(key)
            self.features.append(features)
            self.counts.append(counts)


def tune_weights(
    lists: list[Candidates], weights: Array, *, seed: int = 1, restarts: int = 4, directions: int = 8
) -> tuple[Array, float]:
    """Weights with the best BLEU of the sentences' best candidates; returns them and this BLEU."""
    rng = np.random.default_rng(seed)
    features = [np.array(entry.features) for entry in lists if entry.features]
    counts = [np.array(entry.counts) for entry in lists if entry.features]
    best, top = weights.copy(), _value(features, counts, weights)
    for restart in range(restarts + 1):
        now = best.copy()
        if restart:
            now = now + rng.normal(0.0, 0.3 * np.abs(weights) + 0.05)
        value = _value(features, counts, now)
        for _ in range(20):
            gain = 0.0
            lines = [*np.eye(len(weights)), *rng.normal(size=(directions, len(weights)))]
            for line in lines:
                step, reached = _line_search(features, counts, now, line)
                if reached > value + 1e-9:
                    gain += reached - value
                    now, value = now + step * line, reached
            if gain < 0.01:
                break
        if value > top + 1e-9:
            best, top = now, value
    # The scale of weights changes no translation; keep that of the start.
    norm = np.abs(best).sum()
    return best * (np.abs(weights).sum() / norm if norm > 0 else 1.0), top


def _value(features: list[Array], counts: list[Array], weights: Array) -> float:
    total = sum(c[int(np.argmax(f @ weights))] for f, c in zip(features, counts, strict=True))
    return float(bleu_of_counts(np.asarray(total), smooth=1.0))


def _line_search(
    features: list[Array], counts: list[Array], weights: Array, line: Array
) -> tuple[float, float]:
    """The middle of the interval of t with the best BLEU, and that BLEU."""
    places: list[float] = []
    changes: list[Array] = []
    total = np.zeros(counts[0].shape[1])
    for f, c in zip(features, counts, strict=True):
        order, corners = envelope(f @ line, f @ weights)
        total += c[order[0]]
        for corner, before, after in zip(corners, order, order[1:], strict=False):
            places.append(corner)
            changes.append(c[after] - c[before])
    if not places:
        return 0.0, float(bleu_of_counts(total, smooth=1.0))
    ranked = np.argsort(places, kind="stable")
    at = np.array(places)[ranked]
    sums = total + np.concatenate((np.zeros((1, len(total))), np.cumsum(np.array(changes)[ranked], axis=0)))
    value = bleu_of_counts(sums, smooth=1.0)
    edges = np.concatenate(([at[0] - 1.0], at, [at[-1] + 1.0]))
    width = np.diff(edges)
    value = np.where(width > 1e-9, value, -1.0)
    best = int(np.argmax(value))
    return float(0.5 * (edges[best] + edges[best + 1])), float(value[best])


def envelope(slope: Array, height: Array) -> tuple[list[int], list[float]]:
    """Lines that are highest somewhere, from left to right, and where each gives way to the next."""
    chain: list[int] = []
    corners: list[float] = []
    slopes, heights = slope.tolist(), height.tolist()
    for i in np.lexsort((height, slope)).tolist():
        while chain:
            last = chain[-1]
            if slopes[i] == slopes[last]:
                # Parallel; in this order the later one is the higher.
                at = float("-inf") if len(chain) == 1 else corners[-1]
            else:
                at = (heights[last] - heights[i]) / (slopes[i] - slopes[last])
                if not corners or at > corners[-1]:
                    corners.append(at)
                    break
            chain.pop()
            if corners and len(corners) >= len(chain) and chain:
                corners.pop()
        chain.append(i)
    return chain, corners
