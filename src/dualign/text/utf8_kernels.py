"""UTF-8 text as kernels read it, eight bytes at a time, and lines of links as they write them.

A text is an array of uint64 whose bytes, the lowest first, are those of the text, and after them more `\\n`
than a kernel may read too far. Tests on eight bytes at once are the usual ones for words of bytes: of the
bytes they mark by their highest bit, the lowest is right.
"""

from __future__ import annotations

import sys
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.text.utf8 import normal_block

if TYPE_CHECKING:
    from dualign.text.links import Links

PLAIN, ODD, UNSURE = range(3)
"""What a look at a text can find: see `look_at`."""

BYTE = np.uint64(0xFF)
"""The first of eight bytes."""

_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_NOT_WORDS = np.uint64(0x2121212121212121)
_C2 = np.uint64(0xC2C2C2C2C2C2C2C2)
_FC = np.uint64(0xFCFCFCFCFCFCFCFC)
_E0 = np.uint64(0xE0E0E0E0E0E0E0E0)
_PLACES = np.uint64(0x0001020304050607)

_FIRST_DOUBTFUL, _LAST_LISTED = 0x300, 0x30000
"""Characters below the first are in normal form C next to any other; those from the last on are rare."""

_DOUBTFUL = 255
_BOM = 0xFEFF

_UNLISTED = np.zeros(0, np.uint8)


def octets(text: bytes | Array) -> Array:
    """A text (uint8, if it is an array) as kernels read it."""
    size = len(text)
    found = np.empty((size >> 3) + 3, np.uint64)
    inside = found.view(np.uint8)
    inside[:size] = np.frombuffer(text, np.uint8)
    inside[size:] = 10
    return found if sys.byteorder == "little" else found.byteswap()


def as_bytes(text: Array, size: int) -> bytes:
    """The first `size` bytes of a text that kernels have written."""
    return text.astype("<u8", copy=False).view(np.uint8)[:size].tobytes()


def normal_form(lines: bytes, errors: str) -> bytes | None:
    """Whole lines by the rules of `dualign.text.utf8`, to be split at white space; None if one is an error.

    Where a kernel sees that they are in that form already, threads need not wait for each other.
    """
    return lines if is_plain(octets(lines), len(lines)) else normal_block(lines, errors)


def is_plain(text: Array, size: int) -> bool:
    """Whether `size` bytes are surely UTF-8 without NUL and U+FEFF, and in normal form C."""
    found = look_at(text, size, _UNLISTED)
    if found == UNSURE:
        found = look_at(text, size, combining_classes())
    return bool(found == PLAIN)


def split_sides(lines: bytes, count: int, bars: bool) -> tuple[bytes, bytes, int, int]:
    """The two sides of so many lines in normal form, each with its separator, and (-1, 1); or the number of
    the first line without one separator, and how many that has."""
    sides, sizes = np.empty((2, len(lines) + count), np.uint8), np.zeros(2, np.int64)
    line, found = split_lines(octets(lines), len(lines), bars, sides, sizes)
    return sides[0, : sizes[0]].tobytes(), sides[1, : sizes[1]].tobytes(), line, found


@cache
def combining_classes() -> Array:
    """For each character listed, its canonical combining class, or that text with it is looked at closely.

    The latter for those that normal form C lacks, those that can compose with what is before them, and
    U+FEFF. (For Latin script this is never needed, and it takes a while.)
    """
    classes = np.zeros(_LAST_LISTED, np.uint8)
    # From é on: what a mark composes to may be a letter that is itself beyond doubt.
    for code in range(0x80, _LAST_LISTED):
        character = chr(code)
        if kind := unicodedata.combining(character):
            classes[code] = max(classes[code], kind)
        parts = unicodedata.decomposition(character).split()
        if parts and not parts[0].startswith("<"):
            if len(parts) == 2:
                classes[int(parts[1], 16)] = _DOUBTFUL
            if code >= _FIRST_DOUBTFUL and not unicodedata.is_normalized("NFC", character):
                classes[code] = _DOUBTFUL
    for first, last in ((0x1161, 0x1175), (0x11A8, 0x11C2)):  # vowels and finals of Hangul compose by rule
        classes[first : last + 1] = _DOUBTFUL
    classes[_BOM] = _DOUBTFUL
    classes[0xD800:0xE000] = _DOUBTFUL
    return classes


