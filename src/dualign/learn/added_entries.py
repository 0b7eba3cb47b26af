"""Entries that a lexicon must have although Model 1 has not found or kept them."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.model.lexicon import Lexicon
from dualign.text.bitext import Bitext

LEAST = np.float32(1e-6)
"""Their probability to begin with: they are there to be counted."""


def with_entries(lexicon: Lexicon, source: Array, target: Array) -> Lexicon:
    """The lexicon with entries for these pairs of words, at the end of their rows, where it has none yet."""
    if len(source) == 0:
        return lexicon
    words = len(lexicon.null_target)
    rows = np.repeat(np.arange(len(lexicon.rows) - 1), np.diff(lexicon.rows))
    asked = np.unique(source.astype(np.int64) * words + target)
    new = asked[~np.isin(asked, rows * words + lexicon.columns)]
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
    rows = np.repeat(np.arange(len(lexicon.rows) - 1), np.diff(lexicon.rows))
    keys = rows * words + lexicon.columns
    order = np.argsort(keys)
    return order[np.searchsorted(keys, source.astype(np.int64) * words + target, sorter=order)]


def pinned_words(bitext: Bitext) -> tuple[Array, Array]:
    """The pairs of words of all known links."""
    pins = bitext.pins
    pair = np.repeat(np.arange(len(pins.pinned)), np.diff(pins.begin)[: len(pins.pinned)])
    source = bitext.source.offsets[pair] + pins.source
    target = bitext.target.offsets[pair] + pins.target
    return bitext.source.tokens[source], bitext.target.tokens[target]
