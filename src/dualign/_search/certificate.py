"""Has the bound met the score? The one place that decides, for every decoder.

A result is certified if its score is within a tolerance of a proved upper bound, or if the method is exact by
construction. How far apart two numbers that should be equal may be depends on how they were computed:

- `ROUNDING`: for sums of the same terms in another order, relative to their size;
- `PRECISION`: for HiGHS, and for searches that stop at a gap.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import TypeVar

from dualign._core.certified import Certified, Trace
from dualign._core.jit import part
from dualign._core.progress import Clock

S = TypeVar("S")

ROUNDING = 1e-9
PRECISION = 1e-6


def scale_of(largest: float) -> float:
    """A power of two, which makes no number less exact, that brings a largest score under 0.001 to 1 or more.

    Searches compare with tolerances that suit scores of such a size: with smaller ones, any answer would be
    as good as the best. Whoever scales the scores divides bounds and tolerances by it.
    """
    _, exponent = frexp(largest)
    return ldexp(1.0, min(1 - exponent, 1000)) if exponent < -9 else 1.0


def have_met(score: float, bound: float, tolerance: float) -> bool:
    """Whether nothing can be better than `score` by more than the tolerance; false if there is no score."""
    return score > float("-inf") and bound - score <= tolerance


@part(allocates=False)
def met(score: float, bound: float) -> bool:
    """`have_met` in kernels, up to rounding."""
    return bound - score <= ROUNDING


def certify(
    solution: S,
    score: float,
    bound: float,
    tolerance: float,
    method: str,
    clock: Clock,
    iterations: int = 0,
    trace: Trace = (),
) -> Certified[S]:
    """An answer and what is proved about it; the caller has recomputed `score` from scratch.

    A bound that rounding has pushed below the score is raised to the score. One that is further below is
    wrong, since the solution has that score, and proves nothing.
    """
    # Of NumPy's numbers, what is claimed would be one, too.
    score, bound, tolerance = float(score), float(bound), float(tolerance)
    rounded = score - bound <= max(tolerance, ROUNDING * max(1.0, abs(score)))
    bound = max(bound, score)
    met = rounded and have_met(score, bound, tolerance)
    return Certified(solution, score, bound, met, method, iterations, clock.seconds, trace)
