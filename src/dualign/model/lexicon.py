"""The lexical table: both directions' translation probabilities over word pairs that may be linked."""

from __future__ import annotations

from typing import NamedTuple

from dualign.core.arrays import Array


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
