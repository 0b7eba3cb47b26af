"""Lower case by a kernel: what `str.lower()` makes of each word of a block of UTF-8 text.

`str.lower()` holds the GIL, so threads that lower the case of a large text would wait for each other. Every
letter has a lower-case form that does not depend on its neighbours, with one exception: a capital sigma is
ς at the end of a word and σ elsewhere. Where that is not plain to see, Python decides.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

_PLANES = 0x20000
"""No letter beyond this code point has another case."""

_DOTTED_I = 0x130  # İ, the only letter whose lower-case form has two code points
_SIGMA = 0x3A3


def lower_block(block: bytes) -> bytes:
    """The lines of a block in lower case, word by word; they end with `\\n`."""
    if block.isascii():
        return block.lower()
    text = np.frombuffer(block, np.uint8)
    out = np.empty(len(text) + len(text) // 2 + 1, np.uint8)
    places, finals = np.empty(0, np.int64), np.empty(0, np.uint8)
    size, unclear = lower_text(text, lower_forms(), finals, places, out)
    if unclear:
        places = np.empty(unclear, np.int64)
        lower_text(text, lower_forms(), finals, places, out)
        finals = np.array([_is_final(block, at) for at in places.tolist()], np.uint8)
        size, _ = lower_text(text, lower_forms(), finals, places, out)
    return out[:size].tobytes()


@cache
def lower_forms() -> Array:
    """The lower-case form of each code point, where it is a single one and has no conditions."""
    forms = np.arange(_PLANES, dtype=np.int32)
    other = (forms < 0xD800) | (forms > 0xDFFF)
    other[[_DOTTED_I, _SIGMA]] = False
    text = forms[other].astype("<i4").tobytes().decode("utf-32-le").lower()
    forms[other] = np.frombuffer(text.encode("utf-32-le"), "<i4")
    return forms


def _is_final(block: bytes, at: int) -> bool:
    """Whether the capital sigma at this byte becomes ς."""
    begin = max(block.rfind(b" ", 0, at), block.rfind(b"\n", 0, at)) + 1
    ends = (end for blank in (b" ", b"\n") if (end := block.find(blank, at)) >= 0)
    before, after = block[begin:at].decode(), block[at + 2 : min(ends)].decode()
    # Any other capital does for İ, which would move the letters after it.
    word = f"{before}Σ{after}".replace("İ", "I")
    return word.lower()[len(before)] == "ς"


@kernel()
def lower_text(text: Array, forms: Array, finals: Array, places: Array, out: Array) -> tuple[int, int]:
    """Write the text in lower case to `out`; returns its size, and how many capital sigmas are unclear.

    Their places are written to `places`, as far as it has room. `finals` says of each whether it ends a word;
    if it is empty, what is written for them does not count.
    """
    at = size = unclear = 0
    while at < len(text):
        a = np.int32(text[at])
        if a < 0x80:
            out[size] = a + 32 if 65 <= a <= 90 else a
            at += 1
            size += 1
            continue
        letter, width = code_point(text, at)
        if letter == _DOTTED_I:
            out[size] = 0x69
            letter = np.int32(0x307)
            size += 1
        elif letter == _SIGMA:
            letter = np.int32(0x3C3)
            if not begins_letter(text, at + 2):
                if unclear < len(places):
                    places[unclear] = at
                if unclear < len(finals) and finals[unclear]:
                    letter = np.int32(0x3C2)
                unclear += 1
        elif letter < len(forms):
            letter = forms[letter]
        at += width
        size = put_letter(letter, out, size)
    return size, unclear


@kernel(allocates=False)
def begins_letter(text: Array, at: int) -> bool:
    """Whether one of the common letters, Latin or Greek, begins here: then no word ends before it."""
    a = text[at]
    if a < 0x80:
        return 65 <= a <= 90 or 97 <= a <= 122
    letter = code_point(text, at)[0]
    return bool(0x391 <= letter <= 0x3A1 or 0x3A3 <= letter <= 0x3CE)


@kernel(allocates=False)
def code_point(text: Array, at: int) -> tuple[np.int32, int]:
    """The code point that begins here, and its number of bytes; the text is valid UTF-8."""
    a = np.int32(text[at])
    if a < 0x80:
        return a, 1
    b = np.int32(text[at + 1]) & 0x3F
    if a < 0xE0:
        return np.int32((a & 0x1F) << 6 | b), 2
    c = np.int32(text[at + 2]) & 0x3F
    if a < 0xF0:
        return np.int32((a & 0x0F) << 12 | b << 6 | c), 3
    return np.int32((a & 0x07) << 18 | b << 12 | c << 6 | (np.int32(text[at + 3]) & 0x3F)), 4


@kernel(allocates=False)
def put_letter(letter: np.int32, out: Array, size: int) -> int:
    """Append a code point in UTF-8, and return the new size."""
    if letter < 0x80:
        out[size] = letter
        return size + 1
    if letter < 0x800:
        out[size] = 0xC0 | letter >> 6
        out[size + 1] = 0x80 | letter & 0x3F
        return size + 2
    if letter < 0x10000:
        out[size] = 0xE0 | letter >> 12
        out[size + 1] = 0x80 | letter >> 6 & 0x3F
        out[size + 2] = 0x80 | letter & 0x3F
        return size + 3
    out[size] = 0xF0 | letter >> 18
    out[size + 1] = 0x80 | letter >> 12 & 0x3F
    out[size + 2] = 0x80 | letter >> 6 & 0x3F
    out[size + 3] = 0x80 | letter & 0x3F
    return size + 4
