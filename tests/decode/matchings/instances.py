"""Small matching problems for property tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dualign.decode.matchings.api import CONCAVE


@dataclass(frozen=True)
class Instance:
    scores: np.ndarray
    alpha: float
    concave: str
    row_limits: list[int]
    column_limits: list[int]

    @property
    def keywords(self) -> dict:
        names = ("alpha", "concave", "row_limits", "column_limits")
        return {name: getattr(self, name) for name in names}

    @property
    def weights(self) -> tuple[float, float]:
        return CONCAVE[self.concave]

    @property
    def matroids(self) -> int:
        """Sides whose limits bind."""
        rows, columns = self.scores.shape
        return any(k < columns for k in self.row_limits) + any(k < rows for k in self.column_limits)


# Few distinct values make ties; wide ones make gains that drown in the sums they are added to.
FEW = st.sampled_from([0.0, 0.25, 0.5, 1.0])
FINE = st.floats(0.0, 1.0, width=32)
WIDE = st.builds(lambda mantissa, exponent: mantissa * 10.0**exponent, st.floats(1, 9), st.integers(-40, 40))


@st.composite
def instances(
    draw: st.DrawFn, most_cells: int = 12, longest: int = 6, score: st.SearchStrategy | None = None
):
    rows = draw(st.integers(1, longest))
    columns = draw(st.integers(1, max(1, min(longest, most_cells // rows))))
    kind = draw(st.sampled_from([FEW, FINE, st.one_of(FEW, WIDE)])) if score is None else score
    flat = draw(st.lists(kind, min_size=rows * columns, max_size=rows * columns))
    return Instance(
        np.array(flat).reshape(rows, columns),
        draw(st.sampled_from([0.5, 1.0, 0.01, 0.3, 0.8, 0.999])),
        draw(st.sampled_from(sorted(CONCAVE))),
        draw(st.one_of(st.just([columns] * rows), limits(rows, columns))),
        draw(st.one_of(st.just([rows] * columns), limits(columns, rows))),
    )


def limits(words: int, most: int) -> st.SearchStrategy[list[int]]:
    return st.one_of(st.just([1] * words), st.lists(st.integers(0, most), min_size=words, max_size=words))
