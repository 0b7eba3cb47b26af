"""What every method of phrase alignment returns, and when two scores count as equal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.phrase.alignment.weighted import WeightedPair
from dualign.search.certificate import ROUNDING


class Found(NamedTuple):
    """What a method found."""

    links: Array | None
    """Numbers of the links of an alignment, int64; None if it found none."""
    bound: float
    """On any alignment; −∞ if there is none."""
    tolerance: float
    iterations: int
    open: bool = False
    """Whether there may be a better alignment."""


def tolerance_of(pair: WeightedPair) -> float:
    """A generous limit to rounding errors in sums of weights; 1e-9 for logarithms of probabilities."""
    heaviest = float(np.abs(pair.weights).max(initial=1.0))
    return max(ROUNDING, 1e-13 * heaviest * (pair.source_length + pair.target_length))
