"""Lagrangian duals: the loop, step rule, record and stopping test that every relaxation shares; and the parts
of a search space that are open where a gap remains.

A relaxation evaluates L(λ) ≥ optimum together with a subgradient g, the amounts by which the relaxed
constraints are violated, and now and then finds a feasible solution, which bounds the optimum from below. It
then moves λ ← λ − η g to make L small. What differs between problems is how L is evaluated; how far to step,
when to shorten steps, what to record and when to stop is the same for all, and is here.

Steps are Polyak's: η = f · (L − target) / ‖g‖², with a factor f that shrinks when the bound has not improved
for a few rounds.

`descent` compiles the loop for one kind of problem. Its parts are kernels; they share a `state`, which is
whatever the problem needs, usually a NamedTuple of arrays:

    evaluate(state) -> value, norm         L(λ) and ‖g‖²; a value below IMPOSSIBLE: nothing is left
    improve(state, record, t, norm) -> least   the best score known, now and then after looking for a better
    keep(state)                            these multipliers are the best so far
    restore(state) -> again                the steps shrink: perhaps go back to the best; if `again`, evaluate
                                           there before the next step
    prune(state, value, least) -> left     remove what scores below `least`; False if nothing is left
    move(state, step)                      λ ← λ − step · g

`level_descent` is for relaxations that know no good score to aim at. Polyak's step, (L − level) / ‖g‖², needs
a level near the least value of L; aiming at a best score that is far below, or at none, is slow. Here the
level is the best bound less a distance, at most half of what is between the bound and the score. The distance
shrinks while nothing improves by a fair share of it; once it is below the tolerance, the descent has
converged.

`OpenParts` is for branch and bound, where the least L is above the best score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.progress import Clock, Pace

N = TypeVar("N")

BOUND, SCORE, FACTOR, STALLED, ROUNDS = range(5)
"""Places in a record's numbers."""

OPEN, CLOSED, MET, STUCK = range(4)
"""Outcomes of a descent: rounds used up; bound and score have met; the subgradient is 0; steps too short."""

NEVER = -1e30
"""A score that stands for −∞ where sums of it must not become NaN."""

IMPOSSIBLE = -1e29
"""Scores below this contain a NEVER."""


class Record(NamedTuple):
    """The record of one search.

    `numbers` float64 (5): least bound, best score, Polyak's factor, rounds since the bound or the factor
    changed, rounds in total. `trace` float64 (room, 2): bound and score after each round, as long as there is
    room.
    """

    numbers: Array
    trace: Array


def new_record(room: int = 0, score: float = -np.inf, bound: float = np.inf) -> Record:
    """An empty record with room to trace that many rounds; score and bound may be known already."""
    return Record(np.array([bound, score, 1.0, 0.0, 0.0]), np.full((room, 2), np.nan))


@part
def observe(record: Record, bound: float, score: float, patience: int, shrink: float) -> bool:
    """Note a round's bound and the best score so far; returns whether the bound is the least yet.

    After `patience` rounds without a better bound the factor is multiplied by `shrink`.
    """
    numbers = record.numbers
    # Progress in the last digits does not count: it would keep the steps long.
    better = bound < numbers[BOUND] - 1e-9 * max(1.0, abs(bound))
    numbers[BOUND] = min(numbers[BOUND], bound)
    numbers[SCORE] = max(numbers[SCORE], score)
    if better:
        numbers[STALLED] = 0
    else:
        numbers[STALLED] += 1
        if numbers[STALLED] >= patience:
            numbers[FACTOR] *= shrink
            numbers[STALLED] = 0
    r = int(numbers[ROUNDS])
    if r < len(record.trace):
        record.trace[r, 0] = numbers[BOUND]
        record.trace[r, 1] = numbers[SCORE]
    numbers[ROUNDS] += 1
    return better


@part
def polyak_step(record: Record, value: float, squared_norm: float, least: float) -> float:
    """Step length at a point of that value and squared subgradient norm.

    It aims at the best score, or somewhat below the present value while there is none.
    """
    target = least if least > IMPOSSIBLE else value - 0.05 * abs(value) - 1.0
    return record.numbers[FACTOR] * max(value - target, 0.0) / squared_norm


@part
def _stay(state: Any) -> bool:
    """For problems that go on from where they are."""
    return False


@part
def _prune_nothing(state: Any, value: float, least: float) -> bool:
    """For problems that drop nothing."""
    return True


class StepRule(NamedTuple):
    """Polyak's factor: after how many rounds without progress it shrinks, by what, and when to give up.

    Values below `impossible` mean that nothing is left.
    """

    patience: int
    shrink: float
    smallest: float = 0.0
    impossible: float = IMPOSSIBLE


