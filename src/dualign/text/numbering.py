"""Two parallel files as numbers, straight from their bytes: `numbered(read_pairs(…))` without a string per
token.

A file is read in blocks of whole lines, brought into the normal form of `dualign.text.lines`; a kernel cuts
them at white space and looks each word up in a hash table by its bytes. Only one string per word is made.
"""

from __future__ import annotations

from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.text.bitext import Numbered, Sentences
from dualign.text.checks import same_length
from dualign.text.lines import read_blocks

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


class _Words(NamedTuple):
    """Word w is `letters[ends[w - 1] : ends[w]]` (from 0 for the first); `slots` (a power of two of them, at
    most half full) hold word numbers, or -1, at `hashes[w]` or after it.
    """

    letters: Array
    ends: Array
    hashes: Array
    slots: Array


def encode_files(source: str, target: str, lowercase: bool, *, errors: str = "strict") -> Numbered:
    """Number the words of two parallel files, as `numbered(read_pairs(source, target), lowercase)` would."""
    sides = Side(), Side()
    # By turns: the two may be pipes that one program fills.
    for blocks in zip_longest(read_blocks(source, errors), read_blocks(target, errors)):
        for side, block in zip(sides, blocks, strict=True):
            if block is not None:
                side.add(block)
    (left, source_words), (right, target_words) = (side.finished() for side in sides)
    same_length((source, len(left)), (target, len(right)))
    text = Numbered(left, right, source_words, target_words)
    return text.lowered() if lowercase else text


class Side:
    """The words and sentences of the blocks of a file that were read so far."""

    def __init__(self) -> None:
        self.words = _Words(*(np.empty(0, kind) for kind in (np.uint8, np.int64, np.uint64, np.int32)))
        self.known = 0
        self.tokens = [np.empty(0, np.int32)]
        self.lengths = [np.zeros(1, np.int64)]

    def add(self, block: bytes) -> None:
        """Number the words of whole lines."""
        text = np.frombuffer(block, np.uint8)
        self.words = _with_room(self.words, self.known, len(text))
        tokens, lengths = np.empty(len(text) // 2 + 1, np.int32), np.empty(block.count(b"\n"), np.int64)
        self.known, filled = number_words(text, self.words, self.known, tokens, lengths)
        self.tokens.append(tokens[:filled].copy())
        self.lengths.append(lengths)

    def finished(self) -> tuple[Sentences, list[str]]:
        """The sentences and the words."""
        tokens, offsets = np.concatenate(self.tokens), np.cumsum(np.concatenate(self.lengths))
        ends = self.words.ends[: self.known].tolist()
        letters = self.words.letters[: max(ends, default=0)].tobytes()
        words = [letters[begin:end].decode() for begin, end in pairwise([0, *ends])]
        return Sentences(tokens, offsets), words


def _with_room(words: _Words, known: int, size: int) -> _Words:
    """The same words, with room for all that a block of this many bytes can bring."""
    used, most = int(words.ends[known - 1]) if known else 0, known + size // 2 + 1
    letters = _grown(words.letters, used, used + size)
    ends, hashes = (_grown(array, known, most) for array in (words.ends, words.hashes))
    slots = words.slots
    if len(slots) < 2 * most:
        slots = np.full(1 << (2 * most).bit_length(), -1, np.int32)
        place_words(hashes, known, slots)
    return _Words(letters, ends, hashes, slots)


def _grown(array: Array, used: int, size: int) -> Array:
    if len(array) >= size:
        return array
    grown = np.empty(2 * size, array.dtype)
    grown[:used] = array[:used]
    return grown


@kernel()
def place_words(hashes: Array, known: int, slots: Array) -> None:
    """Fill an empty table."""
    mask = np.uint64(len(slots) - 1)
    for word in range(known):
        slot = hashes[word] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = word


@kernel()
def number_words(text: Array, words: _Words, known: int, numbers: Array, counts: Array) -> tuple[int, int]:
    """Number the words of a block of lines, each with its `\\n`, new ones from `known` on.

    Writes the number of each token, and how many tokens each line has; returns how many words are known now,
    and how many tokens there are.
    """
    mask = np.uint64(len(words.slots) - 1)
    filled = line = before = at = 0
    size = len(text)
    while at < size:
        gap = white_space(text, at)
        if gap > 0:
            if text[at] == 10:
                counts[line] = filled - before
                before = filled
                line += 1
            at += gap
            continue
        begin, code = at, _FNV_OFFSET
        while gap == 0:
            code = (code ^ np.uint64(text[at])) * _FNV_PRIME
            at += 1
            gap = white_space(text, at) if at < size else 1
        code ^= code >> np.uint64(32)
        slot = code & mask
        word = words.slots[slot]
        while word >= 0 and not (words.hashes[word] == code and same(text, begin, at, words, word)):
            slot = (slot + np.uint64(1)) & mask
            word = words.slots[slot]
        if word < 0:
            word = known
            end = words.ends[word - 1] if word else 0
            for k in range(begin, at):  # an assignment of slices would load a part of Numba at every start
                words.letters[end + k - begin] = text[k]
            words.ends[word] = end + at - begin
            words.hashes[word] = code
            words.slots[slot] = word
            known += 1
        numbers[filled] = word
        filled += 1
    return known, filled


@kernel()
def same(text: Array, begin: int, end: int, words: _Words, word: int) -> bool:
    """Whether `text[begin:end]` is that word."""
    first = words.ends[word - 1] if word else 0
    if words.ends[word] - first != end - begin:
        return False
    k = 0
    while k < end - begin and text[begin + k] == words.letters[first + k]:
        k += 1
    return k == end - begin


@kernel()
def white_space(text: Array, at: int) -> int:
    """How many bytes of white space (as `str.split()` sees it, in UTF-8) begin here, at least; 0 for none."""
    a = text[at]
    if a < 0x80:
        return 1 if a == 32 or 9 <= a <= 13 or 28 <= a <= 31 else 0
    if a == 0xC2:
        return 2 if text[at + 1] == 0x85 or text[at + 1] == 0xA0 else 0
    if a < 0xE1 or a > 0xE3:
        return 0
    b, c = text[at + 1], text[at + 2]
    if a == 0xE1:  # U+1680
        return 3 if b == 0x9A and c == 0x80 else 0
    if a == 0xE3:  # U+3000
        return 3 if b == 0x80 and c == 0x80 else 0
    if b == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
        return 3 if c <= 0x8A or c == 0xA8 or c == 0xA9 or c == 0xAF else 0
    return 3 if b == 0x81 and c == 0x9F else 0  # U+205F
