"""The lines of a phrase table: relative frequencies both ways, lexical weights, alignment, counts.

    source ||| target ||| φ(s|t) lex(s|t) φ(t|s) lex(t|s) ||| 0-0 1-1 ||| c(t) c(s) c(s,t) ||| |||

φ are relative frequencies of the extracted pairs, and `lex(t|s) = Π_b mean_{a linked to b} p(t_b | s_a)`,
with null for a word that has no link (Koehn, Och & Marcu 2003, §2.4), by the alignment that is most frequent.
A reordering table has

    source ||| target ||| p(m) p(s) p(d) before, p(m) p(s) p(d) behind

of monotone, swap, discontinuous, each count with a half added. Lines are made in a kernel: a table has
millions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.phrase.table.dictionary import Dictionary
from dualign.phrase.table.extraction import Layout

BARS = "|||"
_SMOOTHING = 0.5
_DIGITS = 6


class Words(NamedTuple):
    """Words by number as UTF-8, end to end: word n is `text[offsets[n] : offsets[n + 1]]`."""

    text: Array
    offsets: Array


def words_of(words: list[str]) -> Words:
    """Words for the kernel."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return Words(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets)


def best_alignments(rows: Array, layout: Layout) -> Array:
    """Make one row of those with the same phrases: the most frequent alignment, counts added.

    Rows are sorted by key; of two alignments as frequent the first by key is taken.
    """
    if not len(rows):
        return rows
    pair = 2 * layout.phrase
    first = np.flatnonzero(np.concatenate(([True], (rows[1:, :pair] != rows[:-1, :pair]).any(axis=1))))
    counts = rows[:, layout.keys]
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(rows))))
    most = np.maximum.reduceat(counts, first)
    at = np.flatnonzero(counts == most[group])
    _, chosen = np.unique(group[at], return_index=True)
    united = rows[at[chosen]].copy()
    united[:, layout.keys :] = np.add.reduceat(rows[:, layout.keys :], first, axis=0)
    return united


