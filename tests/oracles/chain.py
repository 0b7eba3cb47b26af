"""The hidden Markov chain with nulls that keep the position, by its definition: the twin of `model.chain`.

A state is a position and whether a word or a null stands there. The first row takes position i with
`start(i)`; from row j the chain jumps from i' to i with `w_j(i − i') s(i', i) / Z_j(i')`; a null stays where
the chain stood. A word is entered with 1 − p0, a null with p0. After each row but the last it goes on, with
`1 − stop(i)`; after the last it stops. `enumerate_chain` sums over every sequence of states;
`dense_chain` is forward-backward over all 2 S states with logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

REACH, BESIDE = 5, 2


@dataclass(frozen=True)
class Parameters:
    """`jumps` (R, 11): weights of −5..5 from each row, where farther ones weigh 1; `starts` (10): of the
    first positions, where all others share one weight; `stops` (11): probabilities to stop at the last
    position, at those before it, and farther away; `gains` (5, S): s(i, i + d) − 1 of the jumps of −2..2 from
    each position, if any."""

    jumps: tuple[tuple[float, ...], ...]
    starts: tuple[float, ...]
    far_start: float
    p0: float
    stops: tuple[float, ...]
    gains: tuple[tuple[float, ...], ...] = ()

    def after(self, row: int, i: int, rows: int, states: int) -> float:
        """Probability of what happens after a row at position i: the chain goes on, or stops."""
        stop = self.stops[min(states - 1 - i, len(self.stops) - 1)]
        return stop if row == rows - 1 else 1 - stop

    def start(self, i: int, states: int) -> float:
        weights = [self.starts[k] if k < len(self.starts) else self.far_start for k in range(states)]
        return weights[i] / sum(weights)

    def jump(self, row: int, before: int, after: int, states: int) -> float:
        return self.weight(row, before, after) / self.total(row, before, states)

    def total(self, row: int, before: int, states: int) -> float:
        return sum(self.weight(row, before, i) for i in range(states))

    def weight(self, row: int, before: int, after: int) -> float:
        distance = after - before
        weight = self.jumps[row][distance + REACH] if abs(distance) <= REACH else 1.0
        return weight * self.pair(before, after)

    def pair(self, before: int, after: int) -> float:
        close = self.gains and abs(after - before) <= BESIDE
        return 1 + self.gains[after - before + BESIDE][before] if close else 1.0


def choice(distance: int) -> int:
    """0..10 for jumps of −5..5, 11 for farther ones."""
    return distance + REACH if abs(distance) <= REACH else 2 * REACH + 1


@dataclass(frozen=True)
class Sums:
    """All that is known of a chain.

    `posterior` (R, S), `null` (R), `jumps` (R, 12) expected jumps of −5..5 and farther from each row (a null
    keeps the position), `openings` (R, 12): for each of these, the expected Σ s/Z over the places where it
    could have gone; `close` (2, 5, S): expected jumps of −2..2 by the position that they leave, and those
    that the weights foresee there; `starts` (S) the first position, `visits` (S) expected rows at each,
    `ends` (S) the last position, and the most probable path: positions, −1 for null.
    """

    likelihood: float
    posterior: np.ndarray
    null: np.ndarray
    jumps: np.ndarray
    openings: np.ndarray
    close: np.ndarray
    starts: np.ndarray
    visits: np.ndarray
    ends: np.ndarray
    best_path: tuple[int, ...]
    best: float


def sequences(rows: int, states: int) -> Iterator[tuple[tuple[int, bool], ...]]:
    """Every sequence of states that can occur: each a position, and whether a word stands there."""

    def extend(begun: tuple[tuple[int, bool], ...]) -> Iterator[tuple[tuple[int, bool], ...]]:
        if len(begun) == rows:
            yield begun
            return
        for i in range(states):
            yield from extend((*begun, (i, True)))
        stay = [begun[-1][0]] if begun else range(states)
        for i in stay:
            yield from extend((*begun, (i, False)))

    return extend(())


def probability(
    sequence: tuple[tuple[int, bool], ...], parameters: Parameters, emission: np.ndarray, null: np.ndarray
) -> float:
    """Of the words and of this sequence of states."""
    states = emission.shape[1]
    product = 1.0
    for j, (i, word) in enumerate(sequence):
        if j == 0:
            product *= parameters.start(i, states)
        elif word:
            product *= parameters.jump(j - 1, sequence[j - 1][0], i, states)
        product *= (1 - parameters.p0) * emission[j, i] if word else parameters.p0 * null[j]
        product *= parameters.after(j, i, len(sequence), states)
    return float(product)


def enumerate_chain(parameters: Parameters, emission: np.ndarray, null: np.ndarray) -> Sums:
    """Everything by adding up the 2 S (S + 1)^(R − 1) sequences."""
    rows, states = emission.shape
    total, best, best_path = 0.0, -1.0, ()
    posterior, nulls = np.zeros((rows, states)), np.zeros(rows)
    jumps, openings = np.zeros((2, rows, 12))
    close = np.zeros((2, 2 * BESIDE + 1, states))
    starts, visits, ends = np.zeros((3, states))
    for sequence in sequences(rows, states):
        p = probability(sequence, parameters, emission, null)
        total += p
        if p > best:
            best, best_path = p, tuple(i if word else -1 for i, word in sequence)
        starts[sequence[0][0]] += p
        ends[sequence[-1][0]] += p
        for j, (i, word) in enumerate(sequence):
            visits[i] += p
            if not word:
                nulls[j] += p
                continue
            posterior[j, i] += p
            if j > 0:
                before = sequence[j - 1][0]
                jumps[j - 1, choice(i - before)] += p
                z = parameters.total(j - 1, before, states)
                if abs(i - before) <= BESIDE:
                    close[0, i - before + BESIDE, before] += p
                for place in range(states):
                    openings[j - 1, choice(place - before)] += p * parameters.pair(before, place) / z
                    if abs(place - before) <= BESIDE:
                        weight = parameters.weight(j - 1, before, place)
                        close[1, place - before + BESIDE, before] += p * weight / z
    return Sums(
        math.log(total),
        posterior / total,
        nulls / total,
        jumps / total,
        openings / total,
        close / total,
        starts / total,
        visits / total,
        ends / total,
        best_path,
        math.log(best),
    )


def path_score(
    path: tuple[int, ...], parameters: Parameters, emission: np.ndarray, null: np.ndarray
) -> float:
    """Log-probability of a path; nulls at its beginning take the position that serves it best."""
    scores = []
    for first in [path[0]] if path[0] >= 0 else range(emission.shape[1]):
        sequence, at = [], first
        for state in path:
            at = state if state >= 0 else at
            sequence.append((at, state >= 0))
        scores.append(log_probability(tuple(sequence), parameters, emission, null))
    return max(scores)


def log_probability(
    sequence: tuple[tuple[int, bool], ...], parameters: Parameters, emission: np.ndarray, null: np.ndarray
) -> float:
    """As `probability`, for sequences so long that their product would underflow."""
    states = emission.shape[1]
    score = 0.0
    for j, (i, word) in enumerate(sequence):
        if j == 0:
            score += math.log(parameters.start(i, states))
        elif word:
            score += math.log(parameters.jump(j - 1, sequence[j - 1][0], i, states))
        score += math.log((1 - parameters.p0) * emission[j, i] if word else parameters.p0 * null[j])
        score += math.log(parameters.after(j, i, len(sequence), states))
    return score


def dense_chain(
    parameters: Parameters, emission: np.ndarray, null: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Log-likelihood, posteriors (R, S) and the best path's log-probability, in time R · S²."""
    rows, states = emission.shape
    distance = np.arange(states)[None, :] - np.arange(states)[:, None]
    near = np.asarray(parameters.jumps)[:, np.clip(distance, -REACH, REACH) + REACH]
    pairs = [[parameters.pair(before, after) for after in range(states)] for before in range(states)]
    weights = np.where(np.abs(distance) <= REACH, near, 1.0) * pairs
    step = np.log(weights / weights.sum(axis=2, keepdims=True))  # of each row, from position to position
    first = np.log([parameters.start(i, states) for i in range(states)])
    after = np.log([[parameters.after(j, i, rows, states) for i in range(states)] for j in range(rows)])
    with np.errstate(divide="ignore"):
        word = np.log1p(-parameters.p0) + np.log(emission) + after
        stay = np.log(parameters.p0) + np.log(null)[:, None] + after

    def forward(add):
        words, nulls = [first + word[0]], [first + stay[0]]
        for j in range(1, rows):
            position = add(np.stack([words[-1], nulls[-1]]), 0)
            words.append(add(position[:, None] + step[j - 1], 0) + word[j])
            nulls.append(position + stay[j])
        return np.array(words), np.array(nulls)

    words, nulls = forward(log_sum)
    likelihood = float(log_sum(np.append(words[-1], nulls[-1]), 0))
    future = np.zeros(states)  # of a word and of a null alike, as either keeps the position
    posterior = np.empty((rows, states))
    for j in range(rows - 1, -1, -1):
        posterior[j] = np.exp(words[j] + future - likelihood)
        ahead = log_sum(step[j - 1] + word[j] + future, 1)  # none at row 0, where it is not used
        future = log_sum(np.stack([ahead, stay[j] + future]), 0)
    best_words, best_nulls = forward(np.max)
    return likelihood, posterior, float(max(best_words[-1].max(), best_nulls[-1].max()))


def log_sum(x: np.ndarray, axis: int) -> np.ndarray:
    top = x.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x - top).sum(axis=axis)) + np.squeeze(top, axis)
