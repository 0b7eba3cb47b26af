"""The lexical table: both directions' translation probabilities over word pairs that may be linked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.phases import timed
from dualign.core.threads import ordered_map, spans


class Lexicon(NamedTuple):
    """Row v lists the target words that source word v may be linked with.

    `rows` int64 (source words + 1); `columns` int32 (entries): the target words of row v are
    `columns[rows[v] : rows[v + 1]]`; `table` float32 (entries, 2): p(w | v) and p(v | w);
    `null_target` float32 (target words): p(w | null); `null_source` float32 (source words): p(v | null).
    """

    rows: Array
    columns: Array
    table: Array
    null_target: Array
    null_source: Array


def divide_columns(table: Array, columns: Array, sums: Array, threads: int) -> None:
    """Turn the counts of a lexicon's second direction into p(v | w); `sums` float64 (words): over v."""

    def divide(bounds: tuple[int, int]) -> None:
        part = slice(*bounds)
        z = sums[columns[part]]
        table[part, 1] = np.divide(table[part, 1], z, out=np.zeros_like(z), where=z > 0)

    list(ordered_map(timed("dividing", divide), spans(len(columns), 1 << 18), threads))