@part(allocates=False)
def signed(x: np.uint64) -> int:
    """The same number, of the kind that we count with: the two kinds together would be floating point."""
    return int(np.int64(x))


@part(allocates=False)
def eight_bytes(text: Array, at: int) -> np.uint64:
    """The bytes from a place on, the first of them lowest."""
    shift = np.uint64((at & 7) << 3)
    rest = text[(at >> 3) + 1] << np.uint64(1)
    return (text[at >> 3] >> shift) | (rest << (np.uint64(63) - shift))


@part(allocates=False)
def first_marked(marks: np.uint64) -> int:
    """Which of eight bytes is the first that has its highest bit set; there must be one."""
    lowest = (marks & (~marks + np.uint64(1))) >> np.uint64(7)
    return signed((lowest * _PLACES) >> np.uint64(56))


@part(allocates=False)
def white_space(x: np.uint64, ascii: bool) -> int:
    """How many bytes of white space (as `str.split()` sees it, or `bytes.split()`, which knows that of ASCII
    alone) these begin with, at least; 0 for none."""
    a = signed(x & BYTE)
    if a < 0x80:
        return 1 if a == 32 or 9 <= a <= 13 or (28 <= a <= 31 and not ascii) else 0
    if ascii:
        return 0
    b = signed((x >> np.uint64(8)) & BYTE)
    if a == 0xC2:
        return 2 if b in (0x85, 0xA0) else 0
    if a < 0xE1 or a > 0xE3:
        return 0
    c = signed((x >> np.uint64(16)) & BYTE)
    if a == 0xE1:  # U+1680
        return 3 if b == 0x9A and c == 0x80 else 0
    if a == 0xE3:  # U+3000
        return 3 if b == 0x80 and c == 0x80 else 0
    if b == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
        return 3 if c <= 0x8A or c in (0xA8, 0xA9, 0xAF) else 0
    return 3 if b == 0x81 and c == 0x9F else 0  # U+205F


@part(allocates=False)
def stops(x: np.uint64) -> np.uint64:
    """Marks at those of eight bytes with which white space may begin, or control characters."""
    lead, two = (x & _FC) ^ _E0, x ^ _C2
    return (((x - _NOT_WORDS) & ~x) | ((lead - _ONES) & ~lead) | ((two - _ONES) & ~two)) & _HIGH


@part(allocates=False)
def word_end(text: Array, at: int, ascii: bool) -> int:
    """Where the word that has its first character here ends."""
    while True:
        marks = stops(eight_bytes(text, at))
        if marks == 0:
            at += 8
            continue
        at += first_marked(marks)
        if white_space(eight_bytes(text, at), ascii) > 0:
            return at
        at += 1  # a control character, or the first byte of one that is not white space


@kernel
def look_at(text: Array, size: int, classes: Array) -> int:
    """Whether a text is PLAIN or ODD; UNSURE if the classes of its characters are needed and not given.

    PLAIN: UTF-8 without NUL, where no character is doubtful and none stands after one of a higher class.
    """
    at = end = last = 0
    while at < size:
        x = eight_bytes(text, at)
        if (x - _ONES) & ~x & _HIGH:
            return ODD
        if x & _HIGH == 0:
            at += 8
            continue
        at += first_marked(x & _HIGH)
        if at >= size:
            break
        code, width = character(eight_bytes(text, at))
        if width == 0:
            return ODD
        kind = 0
        if code >= _FIRST_DOUBTFUL:
            if len(classes) == 0:
                return UNSURE
            kind = int(classes[code]) if code < len(classes) else _DOUBTFUL
            if kind == _DOUBTFUL or (0 < kind < last and at == end):
                return ODD
        last = kind
        at += width
        end = at
    return PLAIN


