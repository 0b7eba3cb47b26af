"""Where tokens stand in the text that they were cut from: in which white-space word, at which characters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign.text.utf8_kernels import BYTE, eight_bytes, octets, white_space, word_end


class TokenPlaces(NamedTuple):
    """Of each token, line by line: the number of its word in the line, and its characters begin … end.

    The tokens of line n are `offsets[n]` to `offsets[n + 1]`. All arrays but these int64 are int32.
    """

    word: Array
    begin: Array
    end: Array
    offsets: Array


def places_of_tokens(written: bytes, tokens: bytes, ascii: bool) -> TokenPlaces | None:
    """The places of the tokens of lines in the lines as they were written, both with `\\n`.

    None if these differ in more than white space, as after another normal form or with marks for subwords.
    `ascii`: words are separated by white space of ASCII alone.
    """
    lines, most = written.count(b"\n"), len(tokens) // 2 + 1
    word, begin, end = np.empty((3, most), np.int32)
    places = TokenPlaces(word, begin, end, np.zeros(lines + 1, np.int64))
    texts = octets(written), octets(tokens)
    count = place_tokens(texts[0], texts[1], len(tokens), ascii, places)
    if count < 0:
        return None
    return TokenPlaces(word[:count], begin[:count], end[:count], places.offsets)


@kernel
def place_tokens(text: Array, tokens: Array, size: int, ascii: bool, places: TokenPlaces) -> int:
    """Write the places of tokens, and return how many they are; -1 if the texts differ."""
    word, begin, end, offsets = places
    at = here = line = count = characters = 0
    words, apart = -1, True
    while here < size:
        x = eight_bytes(tokens, here)
        ended = x & BYTE == 10
        gap = white_space(x, ascii)
        if gap > 0 and not ended:
            here += gap
            continue
        # White space of the text, up to the next token or the end of the line.
        while True:
            y = eight_bytes(text, at)
            skipped = white_space(y, False)
            if skipped == 0 or y & BYTE == 10:
                break
            apart |= white_space(y, ascii) > 0
            at += skipped
            characters += 1
        if ended:
            if y & BYTE != 10:
                return -1
            line, words, apart, characters, here, at = line + 1, -1, True, 0, here + 1, at + 1
            offsets[line] = count
            continue
        words, apart = words + (1 if apart else 0), False
        word[count], begin[count] = words, characters
        for k in range(here, word_end(tokens, here, ascii)):
            letter = eight_bytes(tokens, k) & BYTE
            if letter != eight_bytes(text, at) & BYTE:
                return -1
            characters += 0 if letter & np.uint64(0xC0) == 0x80 else 1
            at += 1
            here += 1
        end[count] = characters
        count += 1
    return count
