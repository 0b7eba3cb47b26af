"""What every method of phrase alignment returns, and what they agree on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.phrase.alignment.weighted import WeightedPair


class Found(NamedTuple):
    """What a method came back with."""

    links: Array
    """Numbers of the links, int64."""
    found: bool
    """False if there is no alignment in hand; `links` is empty then."""
    bound: float
    """On any alignment; −∞ if there is none."""
    tolerance: float
    iterations: int
    open: bool = False


def tolerance_of(pair: WeightedPair) -> float:
    """What sums of so many weights can be off by, generously; 1e-9 for logarithms of probabilities."""
    heaviest = float(np.abs(pair.weights).max(initial=1.0))
    return max(1e-9, 1e-13 * heaviest * (pair.source_length + pair.target_length))


def trivial(pair: WeightedPair) -> Found | None:
    """The answer for a pair with an empty side or without links, None for others."""
    nothing = np.empty(0, np.int64)
    if pair.source_length == pair.target_length == 0:
        return Found(nothing, True, 0.0, 0.0, 0)
    if not len(pair.weights):
        return Found(nothing, False, -math.inf, 0.0, 0)
    return None