@part(allocates=False)
def character(x: np.uint64) -> tuple[int, int]:
    """The code and width in bytes of a character that is not ASCII; width 0 if it is not UTF-8."""
    a, b, c, d = x & BYTE, x >> np.uint64(8) & BYTE, x >> np.uint64(16) & BYTE, x >> np.uint64(24) & BYTE
    six, tail, low = np.uint64(6), np.uint64(0xC0), np.uint64(0x3F)
    if b & tail != 0x80 or a < 0xC2 or a > 0xF4:
        return 0, 0
    if a < 0xE0:
        return signed((a & np.uint64(0x1F)) << six | b & low), 2
    if c & tail != 0x80:
        return 0, 0
    if a < 0xF0:
        code = signed((a & np.uint64(0xF)) << np.uint64(12) | (b & low) << six | c & low)
        return code, 3 if code >= 0x800 and not 0xD800 <= code < 0xE000 else 0
    if d & tail != 0x80:
        return 0, 0
    high = (a & np.uint64(0x7)) << np.uint64(18) | (b & low) << np.uint64(12)
    code = signed(high | (c & low) << six | d & low)
    return code, 4 if 0x10000 <= code <= 0x10FFFF else 0


@kernel
def split_lines(text: Array, size: int, bars: bool, sides: Array, sizes: Array) -> tuple[int, int]:
    """Write the two sides of each line; (-1, 1), or a line without one separator and how many it has."""
    at = line = 0
    while at < size:
        found, words, begin, end, after = look_for_separator(text, at, bars)
        if words == 0 and (bars or found == 0):
            begin = end = at
        elif found != 1:
            return line, found
        for side, first, last in ((0, at, begin), (1, end, after)):
            for k in range(first, last):
                sides[side, sizes[side] + k - first] = eight_bytes(text, k) & BYTE
            sizes[side] += last - first + 1
            sides[side, sizes[side] - 1] = 10
        at = after + 1
        line += 1
    return -1, 1


@part(allocates=False)
def look_for_separator(text: Array, at: int, bars: bool) -> tuple[int, int, int, int, int]:
    """How many separators and words the line has that begins here; where the first separator begins and ends,
    and where the line does."""
    found = words = 0
    first = last = at
    while True:
        x = eight_bytes(text, at)
        if x & BYTE == 10:
            return found, words, first, last, at
        begin, gap = at, white_space(x, False)
        if gap > 0:
            at += gap
            hit = x & BYTE == 9 and not bars
        else:
            at = word_end(text, at, False)
            words += 1
            hit = bars and at - begin == 3 and x & np.uint64(0xFFFFFF) == 0x7C7C7C
        if hit:
            if found == 0:
                first, last = begin, at
            found += 1


def print_links(links: Links, scored: bool) -> bytes:
    """A line of links, `i-j` or `i-j:0.500000`, for each pair; `scored` with probabilities, float32."""
    longest = len("2147483647-2147483647:1.000000 ")
    text = np.empty(longest * len(links.source) + len(links), np.uint8)
    assert links.probability is not None
    arrays = links.source, links.target, links.probability, links.offsets
    return text[: print_lines(*arrays, scored, text)].tobytes()


@kernel
def print_lines(
    source: Array, target: Array, probability: Array, offsets: Array, scored: bool, text: Array
) -> int:
    """Write the lines, and return how many bytes they are."""
    at = 0
    for n in range(len(offsets) - 1):
        for k in range(offsets[n], offsets[n + 1]):
            if k > offsets[n]:
                text[at] = 32
                at += 1
            at = print_number(source[k], 1, text, at)
            text[at] = 45
            at = print_number(target[k], 1, text, at + 1)
            if scored:
                # 24 bits times a million is exact in float64, and halves go to the even side as in Python.
                millionths = int(np.rint(np.float64(probability[k]) * 1e6))
                text[at] = 58
                at = print_number(millionths // 1_000_000, 1, text, at + 1)
                text[at] = 46
                at = print_number(millionths % 1_000_000, 6, text, at + 1)
        text[at] = 10
        at += 1
    return at


@part
def print_number(number: int | np.int64, digits: int, text: Array, at: int) -> int:
    """Write a number with at least `digits` digits, and return where it ends."""
    size, rest = 1, number // 10
    while rest > 0:
        size += 1
        rest //= 10
    end = at + max(size, digits)
    rest = number
    for place in range(end - 1, at - 1, -1):
        text[place] = 48 + rest % 10
        rest //= 10
    return end
