"""How sure a score is: resample the sentence pairs with replacement, score again, and see how much it varies.

Counts add up over sentence pairs (see `dualign.measure.links`), so a resample is a row of
multiplicities and all of them together are one matrix product. Efron & Tibshirani 1993, ch. 13 (percentile
interval); Koehn 2004 (paired).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualign._core import release
from dualign._core.certified import html_table
from dualign._core.errors import DataError
from dualign._core.fields import check_value
from dualign.measure.links import Evaluation, LinkSet, as_alignments, as_pairs, count, rates

# Multiplicities held at once: 32 MB, however many sentence pairs there are.
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class Interval:
    """Percentile interval `[low, high]` of AER that holds the share `level` of the resamples."""

    aer: float
    low: float
    high: float
    level: float
    samples: int
    seed: int

    def _repr_html_(self) -> str:
        interval = f"{100 * self.low:.2f} to {100 * self.high:.2f}"
        return html_table([("AER", f"{100 * self.aer:.2f}"), (f"{100 * self.level:g} % interval", interval)])


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two systems on the same resamples; the three shares sum to 1, better means a lower AER.

    `difference` is the second's AER less the first's, `low` and `high` hold the share `level` of its values.
    `p` is two-sided: twice the share of the resamples in which the better system is not better, where the
    pairs as they are count as one resample more; 1 where neither is.
    """

    first_aer: float
    second_aer: float
    first_better: float
    second_better: float
    tied: float
    samples: int
    seed: int
    difference: float
    low: float
    high: float
    level: float
    p: float

    def _repr_html_(self) -> str:
        rows = [
            ("AER, first", f"{100 * self.first_aer:.2f}"),
            ("AER, second", f"{100 * self.second_aer:.2f}"),
            (f"difference, {100 * self.level:g} % interval",
             f"{100 * self.difference:.2f}, {100 * self.low:.2f} to {100 * self.high:.2f}"),
            ("the first is better in", f"{100 * self.first_better:.1f} % of the resamples"),
            ("p, two-sided", f"{self.p:.3g}"),
        ]  # fmt: skip
        return html_table(rows)


def confidence_interval(
    links: Iterable[LinkSet],
    gold: Iterable[LinkSet],
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 1,
) -> Interval:
    """Return the interval between the `(1 ± level) / 2` quantiles of AER over resamples of the sentence
    pairs.

    Arguments as in `evaluate`. Costs `samples × sentence pairs` random numbers; the same seed gives the same
    answer.
    """
    tails = _tails(level)
    counts = count(as_pairs(links, gold))
    rated = np.concatenate([rates(block).aer for block in _resampled(counts, samples, seed)])
    low, high = np.quantile(rated, tails)
    return Interval(float(rates(counts.sum(axis=0)).aer), float(low), float(high), level, samples, seed)


def compare(
    first: Iterable[LinkSet],
    second: Iterable[LinkSet],
    gold: Iterable[LinkSet],
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 1,
) -> Comparison:
    """Tell in what share of the resamples of the sentence pairs `first` has a lower AER than `second`.

    Both systems are scored on the same resamples, so what makes a sentence hard for both cancels out.
    """
    tails = _tails(level)
    references = as_alignments(gold, "gold")
    one, other = (count(as_pairs(links, references)) for links in (first, second))

    def aer(counts: NDArray[Any]) -> NDArray[Any]:
        return rates(counts).aer

    gaps = differences(one, other, aer, samples=samples, seed=seed)
    first_aer, second_aer = (float(aer(counts.sum(axis=0))) for counts in (one, other))
    first_better, second_better, tied = (float(np.mean(np.sign(gaps) == sign)) for sign in (1, -1, 0))
    difference = second_aer - first_aer
    low, high = np.quantile(gaps, tails)
    return Comparison(
        first_aer, second_aer, first_better, second_better, tied, samples, seed,
        difference, float(low), float(high), level, two_sided(gaps, difference),
    )  # fmt: skip


def signature(evaluation: Evaluation, interval: Interval | None = None) -> str:
    """Return one line that says what a score was computed from, so that scores can be compared.

    As in sacrebleu: `aer|pairs:447|sure:4038|possible:17438|links:6321|boot:1000|level:0.95|seed:1|v:0.3.0`.
    The three fields on resampling are there if the score goes with an interval.
    """
    fields = ["aer"]
    fields += [f"{name}:{getattr(evaluation, name)}" for name in ("pairs", "sure", "possible", "links")]
    if interval is not None:
        fields += [f"boot:{interval.samples}", f"level:{interval.level:g}", f"seed:{interval.seed}"]
    return "|".join([*fields, f"v:{release()}"])


def differences(
    first: NDArray[Any],
    second: NDArray[Any],
    score: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    samples: int = 1000,
    seed: int = 1,
) -> NDArray[np.float64]:
    """Return the score of `second` less that of `first` in each resample (samples), for counts (pairs, ·) of
    both whose sums `score` takes."""
    width = first.shape[1]
    together = np.concatenate((first, second), axis=1)
    # Differences of two roundings of one formula: equal counts give exactly 0.
    blocks = _resampled(together, samples, seed)
    return np.concatenate([score(block[:, width:]) - score(block[:, :width]) for block in blocks])


def two_sided(gaps: NDArray[np.float64], difference: float) -> float:
    """p of a difference that resamples give as `gaps`: see `Comparison`."""
    against = np.count_nonzero(gaps * np.sign(difference) <= 0)
    return min(1.0, 2 * (1 + int(against)) / (1 + len(gaps)))


def _tails(level: float) -> tuple[float, float]:
    """Return the quantiles between which that share lies."""
    check_value("level", level, over=0, below=1)
    return (1 - level) / 2, (1 + level) / 2


def _resampled(counts: NDArray[Any], samples: int, seed: int) -> Iterator[NDArray[Any]]:
    """Yield blocks of rows, one row of summed counts for each resample."""
    check_value("samples", samples, least=1)
    pairs = len(counts)
    if pairs == 0:
        raise DataError("no sentence pairs to resample; give at least one")
    random = np.random.default_rng(seed)
    rows = max(1, _BLOCK // pairs)
    chances = np.full(pairs, 1 / pairs)
    for start in range(0, samples, rows):
        multiplicities = random.multinomial(pairs, chances, size=min(rows, samples - start))
        yield multiplicities @ counts
