"""Words by their bytes: a hash table of known words, and the words of a block of lines in its numbers.

The table is never written once it is made, so that many threads can look words up at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.text.bitext import Sentences
from dualign.text.numbering import place_words, white_space

_FNV_OFFSET = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)


class WordTable(NamedTuple):
    """Word w is `letters[ends[w - 1] : ends[w]]` (from 0 for the first); `slots` (a power of two of them, at
    most half full) hold word numbers, or -1, at `hashes[w]` or after it.
    """

    letters: Array
    ends: Array
    hashes: Array
    slots: Array


def table_of(text: Array) -> WordTable:
    """The table of different words, each ended by a line feed."""
    letters = np.array(text, np.uint8)
    feeds = np.flatnonzero(letters == 10)
    ends = feeds - np.arange(len(feeds))
    letters = letters[letters != 10]
    hashes = np.empty(len(ends), np.uint64)
    hash_words(letters, ends, hashes)
    slots = _slots(len(ends))
    place_words(hashes, len(ends), slots)
    return WordTable(letters, ends, hashes, slots)


def number_lines(block: bytes, table: WordTable) -> tuple[Sentences, list[str]]:
    """The words of lines, each with its `\\n`, in the numbers of the table.

    Words that are not in it are numbered after it, in the order in which they occur; they are returned, too.
    """
    text = np.frombuffer(block, np.uint8)
    tokens = np.empty(len(text) // 2 + 1, np.int32)
    offsets = np.zeros(np.count_nonzero(text == 10) + 1, np.int64)
    strange = Strange(*(np.empty(len(tokens), kind) for kind in (np.int64, np.int64, np.int64, np.uint64)))
    filled, unknown = find_words(text, table, tokens, offsets, strange)
    firsts = np.empty(unknown, np.int64)
    known = len(table.ends)
    new = number_strange(text, unknown, strange, _slots(unknown), known, tokens, firsts) if unknown else 0
    spans = zip(strange.begin[firsts[:new]].tolist(), strange.end[firsts[:new]].tolist(), strict=True)
    return Sentences(tokens[:filled].copy(), offsets), [block[begin:end].decode() for begin, end in spans]


def _slots(words: int) -> Array:
    return np.full(1 << (2 * words + 1).bit_length(), -1, np.int32)


class Strange(NamedTuple):
    """Tokens of a block that the table does not know: their first byte and the byte after their last, which
    token of the block they are (all int64), and their hashes."""

    begin: Array
    end: Array
    token: Array
    code: Array


@kernel(allocates=False)
def more_of(code: np.uint64, byte: int) -> np.uint64:
    """The hash of some bytes and one more (Fowler, Noll, Vo)."""
    return (code ^ np.uint64(byte)) * _FNV_PRIME


@kernel()
def hash_words(letters: Array, ends: Array, hashes: Array) -> None:
    """The hashes of the words of a table."""
    at = 0
    for word in range(len(ends)):
        code = _FNV_OFFSET
        while at < ends[word]:
            code = more_of(code, letters[at])
            at += 1
        hashes[word] = code ^ (code >> np.uint64(32))


@kernel()
def find_words(
    text: Array, table: WordTable, tokens: Array, offsets: Array, strange: Strange
) -> tuple[int, int]:
    """The number of each token, and where each line's tokens end (`offsets`, from its second element on).

    Tokens that the table does not know are listed in `strange`. Returns the number of tokens, and of these.
    """
    mask = np.uint64(len(table.slots) - 1)
    filled = unknown = line = at = 0
    while at < len(text):
        gap = white_space(text, at)
        if gap > 0:
            if text[at] == 10:
                line += 1
                offsets[line] = filled
            at += gap
            continue
        begin, code = at, _FNV_OFFSET
        while gap == 0:  # the last line is ended, too
            code = more_of(code, text[at])
            at += 1
            gap = 0 if 32 < text[at] < 0x80 else white_space(text, at)
        code ^= code >> np.uint64(32)
        slot = code & mask
        word = table.slots[slot]
        while word >= 0 and not (table.hashes[word] == code and same_word(text, begin, at, table, word)):
            slot = (slot + np.uint64(1)) & mask
            word = table.slots[slot]
        if word < 0:
            strange.begin[unknown], strange.end[unknown] = begin, at
            strange.token[unknown], strange.code[unknown] = filled, code
            unknown += 1
        tokens[filled] = word
        filled += 1
    return filled, unknown


@kernel()
def number_strange(
    text: Array, unknown: int, strange: Strange, slots: Array, known: int, tokens: Array, firsts: Array
) -> int:
    """Number the words that the table lacks from `known` on, and list in `firsts` where each is met first.

    `slots` is an empty table, at most half full in the end. Returns how many words these are.
    """
    mask = np.uint64(len(slots) - 1)
    new = 0
    for k in range(unknown):
        slot = strange.code[k] & mask
        word = slots[slot]
        while word >= 0 and not same_token(text, strange, firsts[word], k):
            slot = (slot + np.uint64(1)) & mask
            word = slots[slot]
        if word < 0:
            word = new
            firsts[new] = k
            slots[slot] = new
            new += 1
        tokens[strange.token[k]] = known + word
    return new


@kernel()
def same_token(text: Array, strange: Strange, k: int, m: int) -> bool:
    """Whether two of the unknown tokens are the same word."""
    if strange.code[k] != strange.code[m]:
        return False
    a, b = strange.begin[k], strange.begin[m]
    return same_bytes(text[a : strange.end[k]], text[b : strange.end[m]])


@kernel()
def same_word(text: Array, begin: int, end: int, table: WordTable, word: int) -> bool:
    """Whether `text[begin:end]` is that word of the table."""
    first = table.ends[word - 1] if word else 0
    return same_bytes(text[begin:end], table.letters[first : table.ends[word]])


@kernel()
def same_bytes(a: Array, b: Array) -> bool:
    """Whether two pieces of text are equal."""
    if len(a) != len(b):
        return False
    k = 0
    while k < len(a) and a[k] == b[k]:
        k += 1
    return k == len(a)
