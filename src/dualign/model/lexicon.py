"""The lexical table: both directions' translation probabilities over word pairs that may be linked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
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


def normalized(lexicon: Lexicon) -> Array:
    """The table as distributions: p(w | v) adds up to 1 over w, p(v | w) over v, float64 (entries, 2).

    In a trained lexicon they may fall short of it, because counts of rare pairs are partly left out.
    """
    table = lexicon.table.astype(float)
    rows = np.repeat(np.arange(len(lexicon.rows) - 1), np.diff(lexicon.rows))
    for d, word in enumerate((rows, lexicon.columns)):
        sums = np.bincount(word, table[:, d])[word] if len(word) else table[:, d]
        np.divide(table[:, d], sums, out=table[:, d], where=sums > 0)
    return table


def divide_columns(table: Array, columns: Array, sums: Array, threads: int) -> None:
    """Turn the counts of a lexicon's second direction into p(v | w); `sums` float64 (words): over v."""

    def divide(bounds: tuple[int, int]) -> None:
        divide_entries(*bounds, table, columns, sums)

    list(ordered_map(timed("dividing", divide), spans(len(columns), 1 << 18), threads))


@kernel()
def divide_entries(m0: int, m1: int, table: Array, columns: Array, sums: Array) -> None:
    """Divide the second direction of the entries m0..m1 by the sums of their columns."""
    for m in range(m0, m1):
        z = sums[columns[m]]
        table[m, 1] = table[m, 1] / z if z > 0 else 0.0
