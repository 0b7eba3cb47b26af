"""Choosing decoder parameters on a few sentence pairs with gold links: least AER wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualign.aligner import Aligner
from dualign.measure.curves import curve
from dualign.measure.quality import evaluate
from dualign.model.model import Model
from dualign.model.options import SYMMETRIZATIONS
from dualign.text.alignment import Alignment

__all__ = ["area_judge", "tune"]

THRESHOLDS = tuple(round(0.1 + 0.05 * k, 2) for k in range(17))

Pair = tuple[Sequence[str], Sequence[str]]


def tune(aligner: Aligner, pairs: Sequence[Pair], gold: Sequence[Alignment]) -> dict[str, Any]:
    """Set the aligner's options to the best for these pairs; returns what was chosen.

    soft-union: the threshold, exactly. posterior: threshold and symmetrisation, on a grid. viterbi:
    symmetrisation.
    """
    if aligner.options.decoder == "soft-union":
        best = curve(aligner.posteriors(pairs), gold).best_threshold()
        chosen: dict[str, Any] = {"threshold": min(max(best, 0.01), 0.99)}
    else:
        thresholds = THRESHOLDS if aligner.options.decoder == "posterior" else (aligner.options.threshold,)
        trials = [
            {"threshold": threshold, "symmetrize": method}
            for threshold in thresholds
            for method in SYMMETRIZATIONS
        ]
        chosen = min(trials, key=lambda trial: aer(aligner.set_options(**trial), pairs, gold))
    aligner.set_options(**chosen)
    return chosen


def aer(aligner: Aligner, pairs: Sequence[Pair], gold: Sequence[Alignment]) -> float:
    """Alignment error rate of an aligner."""
    return evaluate(aligner.align(pairs), gold).aer


def area_judge(pairs: Sequence[Pair], gold: Sequence[Alignment], threads: int) -> Callable[[Model], float]:
    """Judge models by the area under the precision-recall curve of their link probabilities."""
    return lambda model: curve(Aligner.of_model(model, threads).posteriors(pairs), gold).area()
