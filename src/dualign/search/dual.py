"""Minimising a Lagrangian dual: the step rules, record and stopping test that every relaxation shares.

A relaxation evaluates L(λ) ≥ optimum together with a subgradient g, the amounts by which the relaxed
constraints are violated, and now and then finds a feasible solution, which bounds the optimum from below. It
then moves λ ← λ − η g. What differs between problems is how L is evaluated; how far to step, when to step
less, what to remember and when to stop is the same, and is here. The functions are kernels, so that a whole
search may be one; they may be called from Python as well.

Two step rules:

- Polyak: η = f · (L − best score) / ‖g‖², with the factor f shrinking when the bound has not improved for a
  few rounds;
- decaying: η = rate^t', where t' counts the rounds that did not improve the bound (Chang et al. 2014, §8).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

__all__ = ["Ascent", "decaying_step", "new_ascent", "observe", "polyak_step", "run", "settled", "trace_of"]

NOTHING_YET = -np.inf
BOUND, SCORE, FACTOR, STALLED, FAILURES, ROUNDS = range(6)


class Ascent(NamedTuple):
    """The record of one search.

    `numbers` float64 (6): least bound, best score, Polyak's factor, rounds since the bound or the factor
    changed, rounds that did not improve the bound, rounds in all. `trace` float64 (room, 2): bound and score
    after each round, as many as there is room for.
    """

    numbers: Array
    trace: Array


def new_ascent(room: int = 0, score: float = NOTHING_YET, bound: float = np.inf) -> Ascent:
    """An empty record, with room to trace so many rounds; score and bound may be known already."""
    return Ascent(np.array([bound, score, 1.0, 0.0, 0.0, 0.0]), np.full((room, 2), np.nan))


@kernel()
def observe(ascent: Ascent, bound: float, score: float, patience: int, shrink: float) -> bool:
    """Note a round's bound and the best score so far; returns whether the bound is the least yet.

    After `patience` rounds without a better bound the factor is multiplied with `shrink`.
    """
    numbers = ascent.numbers
    # Progress in the last digits only is none: it would keep the steps long.
    better = bound < numbers[BOUND] - 1e-9 * max(1.0, abs(bound))
    numbers[BOUND] = min(numbers[BOUND], bound)
    numbers[SCORE] = max(numbers[SCORE], score)
    if better:
        numbers[STALLED] = 0
    else:
        numbers[STALLED] += 1
        numbers[FAILURES] += 1
        if numbers[STALLED] >= patience:
            numbers[FACTOR] *= shrink
            numbers[STALLED] = 0
    r = int(numbers[ROUNDS])
    if r < len(ascent.trace):
        ascent.trace[r, 0] = numbers[BOUND]
        ascent.trace[r, 1] = numbers[SCORE]
    numbers[ROUNDS] += 1
    return better


@kernel()
def polyak_step(ascent: Ascent, value: float, squared_norm: float, target: float) -> float:
    """Step length at a point of that value and squared subgradient norm, aiming at `target`."""
    return ascent.numbers[FACTOR] * max(value - target, 0.0) / squared_norm


@kernel()
def decaying_step(ascent: Ascent, rate: float) -> float:
    """Step length rate^t'."""
    return rate ** ascent.numbers[FAILURES]


@kernel()
def settled(ascent: Ascent, tolerance: float) -> bool:
    """Whether bound and score have met: the best solution is then proved optimal."""
    return bool(ascent.numbers[BOUND] - ascent.numbers[SCORE] <= tolerance)


def run(advance: Callable[[int], int], ascent: Ascent, most: int, chunk: int, deadline: float) -> int:
    """Search until it ends by itself, `most` rounds are recorded, or the clock says so.

    `advance(rounds)` searches for so many rounds, which it records in `ascent`, and returns 0 unless it has
    ended. The clock (`perf_counter`) is looked at after every `chunk` rounds. Returns the last answer.
    """
    while True:
        status = advance(min(chunk, most - int(ascent.numbers[ROUNDS])))
        if status != 0 or ascent.numbers[ROUNDS] >= most or perf_counter() >= deadline:
            return status


def trace_of(ascent: Ascent) -> tuple[tuple[float, float], ...]:
    """Bound and best score after each round that was traced."""
    rounds = min(int(ascent.numbers[ROUNDS]), len(ascent.trace))
    return tuple((float(bound), float(score)) for bound, score in ascent.trace[:rounds])
