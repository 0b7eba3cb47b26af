"""What every method hands back."""

from __future__ import annotations

from dataclasses import dataclass

from dualign.decode.joint.primal import Incumbent


@dataclass(frozen=True, slots=True)
class Outcome:
    """The best alignment found (chains with entry 0 = 0), a proved bound, rounds, bound and score by round.

    `nodes`: parts of the search space that were looked at; `constraints`: how many were added back.
    """

    incumbent: Incumbent
    bound: float
    rounds: int
    trace: tuple[tuple[float, float], ...]
    nodes: int = 1
    constraints: int = 0
