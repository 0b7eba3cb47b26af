"""Choosing the weight of similarities by gold links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualign.hmm.model import Model
from dualign.jobs.running import Run
from dualign.jobs.tuning import area_judge
from dualign.text.blocks import Pair
from dualign.text.corpus import Numbered
from dualign.text.links import Alignment
from dualign.text.similarities import MOST, SIMILARITY_WEIGHT

WEIGHTS = (1.0, 2.0, 4.0, 8.0)
"""That are tried, the usual one first where several do as well."""


def tuned_weight(
    weighted: Callable[[float], tuple[Numbered, Sequence[Pair] | Numbered]],
    matrices: Sequence[tuple[str, Any]],
    gold: Sequence[Alignment],
    learn: Callable[[Numbered], Model],
    run: Run,
    threads: int,
) -> float:
    """The weight whose model has the largest area under the precision-recall curve of the gold links.

    `weighted` gives the text and its pairs with gold links for a weight. Each weight that keeps w · s within
    bounds is tried by training.
    """
    largest = max((_largest(content) for _, content in matrices), default=0.0)
    tried = [weight for weight in WEIGHTS if weight * largest <= MOST] or [SIMILARITY_WEIGHT]
    run.note(f"similarities: trying weights {', '.join(f'{w:g}' for w in tried)}, a training for each")
    areas = {}
    for weight in tried:
        text, labelled = weighted(weight)
        areas[weight] = area_judge(labelled, gold, threads)(learn(text))
    best = max(tried, key=lambda weight: (areas[weight], weight == SIMILARITY_WEIGHT))
    shown = ", ".join(f"{weight:g}: {area:.4f}" for weight, area in areas.items())
    run.note(f"similarity weight {best:g}; area under the curve by weight: {shown}")
    return best


def _largest(content: Any) -> float:
    """The largest |s| of a matrix; 0 of one that is not, which is refused when it is used."""
    try:
        return float(np.max(np.abs(np.asarray(content, np.float64)), initial=0.0))
    except (TypeError, ValueError):
        return 0.0
