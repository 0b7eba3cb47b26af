"""How well the two sides of a sentence pair fit, by the model that aligned them: for filters of text."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.html_table import html_table
from dualign.decode.links import Links


class PairScore(NamedTuple):
    """Scores of one sentence pair; they do not depend on the pairs that are aligned with it.

    `target_given_source` is log p(target | source) / J for a target of J words, the sum over all alignments
    by the model's own chain (natural logarithm, before any projection); `source_given_target` is the same
    with the sides exchanged. Both are NaN for a pair with an empty side, or one too long to align. They are
    log-probabilities up to two approximations: words that never occurred together have a constant floor, and
    words that the model does not know are scored by their spelling.

    `mean_probability` is that of the links, 0 if there are none; `unlinked` the share of the words of both
    sides that have no link, 1 if there are none.
    """

    target_given_source: float
    source_given_target: float
    mean_probability: float
    unlinked: float

    def _repr_html_(self) -> str:
        return html_table((name.replace("_", " "), f"{value:.4f}") for name, value in self._asdict().items())


def scores_of(links: Links) -> Iterator[PairScore]:
    """The scores of each pair, from its links and likelihoods."""
    I, J = links.lengths.T
    empty = (I == 0) | (J == 0)
    pair = np.repeat(np.arange(len(links)), links.count)
    # Each sum over the links of one pair alone, in their order: other pairs must not change its rounding.
    total = np.bincount(pair, links.probability, len(links))
    linked = sum(_linked(pair, side, len(links)) for side in (links.source, links.target))
    words, count = np.maximum(I + J, 1), np.maximum(links.count, 1)
    columns = (
        np.where(empty, nan, links.likelihood[:, 0] / np.maximum(J, 1)),
        np.where(empty, nan, links.likelihood[:, 1] / np.maximum(I, 1)),
        total / count,
        1 - linked / words,
    )
    return map(PairScore, *(column.tolist() for column in columns))


def _linked(pair: Array, word: Array, pairs: int) -> Array:
    """How many words of one side have a link, for each pair."""
    different = np.unique((pair.astype(np.int64) << 32) | word)
    return np.bincount(different >> 32, minlength=pairs)
