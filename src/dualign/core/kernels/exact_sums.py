"""Sums of float64 that are exact, and so the same in whatever order, and on however many machines, they are
added up.

Every addend is rounded to the last bit of a power of two that no sum exceeds. Then every sum is a multiple of
that bit, with no more bits than a float64 has: nothing is ever rounded again.
"""

from __future__ import annotations

from dualign.core.jit import kernel


def above(most: int) -> float:
    """A power of two over `most`, the largest sum that can occur."""
    return float(1 << max(most, 1).bit_length())


@kernel(allocates=False)
def rounded(x: float, above: float) -> float:
    """A number x ≥ 0, as an addend of a sum that stays below."""
    return (x + above) - above


@kernel(allocates=False)
def even_share(choices: int, above: float) -> float:
    """1 / choices, as an addend; never 0."""
    return max(rounded(1.0 / choices, above), above * 2.0**-52)
