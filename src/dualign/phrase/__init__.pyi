from .aligning import PhraseAlignment as PhraseAlignment
from .aligning import align as align
from .aligning import decide as decide
from .extraction import extract as extract
from .forced import Forced as Forced
from .forced import decode as decode
from .occurrences import Occurrences as Occurrences
from .phrase_em import train as train
from .phrase_tables import build_table as build_table
from .summing import Sums as Sums
from .summing import expectations as expectations
from .summing import sums as sums
from .summing import total as total
from .weights import matching_pair as matching_pair
from .weights import satisfiability_pair as satisfiability_pair

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
