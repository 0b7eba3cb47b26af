"""A hash table of words by their bytes.

Words are looked up and added by kernels, without a string per word. A table that is not written any more can
be read by many threads at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.lanes import prefetch
from dualign.text.utf8_kernels import BYTE, eight_bytes, octets, signed

_NEWLINE = np.uint64(10)


class WordTable(NamedTuple):
    """Word w is the `sizes[w]` bytes of `letters` (see `dualign.text.utf8`) from `begins[w]` on.

    `slots` (a power of two of them, at most half full) hold at `hashes[w]`, or after it, that hash and a mark
    (see `mark_of`) of the word; the mark of a free one is 0.
    """

    letters: Array
    begins: Array
    sizes: Array
    hashes: Array
    slots: Array


def table_of(text: Array) -> WordTable:
    """The table of different words, each ended by a `\\n` (uint8)."""
    ends = np.flatnonzero(text == 10)
    words = room_for_words(octets(text), len(ends))
    words.begins[:1], words.begins[1:] = 0, ends[:-1] + 1
    words.sizes[:] = ends - words.begins
    hash_words(words)
    place_words(words, len(ends))
    return words


def room_for_words(letters: Array, most: int) -> WordTable:
    """An empty table for at most this number of words."""
    begins, sizes, hashes = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint64)
    return WordTable(
        letters, begins, sizes, hashes, np.zeros((1 << (2 * most - 1).bit_length(), 2), np.uint64)
    )


def grown(words: WordTable, known: int, most: int) -> WordTable:
    """The same words in a table with room for more."""
    more = room_for_words(words.letters, most)
    for old, new in zip(words[1:4], more[1:4], strict=True):
        new[:known] = old[:known]
    place_words(more, known)
    return more


def bytes_of(words: WordTable, which: Array) -> int:
    """How many bytes some words take, each with its `\\n`."""
    return int(words.sizes[which].sum()) + len(which)


@kernel
def hash_words(words: WordTable) -> None:
    """The hashes of words, and 0 for those that no line can have, since they are empty or end with a NUL."""
    for word in range(len(words.begins)):
        begin, size = words.begins[word], words.sizes[word]
        is_word = size > 0 and eight_bytes(words.letters, begin + size - 1) & BYTE != 0
        words.hashes[word] = hash_of(words.letters, begin, size) if is_word else np.uint64(0)


@kernel
def place_words(words: WordTable, known: int) -> None:
    """Fill an empty table."""
    mask = len(words.slots) - 1
    for word in range(known):
        code = words.hashes[word]
        slot = signed(code) & mask
        while words.slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        words.slots[slot, 0], words.slots[slot, 1] = code, mark_of(word, words.sizes[word])


@kernel
def find_words(new: WordTable, table: WordTable, known: int, number: Array, missing: Array) -> int:
    """Look words up in a table; those that are missing are listed and numbered after the known ones.

    `number` has one element per word. Returns how many are missing.
    """
    found, last = 0, len(table.slots) - 1
    for k in range(len(number)):
        # The table of a file is larger than a cache, and words come in no order.
        prefetch(table.slots, 2 * (signed(new.hashes[min(k + 8, len(number) - 1)]) & last))
        slot = slot_of(table, new.letters, new.begins[k], new.sizes[k], new.hashes[k])
        word = signed(table.slots[slot, 1] >> np.uint64(1)) - 1
        if word < 0:
            missing[found] = k
            word = known + found
            found += 1
        number[k] = word
    return found


@kernel
def add_words(new: WordTable, which: Array, words: WordTable, known: int, used: int) -> int:
    """Add some words to a table that lacks them; returns how many bytes of its letters are taken then."""
    end = copy_words(new, which, words.letters, used)
    for k in which:
        size, code = new.sizes[k], new.hashes[k]
        slot = slot_of(words, new.letters, new.begins[k], size, code)
        words.begins[known], words.sizes[known], words.hashes[known] = used, size, code
        words.slots[slot, 0], words.slots[slot, 1] = code, mark_of(known, size)
        used += size + 1
        known += 1
    return end


@part
def copy_words(words: WordTable, which: Array, letters: Array, used: int) -> int:
    """Write some words, each with its `\\n`, after the `used` bytes that are taken; the others are 0.

    Returns how many are taken then.
    """
    for k in which:
        begin, size = words.begins[k], words.sizes[k]
        for b in range(size + 1):
            letter = eight_bytes(words.letters, begin + b) & BYTE if b < size else _NEWLINE
            letters[used >> 3] |= letter << np.uint64((used & 7) << 3)
            used += 1
    return used


compiled_copy_words = kernel(copy_words)


@part(allocates=False)
def slot_of(words: WordTable, text: Array, begin: int, size: int, code: np.uint64) -> int:
    """The place of a word in the table, or the free one where it belongs."""
    last = len(words.slots) - 1
    slot = signed(code) & last
    while True:
        mark = words.slots[slot, 1]
        if mark == 0:
            return slot
        if words.slots[slot, 0] == code:
            # Up to eight bytes, different words have different hashes.
            if size <= 8 and mark & np.uint64(1) == 0:
                return slot
            word = signed(mark >> np.uint64(1)) - 1
            if words.sizes[word] == size and same(words.letters, words.begins[word], text, begin, size):
                return slot
        slot = (slot + 1) & last


@part(allocates=False)
def mark_of(word: int, size: int) -> np.uint64:
    """How a word is marked in a slot: by its number, counted from 1, and by whether it is long."""
    return np.uint64(2 * (word + 1) + (1 if size > 8 else 0))


@part(allocates=False)
def hash_of(text: Array, begin: int, size: int) -> np.uint64:
    """A number for a word; words of up to eight bytes have different ones, because no step loses anything."""
    code = np.uint64(0)
    while size > 8:
        code = mixed(code ^ eight_bytes(text, begin))
        begin += 8
        size -= 8
    return mixed(code ^ first_bytes(text, begin, size))


@part(allocates=False)
def mixed(code: np.uint64) -> np.uint64:
    """A one-to-one function whose upper and lower bits depend on all others."""
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return code ^ (code >> np.uint64(32))


@part(allocates=False)
def first_bytes(text: Array, begin: int, size: int) -> np.uint64:
    """From one to eight bytes."""
    return eight_bytes(text, begin) & (~np.uint64(0) >> np.uint64(64 - 8 * size))


@part(allocates=False)
def same(left: Array, first: int, right: Array, begin: int, size: int) -> bool:
    """Whether two words of the same size are the same."""
    while size > 8:
        if eight_bytes(left, first) != eight_bytes(right, begin):
            return False
        first += 8
        begin += 8
        size -= 8
    return first_bytes(left, first, size) == first_bytes(right, begin, size)
