"""Fertilities: how many words of the other side each word is linked with, and limits that follow from it.

With p_b(w) the probability that word w is linked with at most b words, its limit by the quantile θ is

    k(w) = min { b : p_b(w) > θ },   at most 5.

Lin & Bilmes 2011 print max { b : p_b ≤ θ }, which is one less: a word that always has one link could have
none, and hardly any word two, but they tell of a tenth of them at θ = 0.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dualign._core.arrays import Array

MOST_LINKS = 5
PSEUDO_COUNT = 2.0
"""This many occurrences of the average word are added to a word's own; it also stands for unseen words."""


@dataclass(frozen=True, slots=True)
class Fertilities:
    """Counts float32 (words, MOST_LINKS + 1) of each side: occurrences with 0, 1, … and 5 or more links."""

    source: Array
    target: Array

    def arrays(self) -> dict[str, Array]:
        """For storage."""
        return {"source": self.source, "target": self.target}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], prefix: str) -> Fertilities:
        """The inverse of `arrays`."""
        return cls(arrays[f"{prefix}source"], arrays[f"{prefix}target"])

    def fit(self, source_words: int, target_words: int) -> bool:
        """Whether these are counts for vocabularies of this size."""
        return all(
            side.shape == (words, MOST_LINKS + 1)
            and side.dtype == np.float32
            and bool(np.isfinite(side).all())
            and bool((side >= 0).all())
            for side, words in ((self.source, source_words), (self.target, target_words))
        )

    def at_most(self, side: int) -> Array:
        """p_b(w) of source (0) or target (1) words, float64 (words + 1, 6); the last row is for others."""
        counts = (self.source, self.target)[side].astype(np.float64)
        average = counts.sum(axis=0) + 1e-9
        average /= average.sum()
        smoothed = np.vstack((counts + PSEUDO_COUNT * average, average))
        cumulative = np.cumsum(smoothed, axis=1)
        return cumulative / cumulative[:, -1:]

    def limits(self, side: int, tokens: Array, quantile: float) -> Array:
        """k of each token of the source (0) or target (1) side, int32; all words never seen have one k."""
        table = (self.at_most(side)[:, :MOST_LINKS] <= quantile).sum(axis=1).astype(np.int32)
        return table[np.minimum(tokens, len(table) - 1)]
