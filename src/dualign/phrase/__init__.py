"""Phrases: extraction, exact bijective alignment, sums and expectations, forced decoding, Viterbi EM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualign.core.lazy import lazily

if TYPE_CHECKING:
    from dualign.phrase.alignment.aligning import PhraseAlignment, align, decide
    from dualign.phrase.alignment.constructions import matching_pair, satisfiability_pair
    from dualign.phrase.alignment.forced import Forced, decode
    from dualign.phrase.alignment.phrase_em import train
    from dualign.phrase.alignment.summing import Sums, expectations, sums, total
    from dualign.phrase.table.extraction import extract
    from dualign.phrase.table.occurrences import Occurrences
    from dualign.phrase.table.table_building import build_table

__all__ = [
    "Forced",
    "Occurrences",
    "PhraseAlignment",
    "Sums",
    "align",
    "build_table",
    "decide",
    "decode",
    "expectations",
    "extract",
    "matching_pair",
    "satisfiability_pair",
    "sums",
    "total",
    "train",
]

_HOMES = {
    "Forced": "alignment.forced",
    "Occurrences": "table.occurrences",
    "PhraseAlignment": "alignment.aligning",
    "Sums": "alignment.summing",
    "align": "alignment.aligning",
    "build_table": "table.table_building",
    "decide": "alignment.aligning",
    "decode": "alignment.forced",
    "expectations": "alignment.summing",
    "extract": "table.extraction",
    "matching_pair": "alignment.constructions",
    "satisfiability_pair": "alignment.constructions",
    "sums": "alignment.summing",
    "total": "alignment.summing",
    "train": "alignment.phrase_em",
}
__getattr__, __dir__ = lazily(__name__, _HOMES)
