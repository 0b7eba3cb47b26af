"""Weights of the jumps, starts and stops of hidden Markov chains, and new ones from expected counts.

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

A word's own weights are drawn to the usual ones by pseudo-counts, its factors to 1.

After each row a chain stops with a probability that depends on how far its position is from the last one, so
that it must be near the end when it ends, and is not there long before.

One direction's `weights` (float32[WEIGHTS]) are those of 10 start positions and of all later ones, the null
probability, the emission floor of a link and of a null, then the probabilities to stop at the last position,
at each of the 9 before it, and farther away.

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

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array

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
    weights, chosen = np.tile(weight, (2, classes, 1)), np.ones((2, 2, classes, CLOSE), np.float32)
    return Jumps(weights, by_target, by_source, np.ones_like(weights), chosen)


def initial_weights(null: float, floor: float) -> Array:
    """Weights (2, WEIGHTS) before training."""
    weights = np.ones((2, WEIGHTS), np.float32)
    weights[:, NULL] = null
    weights[:, FLOOR] = weights[:, NULL_FLOOR] = floor
    weights[:, STOP:] = INITIAL_STOPS
    return weights


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
    """New jumps from `jumps`, `foreseen` and `chosen` of `dualign.hmm.statistics.ChainStatistics`.

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

    `stops`: see `dualign.hmm.statistics.ChainStatistics`; STOP_PRIOR rows behave as before training.
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
