"""The written forms of words: how similar two words are, and which share a stem.

Similarity is the longest common subsequence over the longer length, of forms without diacritics; words with
digits are similar only when equal. Stems are simply the first letters, or the first ideograph, which says as
much as several letters. Both are crude, need no knowledge of the languages, and carry over to words never
seen before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import NamedTuple
from unicodedata import combining, normalize

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part

ALIKE = 0.5
"""Less similarity than this counts as none."""

POWER = 4
"""Likeness counts as similarity to this power."""

IDEOGRAPHS = (("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U0003ffff"))
"""Unified ideographs, with their extensions and compatibility forms."""

LONGEST = 62
"""Letters of a word that are compared: the bits of a machine word, less the sign."""


class Forms(NamedTuple):
    """Letters of each word: word v is `letters[offsets[v] : offsets[v + 1]]` (int32 code points)."""

    letters: Array
    offsets: Array


def forms_of(words: Iterable[str]) -> Forms:
    """Forms without diacritics, cut to LONGEST letters."""
    words = list(words)
    # All at once, which takes less than half the time. No text has a line feed in a word, but a caller may.
    marked = [word.replace("\n", " ") for word in words if not word.isascii()]
    others = iter(without_marks("\n".join(marked)).split("\n"))
    plain = [(word if word.isascii() else next(others))[:LONGEST] for word in words]
    offsets = np.zeros(len(plain) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, plain), np.int64, len(plain)), out=offsets[1:])
    letters = np.frombuffer("".join(plain).encode("utf-32-le", "surrogatepass"), "<i4").astype(np.int32)
    return Forms(letters, offsets)


def without_marks(text: str) -> str:
    """Drop combining marks: é becomes e; scripts without them stay as they are."""
    text = normalize("NFKD", text)
    for mark in filter(combining, set(text)):
        text = text.replace(mark, "")
    return text


def stem_of(word: str, letters: int) -> str:
    """Its first letters, or the first alone if that is a Chinese ideograph."""
    first = word[:1]
    if first >= IDEOGRAPHS[0][0] and any(low <= first <= high for low, high in IDEOGRAPHS):
        return first
    return word[:letters]


def stems_of(words: Iterable[str], letters: int) -> Array:
    """The number of each word's stem (see `stem_of`), in the order in which stems appear."""
    numbers: dict[str, int] = defaultdict(count().__next__)
    return np.fromiter(map(numbers.__getitem__, [stem_of(word, letters) for word in words]), np.int32)


@part
def similarity(a: Array, b: Array, places: Array) -> float:
    """How similar two forms are, from 0 to 1; `places` (int64, ≥ 1 << 10) is all zero before and after.

    The longest common subsequence is found with one machine word for a whole row of its table (Hyyrö 2004).
    Letters whose code points agree in the last ten bits are kept apart by comparing them.
    """
    m, n = len(a), len(b)
    if m == n:
        same = True
        for k in range(m):
            if a[k] != b[k]:
                same = False
                break
        if same:
            return 1.0
    if m < 3 or n < 3:
        return 0.0
    for k in range(m):
        if 48 <= a[k] <= 57:
            return 0.0
    for k in range(n):
        if 48 <= b[k] <= 57:
            return 0.0
    distinct = True
    for k in range(m):
        bits = places[a[k] & 1023]
        distinct = distinct and (bits == 0 or a[lowest(bits)] == a[k])
        places[a[k] & 1023] = bits | (np.int64(1) << k)
    row = ~np.int64(0)
    for k in range(n):
        match = places[b[k] & 1023]
        if match != 0 and not (distinct and a[lowest(match)] == b[k]):
            match = np.int64(0)
            for i in range(m):
                if a[i] == b[k]:
                    match |= np.int64(1) << i
        hit = row & match
        row = (row + hit) | (row - hit)
    for k in range(m):
        places[a[k] & 1023] = 0
    length = m
    for k in range(m):
        length -= int((row >> k) & 1)
    return length / max(m, n)


@part
def lowest(bits: int) -> int:
    """Position of the lowest set bit; there is one."""
    k = 0
    while not (bits >> k) & 1:
        k += 1
    return k
