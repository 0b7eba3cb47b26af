"""Phrase pairs that are consistent with word links (Koehn, Och & Marcu 2003, §2).

A pair of spans is consistent if a link is inside it and no link has one word inside and the other outside.
Words without links may stand at the edges. With each comes how its neighbours go on, by words (Moses'
`wbe-msd`): *monotone* if the words before (behind) both spans are linked, *swap* if the word before (behind)
the target span is linked to the word behind (before) the source span, and not both; else *discontinuous*.
The ends of the sentences count as words linked to each other.

`extract_rows` packs what it finds into rows of uint64, whose order is that of the words (see `Layout`).
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError, UsageError
from dualign.core.jit import kernel
from dualign.phrase.alignment.weighted import PhraseLink
from dualign.text.alignment import Alignment, Link

LONGEST = 16
"""Words that a phrase may have at most."""

COUNTS = 5
"""Columns of counts: all, monotone and swap before, monotone and swap behind."""


class Encoded(NamedTuple):
    """Sentence pairs as flat arrays; `*_offsets` have one element more than there are pairs."""

    source: Array
    """Words of all source sentences, whole numbers from 1."""
    source_offsets: Array
    target: Array
    target_offsets: Array
    links: Array
    """int32 [links, 2]: (source, target) positions within the pair, sorted."""
    link_offsets: Array


class Layout(NamedTuple):
    """How a phrase pair is packed: source, target, alignment, counts.

    A phrase is its words' numbers, `bits` each, the first in the highest bits, and a number that stands for
    its end; rows sort like the text does if numbers sort like words. Bit `a · longest + b` of the alignment
    links word a of the source phrase with word b of the target phrase.
    """

    longest: int
    bits: int
    source_end: int
    target_end: int

    @property
    def phrase(self) -> int:
        """Columns of one phrase."""
        return -(-(self.longest + 1) // (64 // self.bits))

    @property
    def keys(self) -> int:
        """Columns before the counts."""
        return 2 * self.phrase + -(-self.longest * self.longest // 64)

    @property
    def columns(self) -> int:
        """All columns."""
        return self.keys + COUNTS


def extract(
    links: Iterable[Link], source_length: int, target_length: int, *, max_length: int = 7
) -> list[PhraseLink]:
    """All consistent phrase pairs of one sentence pair, up to `max_length` words a side, sorted."""
    if not 1 <= max_length <= LONGEST:
        raise UsageError(f"max_length={max_length} is not in 1..{LONGEST}")
    try:
        points = sorted({(index(i), index(j)) for i, j in Alignment.of(links).links})
    except (TypeError, ValueError):
        raise DataError(f"links={links!r:.60} are not pairs (i, j) of whole numbers") from None
    for i, j in points:
        if not (0 <= i < source_length and 0 <= j < target_length):
            raise DataError(f"link {i}-{j} is outside a pair of {source_length} and {target_length} words")
    # Numbering the words by position turns the packed phrases back into spans.
    lengths = source_length, target_length
    layout = Layout(max_length, max(1, int(max(lengths) + 1).bit_length()), *(n + 1 for n in lengths))
    pair = Encoded(
        np.arange(1, source_length + 1),
        np.array([0, source_length]),
        np.arange(1, target_length + 1),
        np.array([0, target_length]),
        np.array(points, dtype=np.int32).reshape(-1, 2),
        np.array([0, len(points)]),
    )
    rows = extract_rows(pair, layout, layout.phrase, layout.keys, layout.columns)
    words = unpack(rows, layout, 0), unpack(rows, layout, layout.phrase)
    found = []
    for source, target in zip(*words, strict=True):
        i, k = int(source[0]) - 1, int(target[0]) - 1
        j = i + int(((source > 0) & (source != layout.source_end)).sum())
        l = k + int(((target > 0) & (target != layout.target_end)).sum())
        found.append((i, j, k, l))
    return sorted(found)


def unpack(rows: Array, layout: Layout, column: int) -> Array:
    """The word numbers of a phrase of each row, int64 [rows, longest + 1]; the end's number and 0 follow."""
    per = 64 // layout.bits
    at = np.arange(layout.longest + 1)
    shift = ((per - 1 - at % per) * layout.bits).astype(np.uint64)
    packed = rows[:, column + at // per]
    return ((packed >> shift) & np.uint64((1 << layout.bits) - 1)).astype(np.int64)


@kernel()
def _pack(words: Array, begin: int, end: int, last: int, bits: int, row: Array, column: int) -> None:
    """Pack words begin..end−1 and the number `last` into a row from a column on."""
    per = 64 // bits
    for n in range(end - begin + 1):
        word = np.uint64(words[begin + n] if begin + n < end else last)
        row[column + n // per] |= word << np.uint64((per - 1 - n % per) * bits)


@kernel()
def extract_rows(pairs: Encoded, layout: Layout, phrase: int, keys: int, columns: int) -> Array:
    """A row for each phrase pair of each sentence pair; `phrase`, `keys`, `columns` are the layout's."""
    longest = layout.longest
    rows = np.zeros((1024, columns), np.uint64)
    used = 0
    for n in range(len(pairs.source_offsets) - 1):
        source_begin, target_begin = pairs.source_offsets[n], pairs.target_offsets[n]
        I = pairs.source_offsets[n + 1] - source_begin
        J = pairs.target_offsets[n + 1] - target_begin
        links = pairs.links[pairs.link_offsets[n] : pairs.link_offsets[n + 1]]
        if len(links) == 0:
            continue
        source, target = pairs.source[source_begin:], pairs.target[target_begin:]
        # One more row and column on each side: the ends of the sentences.
        linked = np.zeros((I + 2, J + 2), np.bool_)
        linked[0, 0] = linked[I + 1, J + 1] = True
        first_target = np.full(I, J)
        last_target = np.full(I, -1)
        first_source = np.full(J, I)
        last_source = np.full(J, -1)
        for a in range(len(links)):
            s, t = links[a, 0], links[a, 1]
            linked[s + 1, t + 1] = True
            first_target[s] = min(first_target[s], t)
            last_target[s] = max(last_target[s], t)
            first_source[t] = min(first_source[t], s)
            last_source[t] = max(last_source[t], s)
        for i in range(I):
            low, high = J, -1
            for j in range(i + 1, min(i + longest, I) + 1):
                low = min(low, first_target[j - 1])
                high = max(high, last_target[j - 1])
                if high < 0:
                    continue
                if high - low >= longest:
                    break
                consistent = True
                for t in range(low, high + 1):
                    if first_source[t] < i or last_source[t] >= j:
                        consistent = False
                        break
                if not consistent:
                    continue
                k = low
                while True:
                    l = high + 1
                    while True:
                        if used == len(rows):
                            wider = np.zeros((2 * used, columns), np.uint64)
                            wider[:used] = rows
                            rows = wider
                        row = rows[used]
                        used += 1
                        _pack(source, i, j, layout.source_end, layout.bits, row, 0)
                        _pack(target, k, l, layout.target_end, layout.bits, row, phrase)
                        for s in range(i, j):
                            for t in range(low, high + 1):
                                if linked[s + 1, t + 1]:
                                    bit = (s - i) * longest + (t - k)
                                    row[2 * phrase + bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
                        row[keys] = 1
                        straight, crossed = linked[i, k], linked[j + 1, k]
                        row[keys + 1] = straight and not crossed
                        row[keys + 2] = crossed and not straight
                        straight, crossed = linked[j + 1, l + 1], linked[i, l + 1]
                        row[keys + 3] = straight and not crossed
                        row[keys + 4] = crossed and not straight
                        l += 1
                        if l > J or l - k > longest or last_source[l - 1] >= 0:
                            break
                    k -= 1
                    if k < 0 or high + 1 - k > longest or last_source[k] >= 0:
                        break
    return rows[:used]
