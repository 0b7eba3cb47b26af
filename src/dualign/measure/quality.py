"""How good links are: alignment error rate, precision, recall and F1 against gold links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dualign.core.html_table import html_table
from dualign.measure.link_counts import LinkSet, as_pairs, count, rates


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Rates over all sentence pairs together, and the numbers they come from."""

    aer: float
    """`1 − (|A∩S| + |A∩P|) / (|A| + |S|)`, of answer A, sure links S and possible links P ⊇ S."""
    precision: float
    """`|A∩P| / |A|`."""
    recall: float
    """`|A∩S| / |S|`."""
    f1: float
    """Harmonic mean of precision and recall."""
    links: int
    """`|A|`."""
    sure: int
    """`|S|`."""
    possible: int
    """`|P|`; sure links are possible too."""
    pairs: int
    """Sentence pairs, those without any link included."""

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> Evaluation:
        """Sum counts `[sentence pair, 5]` (see `dualign.measure.link_counts`) and rate the sum."""
        total = counts.sum(axis=0)
        aer, precision, recall, f1 = map(float, rates(total))
        links, sure, possible = map(int, total[:3])
        return cls(aer, precision, recall, f1, links, sure, possible, pairs=len(counts))

    def as_dict(self) -> dict[str, float | int]:
        """The fields by name, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        rates = (("AER", self.aer), ("precision", self.precision), ("recall", self.recall), ("F1", self.f1))
        counts = ("pairs", self.pairs), ("links", self.links), ("sure gold links", self.sure)
        rows = [(name, f"{100 * value:.2f} %") for name, value in rates]
        return html_table(rows + [(name, f"{value:,}") for name, value in counts])


def evaluate(links: Iterable[LinkSet], gold: Iterable[LinkSet]) -> Evaluation:
    """Compare the links of each sentence pair with its gold links.

    Items of either side are `Alignment`s, Pharaoh lines or iterables of `(source, target)`, counted from 0.
    Gold possible links (`Alignment.possible`, `i?j`, `ipj`) cost nothing if found and nothing if missed; of
    the answer only sure links count. Precision is 1 if the answer is empty, recall is 1 if gold has no sure
    links, and AER is 0 if both hold.

    Och & Ney 2003, §5. Raises `DataError` if the two sides differ in length or an item is not a set of links.
    """
    return Evaluation.of(count(as_pairs(links, gold)))
