"""The best derivations that a search has found so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dualign.search.certificate import ROUNDING
from dualign.translate.search.translation_problem import Problem


def rounding(score: float) -> float:
    """By how much sums in another order may differ: scores closer than this count as equal."""
    return ROUNDING * (1.0 + abs(score))


@dataclass
class Incumbents:
    """The k best of all derivations that were offered, scored from scratch."""

    problem: Problem
    k: int
    found: dict[tuple[int, ...], float] = field(default_factory=dict)

    def offer(self, derivations: Iterable[Sequence[int]]) -> None:
        """Take note of derivations, given by their edges."""
        for edges in derivations:
            if (key := tuple(edges)) not in self.found:
                self.found[key] = self.problem.score(key)
        if len(self.found) > 4 * self.k + 16:
            self.found = dict(self.best())

    def best(self) -> list[tuple[tuple[int, ...], float]]:
        """Best first; ties fall to the edges that come first."""
        return sorted(self.found.items(), key=lambda pair: (-pair[1], pair[0]))[: self.k]

    @property
    def threshold(self) -> float:
        """What a derivation must have to be of interest; −inf until there are k."""
        best = self.best()
        return best[-1][1] - rounding(best[-1][1]) if len(best) == self.k else float("-inf")

    @property
    def score(self) -> float:
        """The best score."""
        return max(self.found.values(), default=float("-inf"))
