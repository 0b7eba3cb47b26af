"""Scores of links against gold links: precision and recall at every threshold, and calibration.

A link is taken if its score is *greater than* the threshold, both as float64. All scores are sorted once;
cumulative sums give the counts at every threshold. Links with the same score come and go together.

Probabilities are calibrated if, of the links with probability p, a share of p is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index

import numpy as np
from numpy.typing import NDArray

from dualign._core.errors import DataError, refusing
from dualign._core.fields import check_value
from dualign.measure.links import LinkSet, as_alignments, rates
from dualign.text.checks import links_inside, same_length
from dualign.text.links import Alignment

ROUNDING = 1e-6
"""Sums of float32 may be this much over 1."""

LinkScores = NDArray[np.floating] | Iterable[tuple[int, int, float]]
"""Scores of one sentence pair: an array `[source position, target position]`, or triples `(i, j, score)`.

A link that the triples leave out is never taken.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One point for each set of links that some threshold gives, fewest links first; all arrays `[points]`.

    The first point takes no link at all (precision 1, and recall 0 unless gold has no sure link), the last
    takes every scored link. `lowest`: the lowest score that is taken, infinite if none is.
    """

    threshold: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    aer: NDArray[np.float64]
    lowest: NDArray[np.float64]

    def precision_at(self, recall: float) -> float:
        """Return interpolated precision: the highest of the points with at least this recall; 0 if there is
        none."""
        check_value("recall", recall, least=0, most=1)
        return float(self.precision[self.recall >= recall].max(initial=0.0))

    def area(self) -> float:
        """Return area under the precision-recall curve: the integral of `precision_at(r)` for r from 0 to 1.

        The interpolated precision is a step function that changes only at points, so the sum over steps is
        exact. Recall beyond the last point adds nothing.
        """
        from_here_on = np.maximum.accumulate(self.precision[::-1])[::-1]
        # Up to the first point's recall (above 0 only if gold has no sure link) its own value holds.
        steps = np.diff(self.recall, prepend=0.0)
        return float(steps @ from_here_on)

    def best_threshold(self) -> float:
        """Return the threshold with the lowest AER; among equals the highest, which takes the fewest
        links."""
        return float(self.threshold[np.argmin(self.aer)])

    def aer_at(self, threshold: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return AER of the links with a score over each threshold."""
        return self.aer[np.searchsorted(-self.lowest, -np.asarray(threshold)) - 1]

    def steady_threshold(self, margin: float = 0.005, present: float | None = None) -> float:
        """Return the middle one of the thresholds 0.01, 0.02 … 0.99 whose AER is within `margin` of their
        lowest.

        On a few sentence pairs the lowest point of a curve is often there by chance; the middle of all
        thresholds that are about as good does better on other pairs. None is worse than the `present` one.
        """
        grid = np.arange(1, 100) / 100
        aer = self.aer_at(grid)
        most = aer.min() + margin
        if present is not None:
            most = max(aer.min(), min(most, self.aer_at(present)))
        good = grid[aer <= most]
        return float(good[len(good) // 2])


def curve(scores: Iterable[LinkScores], gold: Iterable[LinkSet]) -> Curve:
    """Precision, recall and AER at every threshold that makes a difference.

    Each threshold lies midway between two neighbouring distinct scores, so that rounding in the last digit
    changes no link. The highest lies between the highest score and 1, the lowest between 0 and the lowest
    score, or beyond them where scores are not in (0, 1). Costs a sort of all scores.

    Raises `DataError` if the sides differ in length, a gold link is outside its array, a link is scored
    twice, or a score is not finite.
    """
    references = as_alignments(gold, "gold")
    values, hits, _ = _all_marked(scores, references, "scores")
    order = np.argsort(-values, kind="stable")
    values, hits = values[order], hits[order]
    # `ends` counts the links above each gap between distinct scores, from none to all.
    ends = np.unique(np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1, [len(values)]]))
    cumulative = np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(hits, axis=0)])[ends]
    sure = sum(len(set(reference.links)) for reference in references)
    possible = sum(len(set(reference.links + reference.possible)) for reference in references)
    counts = np.column_stack([ends, np.full_like(ends, sure), np.full_like(ends, possible), cumulative])
    rated = rates(counts)
    lowest = np.concatenate([[np.inf], values])[ends]
    return Curve(_thresholds(values, ends), rated.precision, rated.recall, rated.aer, lowest)


