from .bootstrap import Comparison as Comparison
from .bootstrap import Interval as Interval
from .bootstrap import compare as compare
from .bootstrap import confidence_interval as confidence_interval
from .curves import Calibration as Calibration
from .curves import Curve as Curve
from .curves import calibration as calibration
from .curves import curve as curve
from .links import Breakdown as Breakdown
from .links import Evaluation as Evaluation
from .links import by_frequency as by_frequency
from .links import evaluate as evaluate
from .links import word_frequencies as word_frequencies
from .phrases import PhraseEvaluation as PhraseEvaluation
from .phrases import evaluate_phrases as evaluate_phrases
from .phrases import phrases_of_links as phrases_of_links
from .timing import Usage as Usage
from .timing import measure as measure
from .transfer import SpanReport as SpanReport
from .transfer import TreeReport as TreeReport
from .transfer import span_report as span_report
from .transfer import tree_report as tree_report

__all__ = [
    "Breakdown",
    "Calibration",
    "Comparison",
    "Curve",
    "Evaluation",
    "Interval",
    "PhraseEvaluation",
    "SpanReport",
    "TreeReport",
    "Usage",
    "by_frequency",
    "calibration",
    "compare",
    "confidence_interval",
    "curve",
    "evaluate",
    "evaluate_phrases",
    "measure",
    "phrases_of_links",
    "span_report",
    "tree_report",
    "word_frequencies",
]
