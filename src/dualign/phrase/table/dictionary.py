"""A bilingual dictionary from word links: `p(target | source)` and `p(source | target)`, null included.

A link counts one; so does a word without links, as linked to null. The probabilities are relative
frequencies, as in Koehn, Och & Marcu 2003, §2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TextIO

import numpy as np

from dualign.core.arrays import Array
from dualign.phrase.table.extraction import Encoded

_NULL = "NULL"  # how files write the null word, which has number 0 and no name here

_SHIFT = np.uint64(32)
_HELD = 1 << 22


class Dictionary(NamedTuple):
    """Word pairs sorted by their numbers; those of source word s are `begin[s]` to `begin[s + 1]`."""

    begin: Array
    targets: Array
    """int64."""
    forward: Array
    """p(target | source)."""
    backward: Array
    """p(source | target)."""


class LinkCounts:
    """Counts of linked words, in memory for the distinct pairs of words."""

    def __init__(self) -> None:
        self._keys: list[Array] = [np.empty(0, np.uint64)]
        self._counts: list[Array] = [np.empty(0, np.int64)]

    def add(self, pairs: Encoded) -> None:
        """Count the links of sentence pairs."""
        owner = np.repeat(np.arange(len(pairs.link_offsets) - 1), np.diff(pairs.link_offsets))
        at_source = pairs.links[:, 0] + pairs.source_offsets[owner]
        at_target = pairs.links[:, 1] + pairs.target_offsets[owner]
        alone_source = np.ones(len(pairs.source), np.bool_)
        alone_target = np.ones(len(pairs.target), np.bool_)
        alone_source[at_source] = alone_target[at_target] = False
        keys = np.concatenate(
            (
                pairs.source[at_source].astype(np.uint64) << _SHIFT
                | pairs.target[at_target].astype(np.uint64),
                pairs.source[alone_source].astype(np.uint64) << _SHIFT,
                pairs.target[alone_target].astype(np.uint64),
            )
        )
        keys, counts = np.unique(keys, return_counts=True)
        self._keys.append(keys)
        self._counts.append(counts)
        if sum(map(len, self._keys[1:])) > max(_HELD, len(self._keys[0])):
            self._unite()

    def dictionary(self, source_rank: Array, target_rank: Array) -> Dictionary:
        """The probabilities, with words renumbered: word n becomes `rank[n]`; null keeps 0."""
        self._unite()
        keys, counts = self._keys[0], self._counts[0]
        source = source_rank[(keys >> _SHIFT).astype(np.int64)]
        target = target_rank[(keys & np.uint64(0xFFFFFFFF)).astype(np.int64)]
        order = np.lexsort((target, source))
        source, target, counts = source[order], target[order], counts[order]
        of_source = np.bincount(source, counts, minlength=len(source_rank))
        of_target = np.bincount(target, counts, minlength=len(target_rank))
        # Numbers of the rows, with room for every number a rank may give.
        begin = np.searchsorted(source, np.arange(int(source_rank.max(initial=0)) + 2))
        return Dictionary(begin, target, counts / of_source[source], counts / of_target[target])

    def _unite(self) -> None:
        keys, inverse = np.unique(np.concatenate(self._keys), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate(self._counts), minlength=len(keys)).astype(np.int64)
        self._keys, self._counts = [keys], [counts]


def write_dictionary(
    dictionary: Dictionary, source_words: list[str], target_words: list[str], outputs: Sequence[TextIO]
) -> None:
    """Write lines `target source p(target|source)` to the first output, the other way round to the second.

    These are Moses' `lex.f2e` and `lex.e2f`; Marian reads the first as a shortlist. No outputs: nothing.
    """
    source_words, target_words = [_NULL, *source_words[1:]], [_NULL, *target_words[1:]]
    sources = np.repeat(np.arange(len(dictionary.begin) - 1), np.diff(dictionary.begin))
    orders = np.arange(len(sources)), np.lexsort((sources, dictionary.targets))
    sides = (dictionary.targets, target_words), (sources, source_words)
    for stream, order, probabilities, (left, right) in zip(
        outputs, orders, (dictionary.forward, dictionary.backward), (sides, sides[::-1]), strict=False
    ):
        columns = (left[0][order].tolist(), right[0][order].tolist(), probabilities[order].tolist())
        stream.writelines(f"{left[1][a]} {right[1][b]} {p:.7f}\n" for a, b, p in zip(*columns, strict=True))