def _thresholds(values: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one threshold below `values[:end]` and not below `values[end:]` for each end; values fall."""
    if len(values) == 0:
        return np.array([0.5])
    highest, lowest = float(values[0]), float(values[-1])
    inner = ends[1:-1]
    above, below = values[inner - 1], values[inner]
    middle = above / 2 + below / 2
    # Between two adjacent floats there is no third; the lower one separates them as well.
    middle = np.where((middle >= above) | (middle < below), below, middle)
    top = (highest + 1) / 2 if highest < 1 else highest + 1
    bottom = lowest / 2 if lowest > 0 else lowest - max(1.0, -lowest)
    return np.concatenate([[top], middle, [bottom]])


def _all_marked(
    scores: Iterable[LinkScores], references: Sequence[Alignment], name: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the scores of all pairs, whether each link is sure and possible, `[links, 2]`, and its pair."""
    items = list(scores)
    same_length((name, len(items)), ("gold", len(references)), unit="sentence pairs")
    parts = [
        marked(item, reference, number)
        for number, (item, reference) in enumerate(zip(items, references, strict=True), 1)
    ]
    values = np.concatenate([np.empty(0), *(part for part, _ in parts)])
    marks = np.concatenate([np.empty((0, 2), np.int64), *(part for _, part in parts)])
    return values, marks, np.repeat(np.arange(1, len(parts) + 1), [len(part) for part, _ in parts])


def marked(
    item: LinkScores, reference: Alignment, number: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return scores `[links]` of one sentence pair, and whether each link is sure and possible, `[links,
    2]`."""
    place = f"scores, sentence {number}"
    possible = reference.links + reference.possible
    if isinstance(item, np.ndarray):
        if item.ndim != 2:
            raise DataError(f"{place}: expected an array [source, target], not of shape {item.shape}")
        links_inside(possible, item.shape[0], item.shape[1], f"gold, sentence {number}")
        values, marks = item.astype(np.float64).ravel(), np.zeros((*item.shape, 2), np.int64)
        for column, links in enumerate((reference.links, possible)):
            for link in links:
                marks[*link, column] = 1
    else:
        with refusing(TypeError, ValueError, what="expected an array or triples (i, j, score)", place=place):
            triples = [(index(i), index(j), float(score)) for i, j, score in item]
        scored = Counter((i, j) for i, j, _ in triples)
        for (i, j), times in scored.items():
            if times > 1:
                raise DataError(f"{place}: link {i}-{j} is scored twice")
        values = np.array([score for _, _, score in triples], np.float64)
        sets = set(reference.links), set(possible)
        marks = np.array([[link in links for links in sets] for link in scored], np.int64)
    if not np.isfinite(values).all():
        raise DataError(
            f"{place}: {values[~np.isfinite(values)][0]} is not a score; scores are finite numbers"
        )
    return values, marks.reshape(-1, 2)


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
        """Return expected calibration error: Σ_k n_k |p_k - r_k| / Σ_k n_k over the steps k; 0 without
        links."""
        gaps = np.abs(self.probability - self.right)
        return float(self.count @ gaps / max(self.links, 1))


def calibration(
    probabilities: Iterable[LinkScores], gold: Iterable[LinkSet], *, steps: int = 10
) -> Calibration:
    """Compare the probabilities of links, in the form that `curve` takes, with gold links.

    Step k has the probabilities p with k ≤ p · steps < k + 1; the last step has p = 1, too.
    Raises `DataError` for a score outside [0, 1], and where `curve` does.
    """
    check_value("steps", steps, least=1)
    p, hits, sentence = _all_marked(probabilities, as_alignments(gold, "gold"), "probabilities")
    if (bad := np.flatnonzero((p < -ROUNDING) | (p > 1 + ROUNDING))).size:
        raise DataError(f"sentence {sentence[bad[0]]}: {p[bad[0]]} is not a probability")
    p, hit = np.clip(p, 0, 1), hits[:, 1]
    step = np.minimum((p * steps).astype(np.int64), steps - 1)
    count = np.bincount(step, minlength=steps)
    mean, share = (
        np.bincount(step, weights=each, minlength=steps)[count > 0] / count[count > 0] for each in (p, hit)
    )
    return Calibration(mean, share, count[count > 0])
