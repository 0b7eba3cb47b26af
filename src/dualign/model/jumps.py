"""Jump and start weights: which word has which, their initial values and their update.

How far the next link lies depends on the word before: after an article the next word is next to its noun,
after a noun comes perhaps an adjective that the other language puts before it (Toutanova et al. 2002, He
2007). So each frequent word has jump weights of its own, in the direction in which it chooses, and all others
share one set. A word's own are drawn to what is usual by pseudo-counts of jumps.

A chain at position i' of S states jumps to i with probability w(i − i') / Z(S, i'), where Z sums the weights
of the jumps that stay inside. The expected log-likelihood is therefore

    Σ_d n_d log w(d) − Σ_jumps log Z,     Z = Σ_d available(d) w(d),

with n_d expected jumps, pseudo-counts among them. Its maximum has no closed form (relative frequencies ignore
that Z depends on the borders), but `w(d) ← n_d / Σ_jumps available(d) / Z` never lowers it: the
minorise-maximise step of choice models. Starts are the case of one jump a sentence. (What is usual is
estimated anew each round, so that it is no fixed prior.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.infer.chain import FLOOR, NEAR, NULL, NULL_FLOOR, REACH, START, STARTS, WEIGHTS

STEPS = 20
PRIOR = 1.0
INITIAL = np.exp(-0.3 * np.abs(np.arange(-REACH, REACH + 2) - 1))
"""Weights of the jumps before training, the last of all far ones: a mild preference for one step forward."""

LEAST = 1e-3
"""Least weight of a near jump where a far one weighs 1: chains compute with w − 1 in 32 bits."""


class Jumps(NamedTuple):
    """`weight` float32 (2, classes, NEAR): of the jumps of −REACH … REACH, where every farther one weighs 1.

    Direction 0 first, in which target words choose: `by_target`, `by_source` int32 (words) are the classes of
    the words that choose. Words that have no weights of their own are of class 0, as are unknown ones.
    """

    weight: Array
    by_target: Array
    by_source: Array

    @property
    def classes(self) -> int:
        """Number of sets of weights."""
        return self.weight.shape[1]

    def fit(self, source_words: int, target_words: int) -> bool:
        """Whether kernels can trust them."""
        return (
            self.weight.ndim == 3
            and self.classes > 0
            and self.weight.shape[::2] == (2, NEAR)
            and self.weight.dtype == np.float32
            and bool((np.isfinite(self.weight) & (self.weight > 0)).all())
            and all(
                by.shape == (words,) and by.dtype == np.int32 and ((by >= 0) & (by < self.classes)).all()
                for by, words in ((self.by_target, target_words), (self.by_source, source_words))
            )
        )


def classes_of(frequency: Array, own: int) -> Array:
    """Classes 1, 2, … for the `own` most frequent words, int32 (words); 0 for the others."""
    classes = np.zeros(len(frequency), np.int32)
    chosen = np.argsort(-frequency, kind="stable")[:own]
    classes[chosen] = 1 + np.arange(len(chosen))
    return classes


def initial_jumps(by_target: Array, by_source: Array) -> Jumps:
    """Weights before training, for all words the same."""
    classes = 1 + int(max(by_target.max(initial=0), by_source.max(initial=0)))
    weight = (INITIAL[:NEAR] / INITIAL[NEAR]).astype(np.float32)
    return Jumps(np.tile(weight, (2, classes, 1)), by_target, by_source)


def initial_weights(null: float, floor: float) -> Array:
    """Weights (2, WEIGHTS) before training."""
    weights = np.ones((2, WEIGHTS), np.float32)
    weights[:, NULL] = null
    weights[:, FLOOR] = weights[:, NULL_FLOOR] = floor
    return weights


def update_jumps(jumps: Jumps, expected: Array, openings: Array, strength: float) -> Jumps:
    """New jumps from the statistics of `dualign.infer.chains.Sums`, float64 (2, classes, NEAR + 1) both.

    `strength`: how many jumps of the usual kind each word is taken to have made beside its own.
    """
    new = jumps.weight.copy()
    initial = INITIAL / INITIAL.sum()
    for d in range(2):
        counts, places = np.maximum(expected[d], 0), np.maximum(openings[d], 0)
        old = np.column_stack((jumps.weight[d], np.ones(jumps.classes)))
        total = old.sum(axis=1, keepdims=True)
        # What is usual: all words together, with weights that add up to 1.
        usual = (counts.sum(axis=0) + PRIOR * initial) / ((places * total).sum(axis=0) + PRIOR)
        usual /= usual.sum()
        # A prior is evidence of jumps with all choices open; class 0 needs just what leaves none impossible.
        prior = np.full((jumps.classes, 1), strength)
        prior[0] = PRIOR
        base = np.tile(usual, (jumps.classes, 1))
        base[0] = initial
        weight = (counts + prior * base) / (places + prior / total)
        new[d] = np.maximum(weight[:, :NEAR] / weight[:, NEAR:], LEAST)
    return jumps._replace(weight=new)


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


def choice_weights(weights: Array, counts: Array, departures: Array, available: Array) -> Array:
    """Weights, adding up to 1, that raise the likelihood above.

    `counts` (K): expected choices; `departures` (N) with `available` (N, K) choices. The prior is a little
    evidence more: PRIOR departures with all choices open, all alike. It holds together the weights of choices
    that are never open at the same time, and leaves none impossible.
    """
    counts = counts + PRIOR / len(counts)
    departures = np.append(departures, PRIOR)
    available = np.vstack((available, np.ones(len(counts))))
    w = weights / weights.sum(dtype=float)
    for _ in range(STEPS):
        w = counts / ((departures / (available @ w)) @ available)
        w /= w.sum()
    return w
