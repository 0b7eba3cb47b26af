"""Calibration: of the links with probability p, a share of p should be right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualign.core.errors import DataError, UsageError
from dualign.measure.curves import LinkScores, marked
from dualign.measure.link_counts import LinkSet, as_alignments
from dualign.text.checks import same_length

ROUNDING = 1e-6
"""Sums of float32 may be this much over 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Links by probability, in equal steps from 0 to 1; empty steps are left out. Arrays `[steps]`."""

    probability: NDArray[np.float64]
    """The mean probability of the links of a step."""
    right: NDArray[np.float64]
    """The share of them that gold has, as sure or possible."""
    count: NDArray[np.int64]

    @property
    def links(self) -> int:
        """How many there are in all."""
        return int(self.count.sum())

    def error(self) -> float:
        """Expected calibration error: Σ_k n_k |p_k - r_k| / Σ_k n_k over the steps k; 0 without links."""
        gaps = np.abs(self.probability - self.right)
        return float(self.count @ gaps / max(self.links, 1))


def calibration(
    probabilities: Iterable[LinkScores], gold: Iterable[LinkSet], *, steps: int = 10
) -> Calibration:
    """Compare the probabilities of links, in the form that `curve` takes, with gold links.

    Step k has the probabilities p with k ≤ p · steps < k + 1; the last step has p = 1, too.
    Raises `DataError` for a score outside [0, 1], and where `curve` does.
    """
    if steps < 1:
        raise UsageError("{steps=}: there must be at least one", steps=steps)
    references, items = as_alignments(gold, "gold"), list(probabilities)
    same_length(("probabilities", len(items)), ("gold", len(references)), unit="sentence pairs")
    values, right = [np.empty(0)], [np.empty(0, np.int64)]
    for number, (item, reference) in enumerate(zip(items, references, strict=True), 1):
        p, hits = marked(item, reference, number)
        if (bad := p[(p < -ROUNDING) | (p > 1 + ROUNDING)]).size:
            raise DataError(f"sentence {number}: {bad[0]} is not a probability")
        values.append(np.clip(p, 0, 1))
        right.append(hits[:, 1])
    p, hit = np.concatenate(values), np.concatenate(right)
    step = np.minimum((p * steps).astype(np.int64), steps - 1)
    count = np.bincount(step, minlength=steps)
    mean, share = (
        np.bincount(step, weights=each, minlength=steps)[count > 0] / count[count > 0] for each in (p, hit)
    )
    return Calibration(mean, share, count[count > 0])
