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

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import doubled, place_of
from dualign.phrase.external_sort import is_first
from dualign.phrase.extraction import Layout
from dualign.phrase.word_entries import WordDictionary
from dualign.text.utf8_kernels import print_number

BARS = "|||"
_SMOOTHING = 0.5
_DIGITS = 6


class WordStatistics(NamedTuple):
    """Words by number as UTF-8, end to end: word n is `text[offsets[n] : offsets[n + 1]]`."""

    text: Array
    offsets: Array


def words_of(words: list[str]) -> WordStatistics:
    """Return words for the kernel."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return WordStatistics(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets)


def best_alignments(rows: Array, layout: Layout) -> Array:
    """Make one row of those with the same phrases: the most frequent alignment, counts added.

    Rows are sorted by key; of two alignments as frequent the first by key is taken.
    """
    if not len(rows):
        return rows
    pair = 2 * layout.phrase
    first = np.flatnonzero(is_first(rows[:, :pair]))
    counts = rows[:, layout.keys]
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(rows))))
    most = np.maximum.reduceat(counts, first)
    at = np.flatnonzero(counts == most[group])
    _, chosen = np.unique(group[at], return_index=True)
    united = rows[at[chosen]].copy()
    united[:, layout.keys :] = np.add.reduceat(rows[:, layout.keys :], first, axis=0)
    return united


@part
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


@part
def _entry(dictionary: WordDictionary, source: int, target: int) -> int:
    """Return the place of a word pair that is in the dictionary."""
    return place_of(target, dictionary.targets, dictionary.begin[source], dictionary.begin[source + 1])


@part(allocates=False)
def _linked(row: Array, layout: Layout, a: int, b: int) -> bool:
    """Return whether words a and b of a phrase pair are linked."""
    bit = a * layout.longest + b
    return bool((row[2 * layout.phrase + bit // 64] >> np.uint64(bit % 64)) & np.uint64(1))


@part
def _lexical(
    dictionary: WordDictionary, source: Array, target: Array, row: Array, layout: Layout, forward: bool
) -> float:
    """lex(t|s) of a phrase pair with its alignment if `forward`, else lex(s|t)."""
    probabilities = dictionary.forward if forward else dictionary.backward
    words, others = (target, source) if forward else (source, target)
    product = 1.0
    for x in range(len(words)):
        total = 0.0
        count = 0
        for y in range(len(others)):
            a, b = (y, x) if forward else (x, y)
            if _linked(row, layout, a, b):
                total += probabilities[_entry(dictionary, source[a], target[b])]
                count += 1
        if count == 0:
            s, t = (0, words[x]) if forward else (words[x], 0)
            product *= probabilities[_entry(dictionary, s, t)]
        else:
            product *= total / count
    return product


@part
def _put_bars(out: Array, at: int) -> int:
    """Write ` ||| `."""
    out[at] = 32
    out[at + 1] = out[at + 2] = out[at + 3] = 124
    out[at + 4] = 32
    return at + 5


@part
def _put_phrase(out: Array, at: int, phrase: Array, words: WordStatistics) -> int:
    for n in range(len(phrase)):
        if n:
            out[at] = 32
            at += 1
        for place in range(words.offsets[phrase[n]], words.offsets[phrase[n] + 1]):
            out[at] = words.text[place]
            at += 1
    return _put_bars(out, at)


@part
def _put_real(out: Array, at: int, value: float) -> int:
    """Write a probability with six digits that count, like C's %g."""
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
        return print_number(digits, 1, out, at)
    if exponent >= -4:
        out[at], out[at + 1] = 48, 46
        return print_number(digits, count - exponent - 1, out, at + 2)
    power = 10 ** (count - 1)
    at = print_number(digits // power, 1, out, at)
    if count > 1:
        out[at] = 46
        at = print_number(digits % power, count - 1, out, at + 1)
    out[at], out[at + 1] = 101, 45
    return print_number(-exponent, 2, out, at + 2)


@part
def _put_reals(out: Array, at: int, values: tuple[float, ...]) -> int:
    """Write numbers with blanks between them."""
    for value in values:
        at = _put_real(out, at, value)
        out[at] = 32
        at += 1
    return at - 1


@part
def _put_orientations(out: Array, at: int, row: Array, layout: Layout) -> int:
    """Write the probabilities of monotone, swap and discontinuous, before and behind."""
    keys = layout.keys
    count = np.int64(row[keys])
    whole = count + 3 * _SMOOTHING
    for side in range(2):
        straight, crossed = row[keys + 1 + 2 * side], row[keys + 2 + 2 * side]
        rest = count - straight - crossed
        shares = (straight + _SMOOTHING) / whole, (crossed + _SMOOTHING) / whole, (rest + _SMOOTHING) / whole
        at = _put_reals(out, at, shares)
        out[at] = 32
        at += 1
    return at - 1


@part
def _put_links(out: Array, at: int, sizes: tuple[int, int], row: Array, layout: Layout) -> int:
    """Write the links `a-b` of a phrase pair of those sizes; there is at least one."""
    for a in range(sizes[0]):
        for b in range(sizes[1]):
            if _linked(row, layout, a, b):
                at = print_number(a, 1, out, at)
                out[at] = 45
                at = print_number(b, 1, out, at + 1)
                out[at] = 32
                at += 1
    return at - 1


@kernel
def format_lines(
    rows: Array,
    layout: Layout,
    totals: Array,
    dictionary: WordDictionary,
    words: tuple[WordStatistics, WordStatistics],
    reordering: bool,
) -> Array:
    """Return lines of the phrase table, or of the reordering table, for rows with one alignment each; uint8.

    `totals` int64 [rows, 2] has c(s) and c(t); `words` are those of both sides.
    """
    longest = layout.longest
    source, target = np.empty(longest, np.int64), np.empty(longest, np.int64)
    wordy = max(np.max(np.diff(words[0].offsets)), np.max(np.diff(words[1].offsets)))
    most = 2 * longest * (wordy + 1) + 6 * longest * longest + 256
    out = np.empty(max(2 * most, 64 * len(rows)), np.uint8)
    at = 0
    for n in range(len(rows)):
        if at + most > len(out):
            out = doubled(out)
        row = rows[n]
        s = source[: _unpack(row, 0, layout, layout.source_end, source)]
        t = target[: _unpack(row, layout.phrase, layout, layout.target_end, target)]
        at = _put_phrase(out, at, s, words[0])
        at = _put_phrase(out, at, t, words[1])
        if reordering:
            at = _put_orientations(out, at, row, layout)
        else:
            count, of_source, of_target = np.int64(row[layout.keys]), totals[n, 0], totals[n, 1]
            backward = _lexical(dictionary, s, t, row, layout, False)
            forward = _lexical(dictionary, s, t, row, layout, True)
            at = _put_reals(out, at, (count / of_target, backward, count / of_source, forward))
            at = _put_links(out, _put_bars(out, at), (len(s), len(t)), row, layout)
            at = print_number(of_target, 1, out, _put_bars(out, at))
            out[at] = 32
            at = print_number(of_source, 1, out, at + 1)
            out[at] = 32
            at = print_number(count, 1, out, at + 1)
            at = _put_bars(out, at)
            at = _put_bars(out, at - 1) - 1
        out[at] = 10
        at += 1
    return out[:at]
