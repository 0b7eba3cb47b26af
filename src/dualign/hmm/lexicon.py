"""The lexical table: both directions' translation probabilities over word pairs that may be linked.

Some entries it must have although Model 1 has not found or kept them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign.text.corpus import Bitext


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

    @property
    def sources(self) -> Array:
        """The source word of each entry, whose target word is in `columns`."""
        return np.repeat(np.arange(len(self.rows) - 1), np.diff(self.rows))


def normalized(lexicon: Lexicon) -> Array:
    """The table as distributions: p(w | v) adds up to 1 over w, p(v | w) over v, float64 (entries, 2).

    In a trained lexicon they may fall short of it, because counts of rare pairs are partly left out.
    """
    return shares(lexicon, lexicon.table.astype(float), (0.0, 0.0))


def shares(lexicon: Lexicon, counts: Array, left_out: tuple[Array | float, Array | float]) -> Array:
    """Counts of its entries as shares of all that their words have, with what is left out of them."""
    found = np.zeros_like(counts)
    for d, (word, null) in enumerate(
        ((lexicon.sources, lexicon.null_source), (lexicon.columns, lexicon.null_target))
    ):
        sums = (np.bincount(word, counts[:, d], len(null)) + left_out[d])[word]
        np.divide(counts[:, d], sums, out=found[:, d], where=sums > 0)
    return found


LEAST = np.float32(1e-6)
"""Their probability to begin with: they are there to be counted."""


def with_entries(lexicon: Lexicon, source: Array, target: Array) -> Lexicon:
    """The lexicon with entries for these pairs of words, at the end of their rows, where it has none yet."""
    if len(source) == 0:
        return lexicon
    words = len(lexicon.null_target)
    asked = np.unique(source.astype(np.int64) * words + target)
    new = asked[~np.isin(asked, lexicon.sources * words + lexicon.columns)]
    if len(new) == 0:
        return lexicon
    v, w = np.divmod(new, words)
    ends = lexicon.rows[v + 1]
    return lexicon._replace(
        rows=lexicon.rows + np.concatenate(([0], np.cumsum(np.bincount(v, minlength=len(lexicon.rows) - 1)))),
        columns=np.insert(lexicon.columns, ends, w.astype(np.int32)),
        table=np.insert(lexicon.table, ends, LEAST, axis=0),
    )


def carried_over(values: Array, before: Array, after: Array) -> Array:
    """Values of the entries of a lexicon for those it has after entries were added: 0 for the new ones.

    `before`, `after`: the lexicon's `rows`.
    """
    if before[-1] == after[-1]:
        return values
    carried = np.zeros(after[-1], values.dtype)
    added = np.diff(after) - np.diff(before)
    carried[np.repeat(np.tile([True, False], len(added)), np.ravel((np.diff(before), added), "F"))] = values
    return carried


def entries_of(lexicon: Lexicon, source: Array, target: Array) -> Array:
    """The numbers of the entries of these pairs of words, all of which the lexicon has."""
    if len(source) == 0:
        return np.zeros(0, np.int64)
    words = len(lexicon.null_target)
    keys = lexicon.sources * words + lexicon.columns
    order = np.argsort(keys)
    return order[np.searchsorted(keys, source.astype(np.int64) * words + target, sorter=order)]


def pinned_words(bitext: Bitext) -> tuple[Array, Array]:
    """The pairs of words of all known links."""
    pins = bitext.pins
    pair = np.repeat(np.arange(len(pins.pinned)), np.diff(pins.begin)[: len(pins.pinned)])
    source = bitext.source.offsets[pair] + pins.source
    target = bitext.target.offsets[pair] + pins.target
    return bitext.source.tokens[source], bitext.target.tokens[target]
