"""`simple`, the built-in tokeniser: blanks between words and punctuation, for any language.

It looks at kinds of characters and knows no language. Within a white-space word:

- letters and digits stay together, and with them `-`, `&`, `@` and `·` between two of them: `well-known`;
- every other sign is a token, or a run of the same sign: `(`, `%`, `...`;
- in numbers, `.,:/'` between two digits stay: `1,234.56`, `12:30`;
- an apostrophe goes with a short ending (`it 's`, `don 't`, `we 'll`), otherwise with what comes before it
  (`l' homme`); at the edge of a word it is a token;
- a full stop stays inside a word (`example.com`), after a single letter (`J. Smith`, `U.S.`, `z.B.`), and
  where the next word begins with a small letter (`dne 12. března`, unless there was no capital before);
  otherwise it is a token;
- web addresses (`http://…`, `www.…/…`) stay whole, up to the punctuation after them;
- Han and hiragana are cut into characters, Thai, Lao, Khmer and Burmese into a consonant with its vowels and
  marks; a run of katakana is a token;
- marks and invisible characters stay with the character before them.

Only blanks are added, so that the tokens can be found again in the text.
"""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.text.utf8_kernels import BYTE, character, eight_bytes, octets, signed

(
    _SPACE, _UPPER, _LOWER, _DIGIT, _KATAKANA, _ALONE, _LEADS, _MARK, _BINDS, _SIGN, _HYPHEN, _STOP, _INSIDE,
    _APOSTROPHE,
) = range(14)  # fmt: skip
"""Kinds of characters. `_UPPER` is any letter that is not small, `_ALONE` is cut before and after, `_LEADS`
goes with the next character, `_BINDS` with both; `_INSIDE` stays between two digits."""

_CUT, _JOIN, _BOTH, _ENDING, _ADDRESS = range(5)
"""What to do at a sign after a word: cut before it; join it; join it and what follows; cut before it and join
what follows; join the rest of a web address."""

_LISTED = 0x20000
_BEYOND = 0x40000
"""Characters up to the second, and not among the first, are Han."""