def descent(
    evaluate: Callable[..., Any],
    improve: Callable[..., Any],
    move: Callable[..., Any],
    rule: StepRule,
    *,
    keep: Callable[..., Any] = _stay,
    restore: Callable[..., Any] = _stay,
    prune: Callable[..., Any] = _prune_nothing,
    compiled: bool = True,
) -> Callable[..., int]:
    """The loop for one kind of problem: `descend(state, record, rounds, tolerance)`, a kernel.

    It takes up to that many rounds and returns OPEN, CLOSED, MET or STUCK; the least bound is in `record`.
    `compiled=False` is for parts that are plain Python.
    """
    patience, shrink, smallest, impossible = rule

    def descend(state: Any, record: Record, rounds: int, tolerance: float) -> int:
        numbers = record.numbers
        gap_pruned = np.inf
        for t in range(rounds):
            value, norm = evaluate(state)
            if value < impossible:
                # Nothing is left that could be better than the best.
                numbers[BOUND] = min(numbers[BOUND], max(numbers[SCORE], NEVER))
                return CLOSED
            least = improve(state, record, t, norm)
            factor = numbers[FACTOR]
            if observe(record, value, least, patience, shrink):
                keep(state)
            if numbers[BOUND] <= least + tolerance:
                return CLOSED
            if norm == 0:
                return MET
            if numbers[FACTOR] < factor:
                again = restore(state)
                if numbers[FACTOR] < smallest:
                    return STUCK
                if again:
                    continue
            if value - least < 0.7 * gap_pruned:
                gap_pruned = value - least
                if not prune(state, value, least - tolerance):
                    numbers[BOUND] = min(numbers[BOUND], least)
                    return CLOSED
            move(state, polyak_step(record, value, norm, least))
        return OPEN

    return kernel(descend) if compiled else descend


def run(advance: Callable[[int], int], record: Record, most: int, chunk: int, clock: Clock) -> int:
    """Search until it ends by itself, `most` rounds are recorded, or time is up.

    `advance(rounds)` searches for that many rounds, which it records, and returns OPEN unless it has ended.
    At most `chunk` rounds at a time, and with a limit no more than there is time for. Returns the last
    answer.
    """
    pace, recorded = Pace(clock, chunk), int(record.numbers[ROUNDS])
    while (rounds := pace.rounds(most - recorded)) is not None:
        status, before = advance(rounds), recorded
        recorded = int(record.numbers[ROUNDS])
        pace.done(recorded - before)
        if status != OPEN or recorded >= most or clock.is_over:
            return status
    return OPEN


def trace_of(record: Record) -> tuple[tuple[float, float], ...]:
    """Bound and best score after each round that was traced."""
    rounds = min(int(record.numbers[ROUNDS]), len(record.trace))
    return tuple((float(bound), float(score)) for bound, score in record.trace[:rounds])


DISTANCE = FACTOR
"""The distance has the place of Polyak's factor in a record's numbers."""


class LevelRule(NamedTuple):
    """Rounds without progress before the distance shrinks, the factor, and what share of it is progress."""

    patience: int
    shrink: float
    progress: float


@part
def new_level_record(score: float) -> Record:
    """An empty record, not traced: the distance is infinite at first."""
    return Record(np.array([np.inf, score, np.inf, 0.0, 0.0]), np.empty((0, 2)))


def level_descent(
    evaluate: Callable[..., Any],
    keep: Callable[..., Any],
    move: Callable[..., Any],
    halted: Callable[..., Any],
    rule: LevelRule,
) -> Callable[[Any, Record, int, float], int]:
    """The loop for one kind of problem: `descend(state, record, rounds, tolerance)`, a kernel.

    `evaluate`, `keep` and `move` are those of `dualign._search.dual.descent`, and so are the outcomes. The
    bound in `record` becomes the least of this descent; its score, which may be any number that the optimum
    is known to reach, stays. The best multipliers are those kept last. `halted(state)` says, after each
    round, whether the time is up.
    """
    patience, shrink, progress = rule

    @part
    def descend(state: Any, record: Record, rounds: int, tolerance: float) -> int:
        numbers = record.numbers
        least = numbers[SCORE]
        numbers[BOUND], numbers[STALLED] = np.inf, 0
        for _ in range(rounds):
            value, norm = evaluate(state)
            numbers[ROUNDS] += 1
            numbers[DISTANCE] = min(numbers[DISTANCE], 0.5 * (value - least))
            numbers[STALLED] += 1
            if value < numbers[BOUND]:
                if numbers[BOUND] - value > progress * numbers[DISTANCE]:
                    numbers[STALLED] = 0
                numbers[BOUND] = value
                keep(state)
            if numbers[BOUND] <= least + tolerance:
                return CLOSED
            if numbers[STALLED] >= patience:
                numbers[DISTANCE] *= shrink
                numbers[STALLED] = 0
                if numbers[DISTANCE] < tolerance:
                    return STUCK
            if norm == 0:
                numbers[BOUND] = value
                keep(state)
                return MET
            if halted(state):
                return OPEN
            move(state, (value - max(least, numbers[BOUND] - numbers[DISTANCE])) / norm)
        return OPEN

    return descend


class OpenParts(Generic[N]):
    """The parts of a search space that are to be searched, each with an upper bound, the highest first.

    Of equal bounds, the part that was added first comes first. A part is closed without a search if its bound
    is at most `enough`: the best score so far and the tolerance.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, N]] = []
        self._ticket, self._closed = count(), -np.inf

    def add(self, parts: Iterable[tuple[float, N]], enough: float) -> None:
        """Add parts that have been found, with their bounds."""
        for bound, place in parts:
            if bound > enough:
                heappush(self._heap, (-bound, next(self._ticket), place))
            else:
                self._closed = max(self._closed, bound)

    def are_left(self, enough: float) -> bool:
        """Whether some part may hold something better."""
        return bool(self._heap) and -self._heap[0][0] > enough

    def take(self) -> tuple[float, N]:
        """The part that is searched or split next, and its bound."""
        negative, _, place = heappop(self._heap)
        return -negative, place

    @property
    def bound(self) -> float:
        """On everything in all parts that have not been taken."""
        return max(self._closed, -self._heap[0][0]) if self._heap else self._closed
