"""`Certified`: an answer together with what is proved about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S")

Stage = tuple[str, float, float, float]
"""The name of a stage of a search, the bound and the best score after it, and the seconds since the start."""

Trace = tuple[tuple[float, float], ...] | tuple[Stage, ...]
"""How a search went: bound and best score after each round; or the stages of methods that work in stages."""


@dataclass(frozen=True, slots=True)
class Certified(Generic[S]):
    """A solution, its score, and a proved upper bound on the score of any solution.

    `score` is that of `solution`, recomputed from scratch; `certified` means that no solution is better by
    more than the tolerance of the method, or that the method is exact by construction. `trace` is empty
    where a method does not search.
    """

    solution: S
    score: float
    bound: float
    certified: bool
    method: str
    iterations: int = 0
    seconds: float = 0.0
    trace: Trace = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """The most by which another solution could be better."""
        return self.bound - self.score

    def _repr_html_(self) -> str:
        from dualign.core.certified_html import certified_html  # only notebooks need it

        return certified_html(self)