@kernel()
def _unpack(row: Array, column: int, layout: Layout, end: int, words: Array) -> int:
    """Fill `words` with a phrase; returns its length."""
    per = 64 // layout.bits
    ones = (np.uint64(1) << np.uint64(layout.bits)) - np.uint64(1)
    for n in range(layout.longest):
        packed = row[column + n // per] >> np.uint64((per - 1 - n % per) * layout.bits)
        word = np.int64(packed & ones)
        if word == end:
            return n
        words[n] = word
    return layout.longest


@kernel()
def _entry(dictionary: Dictionary, source: int, target: int) -> int:
    """The place of a word pair that is in the dictionary."""
    low, high = dictionary.begin[source], dictionary.begin[source + 1]
    while low < high:
        middle = (low + high) // 2
        if dictionary.targets[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def _lexical(
    dictionary: Dictionary, source: Array, target: Array, row: Array, column: int, longest: int
) -> tuple[float, float]:
    """lex(s|t) and lex(t|s) of a phrase pair with its alignment."""
    forward = 1.0
    for b in range(len(target)):
        total = 0.0
        count = 0
        for a in range(len(source)):
            bit = a * longest + b
            if (row[column + bit // 64] >> np.uint64(bit % 64)) & np.uint64(1):
                total += dictionary.forward[_entry(dictionary, source[a], target[b])]
                count += 1
        forward *= total / count if count else dictionary.forward[_entry(dictionary, 0, target[b])]
    backward = 1.0
    for a in range(len(source)):
        total = 0.0
        count = 0
        for b in range(len(target)):
            bit = a * longest + b
            if (row[column + bit // 64] >> np.uint64(bit % 64)) & np.uint64(1):
                total += dictionary.backward[_entry(dictionary, source[a], target[b])]
                count += 1
        backward *= total / count if count else dictionary.backward[_entry(dictionary, source[a], 0)]
    return backward, forward


@kernel()
def _put_bytes(out: Array, at: int, text: Array, begin: int, end: int) -> int:
    for n in range(begin, end):
        out[at] = text[n]
        at += 1
    return at


@kernel()
def _put_bars(out: Array, at: int) -> int:
    """` ||| `."""
    out[at] = 32
    out[at + 1] = out[at + 2] = out[at + 3] = 124
    out[at + 4] = 32
    return at + 5


@kernel()
def _put_phrase(out: Array, at: int, phrase: Array, words: Words) -> int:
    for n in range(len(phrase)):
        if n:
            out[at] = 32
            at += 1
        at = _put_bytes(out, at, words.text, words.offsets[phrase[n]], words.offsets[phrase[n] + 1])
    return at


@kernel()
def _put_integer(out: Array, at: int, number: int | np.int64) -> int:
    digits = 1
    rest = number // 10
    while rest:
        digits += 1
        rest //= 10
    for n in range(digits - 1, -1, -1):
        out[at + n] = 48 + number % 10
        number //= 10
    return at + digits


@kernel()
def _put_real(out: Array, at: int, value: float) -> int:
    """A probability with six digits that count, like C's %g."""
    if value <= 0.0:
        out[at] = 48
        return at + 1
    exponent = 0
    scaled = value
    while scaled < 1.0:
        exponent -= 1
        scaled = value * 10.0 ** (-exponent)
    digits = np.int64(scaled * 10.0 ** (_DIGITS - 1) + 0.5)
    if digits >= 10**_DIGITS:
        digits //= 10
        exponent += 1
    count = _DIGITS
    while count > 1 and digits % 10 == 0:
        digits //= 10
        count -= 1
    if exponent >= 0:
        # At most 1, so there is one digit.
        return _put_integer(out, at, digits)
    if exponent >= -4:
        out[at] = 48
        out[at + 1] = 46
        at += 2
        for _ in range(-exponent - 1):
            out[at] = 48
            at += 1
        return _put_integer(out, at, digits)
    power = 10 ** (count - 1)
    at = _put_integer(out, at, digits // power)
    if count > 1:
        out[at] = 46
        rest = digits % power
        for n in range(count - 1, 0, -1):
            out[at + n] = 48 + rest % 10
            rest //= 10
        at += count
    out[at] = 101
    out[at + 1] = 45
    at += 2
    if exponent > -10:
        out[at] = 48
        at += 1
    return _put_integer(out, at, -exponent)


@kernel()
def format_lines(
    rows: Array,
    layout: Layout,
    columns: tuple[int, int],
    totals: Array,
    dictionary: Dictionary,
    source_words: Words,
    target_words: Words,
    reordering: bool,
) -> Array:
    """Lines of the phrase table, or of the reordering table, for rows with one alignment each; uint8.

    `columns` are the layout's `phrase` and `keys`; `totals` int64 [rows, 2] has c(s) and c(t).
    """
    phrase, keys = columns
    longest = layout.longest
    source = np.empty(longest, np.int64)
    target = np.empty(longest, np.int64)
    wordy = 0
    for n in range(len(source_words.offsets) - 1):
        wordy = max(wordy, source_words.offsets[n + 1] - source_words.offsets[n])
    for n in range(len(target_words.offsets) - 1):
        wordy = max(wordy, target_words.offsets[n + 1] - target_words.offsets[n])
    most = 2 * longest * (wordy + 1) + 6 * longest * longest + 256
    out = np.empty(max(2 * most, 64 * len(rows)), np.uint8)
    at = 0
    for n in range(len(rows)):
        if at + most > len(out):
            longer = np.empty(2 * len(out), np.uint8)
            longer[:at] = out[:at]
            out = longer
        row = rows[n]
        s = source[: _unpack(row, 0, layout, layout.source_end, source)]
        t = target[: _unpack(row, phrase, layout, layout.target_end, target)]
        at = _put_phrase(out, at, s, source_words)
        at = _put_bars(out, at)
        at = _put_phrase(out, at, t, target_words)
        at = _put_bars(out, at)
        count = np.int64(row[keys])
        if reordering:
            for side in range(2):
                straight, crossed = row[keys + 1 + 2 * side], row[keys + 2 + 2 * side]
                whole = count + 3 * _SMOOTHING
                at = _put_real(out, at, (straight + _SMOOTHING) / whole)
                out[at] = 32
                at = _put_real(out, at + 1, (crossed + _SMOOTHING) / whole)
                out[at] = 32
                at = _put_real(out, at + 1, (count - straight - crossed + _SMOOTHING) / whole)
                out[at] = 32 if side == 0 else 10
                at += 1
            continue
        backward, forward = _lexical(dictionary, s, t, row, 2 * phrase, longest)
        at = _put_real(out, at, count / totals[n, 1])
        out[at] = 32
        at = _put_real(out, at + 1, backward)
        out[at] = 32
        at = _put_real(out, at + 1, count / totals[n, 0])
        out[at] = 32
        at = _put_real(out, at + 1, forward)
        at = _put_bars(out, at)
        begun = False
        for a in range(len(s)):
            for b in range(len(t)):
                bit = a * longest + b
                if (row[2 * phrase + bit // 64] >> np.uint64(bit % 64)) & np.uint64(1):
                    if begun:
                        out[at] = 32
                        at += 1
                    begun = True
                    at = _put_integer(out, at, a)
                    out[at] = 45
                    at = _put_integer(out, at + 1, b)
        at = _put_bars(out, at)
        at = _put_integer(out, at, totals[n, 1])
        out[at] = 32
        at = _put_integer(out, at + 1, totals[n, 0])
        out[at] = 32
        at = _put_integer(out, at + 1, count)
        at = _put_bars(out, at)
        at = _put_bars(out, at - 1) - 1
        out[at] = 10
        at += 1
    return out[:at]
