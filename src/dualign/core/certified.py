"""`Certified`: an answer together with what is proved about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Certified(Generic[S]):
    """A solution, its score, and a proved upper bound on the score of any solution.

    `score` is that of `solution`, recomputed from scratch; `certified` means that no solution is better by
    more than the tolerance of the method, or that the method is exact by construction.
    """

    solution: S
    score: float
    bound: float
    certified: bool
    method: str
    iterations: int = 0
    seconds: float = 0.0
    trace: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """How much better a solution could be at most."""
        return self.bound - self.score
