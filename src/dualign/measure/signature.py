"""One line that says what a score was computed from, so that scores can be compared (as in sacrebleu)."""

from __future__ import annotations

from dualign._core.version import release
from dualign.measure.bootstrap import Interval
from dualign.measure.links import Evaluation


def signature(evaluation: Evaluation, interval: Interval | None = None) -> str:
    """`aer|pairs:447|sure:4038|possible:17438|links:6321|boot:1000|level:0.95|seed:1|v:0.3.0`.

    The three fields on resampling are there if the score goes with an interval.
    """
    fields = ["aer"]
    fields += [f"{name}:{getattr(evaluation, name)}" for name in ("pairs", "sure", "possible", "links")]
    if interval is not None:
        fields += [f"boot:{interval.samples}", f"level:{interval.level:g}", f"seed:{interval.seed}"]
    return "|".join([*fields, f"v:{release()}"])