_ALONE_RANGES = (
    (0x0E01, 0x0E2F), (0x0E81, 0x0EAF), (0x0EDC, 0x0EDF), (0x1000, 0x102A), (0x1050, 0x1055),
    (0x1780, 0x17B3), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3041, 0x3096),
    (0x309D, 0x309F), (0x3105, 0x312F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
)  # fmt: skip
_KATAKANA_RANGES = ((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
_LEADING = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
_TRAILING = "\u0e30\u0e32\u0e33\u0e45\u0e46\u0eb0\u0eb2\u0eb3\u0ebd\u0ec6"
_BINDING = "\u200d\u17d2\u1039"
_SIGNS = {"-‐‑&@·": _HYPHEN, ".": _STOP, ",:/": _INSIDE, "'’": _APOSTROPHE, "_": _UPPER}


def simple_cut(lines: bytes) -> bytes:
    """Lines in normal form, each with its `\\n`, with blanks between their tokens; other white space goes."""
    cut = np.empty(2 * len(lines), np.uint8)
    return cut[: cut_lines(octets(lines), len(lines), kinds_of_characters(), cut)].tobytes()


@cache
def kinds_of_characters() -> Array:
    """The kind of each character listed."""
    by_category = {"L": _UPPER, "N": _DIGIT, "M": _MARK}
    kinds = np.full(_LISTED, _SIGN, np.uint8)
    for code in range(_LISTED):
        letter = chr(code)
        category = unicodedata.category(letter)
        if letter.isspace():
            kinds[code] = _SPACE
        elif category in ("Cf", "Ll"):
            kinds[code] = _MARK if category == "Cf" else _LOWER
        else:
            kinds[code] = by_category.get(category[0], _SIGN)
    for ranges, kind in ((_ALONE_RANGES, _ALONE), (_KATAKANA_RANGES, _KATAKANA)):
        for first, last in ranges:
            inside = kinds[first : last + 1]
            inside[(inside != _MARK) & (inside != _SIGN)] = kind
    for letters, kind in ((_LEADING, _LEADS), (_TRAILING, _MARK), (_BINDING, _BINDS), *_SIGNS.items()):
        kinds[[ord(letter) for letter in letters]] = kind
    return kinds


@kernel
def cut_lines(text: Array, size: int, kinds: Array, cut: Array) -> int:
    """Write lines with blanks between tokens, and return how many bytes they have.

    Of the token so far: where it begins, whether it has a full stop inside, and how many letters and digits
    it has after that. Before `until` nothing is cut. `cased`: there was a capital letter in the line.
    """
    at = put = until = begin = letters = 0
    last, before = _SPACE, 0
    bound = dotted = cased = False
    while at < size:
        code, width, kind = look(text, at, kinds)
        if kind == _SPACE:
            cut[put] = 10 if code == 10 else 32
            cased = cased and code != 10
            last, bound, put, at = _SPACE, False, put + 1, at + width
            continue
        how = _CUT
        if last == _SPACE or bound or at < until or kind in (_MARK, _BINDS):
            how = _JOIN
        elif is_word(last) and kind >= _HYPHEN:
            how = at_sign(text, at, kinds, last, begin, letters, dotted, cased)
        elif joined(last, before, kind, code):
            how = _JOIN
        if how in (_CUT, _ENDING):
            cut[put] = 32
            put += 1
        if last == _SPACE or how in (_CUT, _ENDING):
            begin, letters, dotted = at, 0, False
        if how == _ADDRESS:
            until = end_of_address(text, at)
        for k in range(width):
            cut[put + k] = eight_bytes(text, at + k) & BYTE
        put, at = put + width, at + width
        bound = how in (_BOTH, _ENDING) or kind in (_LEADS, _BINDS)
        if how == _BOTH and kind == _STOP:
            letters, dotted = 0, True
        elif is_word(kind):
            letters += 1
        if kind not in (_MARK, _BINDS):
            last, before = kind, code
        cased = cased or kind == _UPPER
    return put


@part(allocates=False)
def look(text: Array, at: int, kinds: Array) -> tuple[int, int, int]:
    """Code, width in bytes and kind of the character at a place."""
    x = eight_bytes(text, at)
    code, width = signed(x & BYTE), 1
    if code >= 0x80:
        code, width = character(x)
        width = max(width, 1)
    if code < len(kinds):
        return code, width, int(kinds[code])
    return code, width, _ALONE if code < _BEYOND else _UPPER


@part(allocates=False)
def is_word(kind: int) -> bool:
    """Whether it is a letter or a digit that stays with its neighbours."""
    return _UPPER <= kind <= _DIGIT


@part(allocates=False)
def joined(last: int, before: int, kind: int, code: int) -> bool:
    """Whether two neighbours stay together: letters and digits, katakana, the same sign."""
    if kind >= _SIGN:
        return code == before
    return (is_word(last) and is_word(kind)) or (last == _KATAKANA and kind == _KATAKANA)


@part(allocates=False)
def at_sign(
    text: Array, at: int, kinds: Array, last: int, begin: int, letters: int, dotted: bool, cased: bool
) -> int:
    """What to do at a sign that may belong to the word before it, whose last character is of a kind."""
    code, width, kind = look(text, at, kinds)
    _, _, after = look(text, at + width, kinds)
    if is_word(after) and (kind in (_HYPHEN, _STOP) or (last == _DIGIT and after == _DIGIT)):
        return _BOTH
    if kind == _APOSTROPHE and is_word(after):
        return _ENDING if is_ending(text, at + width, kinds) else _JOIN
    if kind == _INSIDE:
        address = eight_bytes(text, at) & np.uint64(0xFFFFFF) == 0x2F2F3A  # ://
        if not address and code == 47:
            address = eight_bytes(text, begin) & np.uint64(0xFFFFFFFF) == 0x2E777777  # www.
        return _ADDRESS if address else _CUT
    if kind == _STOP:
        follows = _SPACE
        if after == _SPACE:
            follows = next_kind(text, at + width, kinds)
        single = letters == 1 and last != _DIGIT
        if (follows == _LOWER and cased) or (single and (dotted or (last == _UPPER and follows != _SPACE))):
            return _JOIN
    return _CUT


@part(allocates=False)
def next_kind(text: Array, at: int, kinds: Array) -> int:
    """The kind of the first character after white space, if it is on the same line."""
    while True:
        code, width, kind = look(text, at, kinds)
        if kind != _SPACE or code == 10:
            return kind
        at += width


@part(allocates=False)
def is_ending(text: Array, at: int, kinds: Array) -> bool:
    """Whether there is one of s, m, d, t, re, ve and ll, and then no letter."""
    x = eight_bytes(text, at) | np.uint64(0x2020)
    one, two = x & BYTE, x & np.uint64(0xFFFF)
    size = 0
    if one == 115 or one == 109 or one == 100 or one == 116:
        size = 1
    if two == 0x6572 or two == 0x6576 or two == 0x6C6C:
        size = 2
    return size > 0 and not is_word(look(text, at + size, kinds)[2])


@part(allocates=False)
def end_of_address(text: Array, at: int) -> int:
    """Where a web address ends: before white space, quotes, other scripts, and punctuation before these."""
    end = at + 1
    while True:
        a = eight_bytes(text, end) & BYTE
        if a <= 32 or a == 34 or a == 60 or a == 62 or a > 126:
            break
        end += 1
    while end > at + 1:
        a = eight_bytes(text, end - 1) & BYTE
        plain = a >= 48 and a != 58 and a != 59 and a != 63 and a != 93 and a != 125
        if plain or a == 47 or a == 45 or a == 43 or a == 37 or a == 38 or a == 35:  # / - + % & #
            break
        end -= 1
    return end
