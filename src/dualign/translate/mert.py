"""Minimum error rate training of feature weights on lists of translations (Och 2003).

Along a line `w + t d` the score of each translation is linear in t, so the best translation of a sentence
changes at the corners of an upper envelope, and BLEU is constant between corners. All corners of all
sentences, sorted, give BLEU on the whole line exactly. Lines go along each weight and in random directions;
from several starts. A step is taken only if BLEU grows, so that the result is never worse than the starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign.measure.translation import bleu_of_counts

LEAST_GAIN = 0.01
"""BLEU that a round over all lines must gain to be followed by another."""


@kernel
def envelopes(slope: Array, height: Array, begin: Array) -> tuple[Array, Array, Array, Array]:
    """Return for each group `begin[n] .. begin[n + 1]` of lines `height + t · slope` those that are highest
    somewhere.

    Returns `first` int64 (N), the line that is highest for t → −∞, and the corners of all groups, one after
    the other and each from left to right: `at` float64, where line `before` gives way to line `after`,
    int64. Of equal lines the first is taken. O(n log n) per group.
    """
    N = len(begin) - 1
    first = np.empty(N, np.int64)
    at, before, after = np.empty(len(slope)), np.empty(len(slope), np.int64), np.empty(len(slope), np.int64)
    count = 0
    chain = np.empty(len(slope), np.int64)
    for n in range(N):
        start = begin[n]
        ranked = np.argsort(slope[start : begin[n + 1]], kind="mergesort")
        base, size = count, 0  # corners of this group from `base`, one fewer than lines in `chain`
        for rank in ranked:
            i = start + rank
            corner = -np.inf
            below = False
            while size > 0:
                last = chain[size - 1]
                if slope[i] == slope[last]:
                    below = height[i] <= height[last]
                    if below:
                        break
                else:
                    corner = (height[last] - height[i]) / (slope[i] - slope[last])
                    if size == 1 or corner > at[base + size - 2]:
                        break
                size -= 1
            if below:
                continue
            if size > 0:
                at[base + size - 1] = corner
            chain[size] = i
            size += 1
        first[n] = chain[0]
        for k in range(size - 1):
            before[base + k], after[base + k] = chain[k], chain[k + 1]
        count = base + max(size - 1, 0)
    return first, at[:count], before[:count], after[:count]


@dataclass
class NBestFeatures:
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
    lists: Sequence[NBestFeatures],
    weights: Array,
    *,
    starts: Sequence[Array] = (),
    seed: int = 1,
    restarts: int = 4,
    directions: int = 8,
) -> tuple[Array, float]:
    """Return weights with the best BLEU of the sentences' best candidates, and this BLEU.

    The search starts from `weights`, from each of `starts`, and from `restarts` places near the best of what
    these lead to. Weights of features that are the same for all candidates of each sentence stay.
    """
    rng = np.random.default_rng(seed)
    space = _Space.of([entry for entry in lists if entry.features])
    free = space.free
    scale = float(np.abs(weights[free]).sum()) or 1.0
    best, top = weights, space.value(weights)
    for number in range(1 + len(starts) + restarts):
        now = weights if number == 0 else best
        if 1 <= number <= len(starts):
            now = np.where(free, starts[number - 1], weights)
        elif number:
            now = best + np.where(free, rng.normal(0.0, 0.5 * np.abs(best) + 0.05 * scale), 0.0)
        now, value = _climb(space, _normal(now, free, scale), directions, rng)
        if value > top:
            best, top = now, value
    return _normal(best, free, scale), top


def _normal(weights: Array, free: Array, scale: float) -> Array:
    """Return weights at a scale, which changes no translation: free ones get the sum of sizes `scale`."""
    size = float(np.abs(weights[free]).sum())
    return np.where(free, weights * (scale / size), weights) if size > 0 else weights


@dataclass(frozen=True)
class _Space:
    """All candidates, a sentence's in a row: features (n, F), counts (n, 10); `free[f]` where f matters."""

    features: Array
    counts: Array
    begin: Array
    free: Array

    @classmethod
    def of(cls, lists: Sequence[NBestFeatures]) -> _Space:
        begin = np.cumsum([0, *(len(entry.features) for entry in lists)])
        features = np.array([row for entry in lists for row in entry.features])
        counts = np.array([row for entry in lists for row in entry.counts])
        spread = np.maximum.reduceat(features, begin[:-1]) - np.minimum.reduceat(features, begin[:-1])
        return cls(features, counts, begin, spread.max(axis=0) > 1e-9)

    def value(self, weights: Array) -> float:
        """Return BLEU of the candidates that these weights choose."""
        first, *_ = envelopes(np.zeros(len(self.features)), self.features @ weights, self.begin)
        return float(bleu_of_counts(self.counts[first].sum(axis=0), smooth=1.0))

    def search(self, weights: Array, line: Array) -> tuple[float, float]:
        """Return the middle of the interval of t with the best BLEU for `weights + t · line`, and that
        BLEU."""
        first, at, before, after = envelopes(self.features @ line, self.features @ weights, self.begin)
        total = self.counts[first].sum(axis=0)
        if not len(at):
            return 0.0, float(bleu_of_counts(total, smooth=1.0))
        ranked = np.argsort(at, kind="stable")
        changes = np.cumsum((self.counts[after] - self.counts[before])[ranked], axis=0)
        value = bleu_of_counts(total + np.concatenate((np.zeros((1, len(total))), changes)), smooth=1.0)
        at = at[ranked]
        edges = np.concatenate(([at[0] - 1.0], at, [at[-1] + 1.0]))
        # Of an interval that is next to nothing no place is safely inside.
        value = np.where(np.diff(edges) > 1e-6, value, -1.0)
        best = int(np.argmax(value))
        return float(0.5 * (edges[best] + edges[best + 1])), float(value[best])


def _climb(
    space: _Space, weights: Array, directions: int, rng: np.random.Generator, rounds: int = 20
) -> tuple[Array, float]:
    """Line searches until they gain nothing."""
    value = space.value(weights)
    for _ in range(rounds):
        before = value
        random = np.where(space.free, rng.normal(size=(directions, len(weights))), 0.0)
        for line in [*np.eye(len(weights))[space.free], *random]:
            step, promised = space.search(weights, line)
            if promised <= value:
                continue
            moved = weights + step * line
            reached = space.value(moved)
            if reached > value:
                weights, value = moved, reached
        if value - before < LEAST_GAIN:
            break
    return weights, value
