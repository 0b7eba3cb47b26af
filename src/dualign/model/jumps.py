"""Weights of the hidden Markov chains: where they are, which word has which, and their initial values.

How far the next link lies depends on the word before: after an article the next word is next to its noun,
after a noun comes perhaps an adjective that the other language puts before it (Toutanova et al. 2002, He
2007). So each frequent word has jump weights of its own, in the direction in which it chooses, and all others
share one set. It depends as much on the word that comes next: a particle stays where the chain is, a
conjunction moves on. So the frequent words also have factors for the jumps to them. From a word v to the next
word w a chain jumps by d with the weight

    w(d) = weight_v(d) · factor_w(d).

The words that are chosen have a say as well: an adjective is followed by its noun, and a word that is often
translated by two words is often chosen twice in a row. So a short jump, |d| ≤ BESIDE, from a position with
the word x to one with the word y weighs

    w(d) · leaving_x(d) · reaching_y(d).

A word's own weights are drawn to the usual ones by pseudo-counts, its factors to 1
(`dualign.learn.jump_updates`).

After each row a chain stops with a probability that depends on how far its position is from the last one, so
that it must be near the end when it ends, and is not there long before.

One direction's `weights` (float32[WEIGHTS]) are those of 10 start positions and of all later ones, the null
probability, the emission floor of a link and of a null, then the probabilities to stop at the last position,
at each of the 9 before it, and farther away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array

REACH = 5
NEAR = 2 * REACH + 1
"""Jumps of −REACH … REACH have weights; every farther one weighs 1."""

BESIDE = 2
CLOSE = 2 * BESIDE + 1
"""Jumps of −BESIDE … BESIDE have factors of the words that they leave and reach."""

START, STARTS = 0, 10
NULL = START + STARTS + 1
FLOOR = NULL + 1
NULL_FLOOR = FLOOR + 1
STOP, STOPS = NULL_FLOOR + 1, 10
WEIGHTS = STOP + STOPS + 1
"""Places of the weights, and how many there are."""

LEAST = 1e-3
"""Least weight of a near jump where a far one weighs 1: chains compute with w − 1 in 32 bits."""

LEAST_CHOSEN = 0.1
"""Least factor of a chosen word, 10 the greatest: with both words', 32 bits still tell w · s from 0."""

INITIAL = np.exp(-0.3 * np.abs(np.arange(-REACH, REACH + 2) - 1))
"""Weights of the jumps before training, the last of all far ones: a mild preference for one step forward."""


INITIAL_STOPS = np.array([0.5, *[0.05] * STOPS])
"""Probabilities to stop before training, at the last position first."""


class Jumps(NamedTuple):
    """`weight` float32 (2, classes, NEAR): of the jumps of −REACH … REACH, where every farther one weighs 1.

    Direction 0 first, in which target words choose: `by_target`, `by_source` int32 (words) are the classes of
    the words that choose. Words that have no weights of their own are of class 0, as are unknown ones.
    `factor` float32, likewise: what the weights of a jump are multiplied by if a word of this class comes
    next; 1 for class 0. `chosen` float32 (2, 2, classes, CLOSE): factors of the jumps of −BESIDE … BESIDE by
    the class of the chosen word that they leave, then of the one that they reach; 1 for class 0. The words
    that are chosen in direction 0 are those that choose in direction 1.
    """

    weight: Array
    by_target: Array
    by_source: Array
    factor: Array
    chosen: Array

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
            and self.factor.shape == self.weight.shape
            and self.factor.dtype == np.float32
            and self.chosen.shape == (2, 2, self.classes, CLOSE)
            and self.chosen.dtype == np.float32
            and bool(((self.chosen > 0.99 * LEAST_CHOSEN) & (self.chosen < 1.01 / LEAST_CHOSEN)).all())
            and all(bool((np.isfinite(x) & (x > 0)).all()) for x in (self.weight, self.factor))
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
    """Weights before training, the same for all words."""
    classes = 1 + int(max(by_target.max(initial=0), by_source.max(initial=0)))
    weight = (INITIAL[:NEAR] / INITIAL[NEAR]).astype(np.float32)
    weights = np.tile(weight, (2, classes, 1))
    return Jumps(weights, by_target, by_source, np.ones_like(weights), no_preference(classes))


def no_preference(classes: int) -> Array:
    """`Jumps.chosen` of words that are all alike."""
    return np.ones((2, 2, classes, CLOSE), np.float32)


def initial_weights(null: float, floor: float) -> Array:
    """Weights (2, WEIGHTS) before training."""
    weights = np.ones((2, WEIGHTS), np.float32)
    weights[:, NULL] = null
    weights[:, FLOOR] = weights[:, NULL_FLOOR] = floor
    weights[:, STOP:] = INITIAL_STOPS
    return weights
