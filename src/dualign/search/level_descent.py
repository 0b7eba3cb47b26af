"""Lagrangian duals by a level rule, for relaxations that know no good score to aim at.

Polyak's step, (L − level) / ‖g‖², needs a level near the least value of L. `dualign.search.dual` aims at the
best score and shrinks the steps by a factor while the bound does not improve; this is slow if the best score
is far below, or if there is none at all. Here the level is the best bound less a distance, at most half of
what is between the bound and the score. The distance shrinks while nothing improves by a fair share of it;
once it is below the tolerance, the descent has converged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dualign.core.jit import kernel
from dualign.search.dual import BOUND, CLOSED, FACTOR, MET, OPEN, ROUNDS, SCORE, STALLED, STUCK, Record

DISTANCE = FACTOR
"""The distance has the place of Polyak's factor in a record's numbers."""


class LevelRule(NamedTuple):
    """Rounds without progress before the distance shrinks, the factor, and what share of it is progress."""

    patience: int
    shrink: float
    progress: float


@kernel()
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

    `evaluate`, `keep` and `move` are those of `dualign.search.dual.descent`, and so are the outcomes. The
    bound in `record` becomes the least of this descent; its score, which may be any number that the optimum
    is known to reach, stays. The best multipliers are those kept last. `halted(state)` says, after each
    round, whether the time is up.
    """
    patience, shrink, progress = rule

    @kernel()
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
