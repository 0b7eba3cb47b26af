"""Phrases: extraction, exact bijective alignment, sums and expectations, forced decoding, Viterbi EM.

Names are imported when they are first used, like those of `dualign`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dualign.phrase.aligning import align, decide
    from dualign.phrase.constructions import matching_pair, satisfiability_pair
    from dualign.phrase.em import train
    from dualign.phrase.extraction import extract
    from dualign.phrase.forced import decode
    from dualign.phrase.occurrences import Occurrences
    from dualign.phrase.summing import Sums, expectations, sums, total
    from dualign.phrase.table_building import build_table

__all__ = [
    "Occurrences",
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
    "Occurrences": "occurrences",
    "Sums": "summing",
    "align": "aligning",
    "build_table": "table_building",
    "decide": "aligning",
    "decode": "forced",
    "expectations": "summing",
    "extract": "extraction",
    "matching_pair": "constructions",
    "satisfiability_pair": "constructions",
    "sums": "summing",
    "total": "summing",
    "train": "em",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dualign.phrase' has no attribute '{name}'")
    return getattr(import_module(f"dualign.phrase.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
