"""Phrase pairs that are consistent with word links (Koehn, Och & Marcu 2003, §2).

A pair of spans is consistent if a link is inside it and no link has one word inside and the other outside.
Words without links may stand at the edges. Each has orientations before and behind it, by words (Moses'
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

from dualign._core.arrays import Array
from dualign._core.errors import refusing
from dualign._core.fields import check_value
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import doubled
from dualign.phrase.weights import PhraseLink
from dualign.text.checks import links_inside
from dualign.text.links import Alignment, Link

LONGEST = 16
"""Words that a phrase may have at most."""

COUNTS = 5
"""Columns of counts: all, monotone and swap before, monotone and swap behind."""


class EncodedPhrases(NamedTuple):
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
    """How a phrase pair is packed into uint64 columns: source, target, alignment, counts.

    A phrase is its words' numbers, `bits` each, the first in the highest bits, and a number that stands for
    its end; rows sort like the text does if numbers sort like words. Bit `a · longest + b` of the alignment
    links word a of the source phrase with word b of the target phrase.
    """

    longest: int
    bits: int
    source_end: int
    target_end: int
    phrase: int
    """Columns of one phrase."""
    keys: int
    """Columns before the counts."""
    columns: int
    """All columns."""


def new_layout(longest: int, bits: int, source_end: int, target_end: int) -> Layout:
    """Return the layout of phrases of up to `longest` words with numbers of that many bits."""
    phrase = -(-(longest + 1) // (64 // bits))
    keys = 2 * phrase + -(-longest * longest // 64)
    return Layout(longest, bits, source_end, target_end, phrase, keys, keys + COUNTS)


def extract(
    links: Iterable[Link], source_length: int, target_length: int, *, max_length: int = 7
) -> list[PhraseLink]:
    """Return all consistent phrase pairs of one sentence pair, up to `max_length` words per side, sorted."""
    check_value("max_length", max_length, least=1, most=LONGEST)
    what = "links={links!r:.60} are not pairs (i, j) of whole numbers"
    with refusing(TypeError, ValueError, what=what, links=links):
        points = sorted({(index(i), index(j)) for i, j in Alignment.of(links).links})
    links_inside(points, source_length, target_length)
    spans = compiled_phrase_spans(
        np.array(points, np.int32).reshape(-1, 2), source_length, target_length, max_length
    )
    return sorted((i, j, k, l) for i, j, k, l in spans.tolist())


@part
def phrase_spans(links: Array, I: int, J: int, longest: int) -> Array:
    """Return the phrase pairs of one sentence pair: i, j, k, l, int64 [pairs, 4]."""
    targets, sources = _ranges(links, 0, I, J), _ranges(links, 1, J, I)
    spans = np.empty((256, 4), np.int64)
    used = 0
    for i in range(I):
        low, high = J, -1
        for j in range(i + 1, min(i + longest, I) + 1):
            low, high = min(low, targets[j - 1, 0]), max(high, targets[j - 1, 1])
            if high < 0:
                continue
            if high - low >= longest:
                break
            if _within(sources, low, high, i, j):
                spans, used = _widened(spans, used, (i, j, low, high + 1), sources, longest)
    return spans[:used]


compiled_phrase_spans = kernel(phrase_spans)


@part
def _ranges(links: Array, side: int, length: int, other_length: int) -> Array:
    """Return first and last word that each word of a side is linked to, [length, 2]; none: `other_length` and
    −1."""
    ranges = np.empty((length, 2), np.int64)
    ranges[:, 0] = other_length
    ranges[:, 1] = -1
    for a in range(len(links)):
        x, y = links[a, side], links[a, 1 - side]
        ranges[x, 0] = min(ranges[x, 0], y)
        ranges[x, 1] = max(ranges[x, 1], y)
    return ranges


@part(allocates=False)
def _within(sources: Array, low: int, high: int, i: int, j: int) -> bool:
    """Return whether all links of the target words low..high lead to the source words i..j−1."""
    t = low
    while t <= high and sources[t, 0] >= i and sources[t, 1] < j:
        t += 1
    return t > high


@part
def _widened(
    spans: Array, used: int, tight: tuple[int, int, int, int], sources: Array, longest: int
) -> tuple[Array, int]:
    """Append a phrase pair, and those that have target words without links at its edges as well."""
    i, j, low, high = tight
    k = low
    while k >= 0 and high - k <= longest and (k == low or sources[k, 1] < 0):
        l = high
        while l <= len(sources) and l - k <= longest and (l == high or sources[l - 1, 1] < 0):
            if used == len(spans):
                spans = doubled(spans)
            spans[used, 0], spans[used, 1], spans[used, 2], spans[used, 3] = i, j, k, l
            used += 1
            l += 1
        k -= 1
    return spans, used


@kernel
def extract_rows(pairs: EncodedPhrases, layout: Layout) -> Array:
    """Return a row for each phrase pair of each sentence pair."""
    rows = np.empty((1024, layout.columns), np.uint64)
    used = 0
    for n in range(len(pairs.source_offsets) - 1):
        source = pairs.source[pairs.source_offsets[n] : pairs.source_offsets[n + 1]]
        target = pairs.target[pairs.target_offsets[n] : pairs.target_offsets[n + 1]]
        links = pairs.links[pairs.link_offsets[n] : pairs.link_offsets[n + 1]]
        if len(links) == 0:
            continue
        # One more row and column on each side: the ends of the sentences.
        linked = np.zeros((len(source) + 2, len(target) + 2), np.bool_)
        linked[0, 0] = linked[len(source) + 1, len(target) + 1] = True
        for a in range(len(links)):
            linked[links[a, 0] + 1, links[a, 1] + 1] = True
        spans = phrase_spans(links, len(source), len(target), layout.longest)
        while used + len(spans) > len(rows):
            rows = doubled(rows)
        for m in range(len(spans)):
            row, (i, j, k, l) = rows[used], (spans[m, 0], spans[m, 1], spans[m, 2], spans[m, 3])
            row[:] = 0
            _pack(source[i:j], layout.source_end, layout.bits, row)
            _pack(target[k:l], layout.target_end, layout.bits, row[layout.phrase :])
            _mark(linked[i : j + 2, k : l + 2], layout, row)
            used += 1
    return rows[:used]


@part(allocates=False)
def _pack(words: Array, last: int, bits: int, row: Array) -> None:
    """Pack words and the number `last` into a row."""
    per = 64 // bits
    for n in range(len(words) + 1):
        word = np.uint64(words[n] if n < len(words) else last)
        row[n // per] |= word << np.uint64((per - 1 - n % per) * bits)


@part(allocates=False)
def _mark(linked: Array, layout: Layout, row: Array) -> None:
    """Pack the links and the orientations of a phrase pair, given the links of it and of the words around."""
    height, width = linked.shape[0] - 2, linked.shape[1] - 2
    for a in range(height):
        for b in range(width):
            if linked[a + 1, b + 1]:
                bit = a * layout.longest + b
                row[2 * layout.phrase + bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
    row[layout.keys] = 1
    straight, crossed = linked[0, 0], linked[height + 1, 0]
    row[layout.keys + 1] = straight and not crossed
    row[layout.keys + 2] = crossed and not straight
    straight, crossed = linked[height + 1, width + 1], linked[0, width + 1]
    row[layout.keys + 3] = straight and not crossed
    row[layout.keys + 4] = crossed and not straight
