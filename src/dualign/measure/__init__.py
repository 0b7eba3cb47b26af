"""How good links, phrases, translations and transferred annotation are, and what commands cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.measure.bootstrap import Comparison, Interval, compare, confidence_interval
    from dualign.measure.breakdown import Breakdown, by_frequency, word_frequencies
    from dualign.measure.curves import Curve, curve
    from dualign.measure.phrase_quality import PhraseEvaluation, evaluate_phrases, phrases_of_links
    from dualign.measure.quality import Evaluation, evaluate
    from dualign.measure.reliability import Calibration, calibration
    from dualign.measure.timing import Usage, measure
    from dualign.measure.transfer_quality import SpanReport, TreeReport, span_report, tree_report

__all__ = [
    "Breakdown", "Calibration", "Comparison", "Curve", "Evaluation", "Interval", "PhraseEvaluation",
    "SpanReport", "TreeReport", "Usage", "by_frequency", "calibration", "compare", "confidence_interval",
    "curve", "evaluate", "evaluate_phrases", "measure", "phrases_of_links", "span_report", "tree_report",
    "word_frequencies",
]  # fmt: skip

_HOMES = {
    name: module
    for module, names in {
        "bootstrap": "Comparison Interval compare confidence_interval",
        "breakdown": "Breakdown by_frequency word_frequencies",
        "reliability": "Calibration calibration",
        "curves": "Curve curve",
        "phrase_quality": "PhraseEvaluation evaluate_phrases phrases_of_links",
        "quality": "Evaluation evaluate",
        "timing": "Usage measure",
        "transfer_quality": "SpanReport TreeReport span_report tree_report",
    }.items()
    for name in names.split()
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
