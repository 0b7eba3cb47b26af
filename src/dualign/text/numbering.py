"""Lines as numbers, straight from their bytes: a text as `numbered(read_pairs(…))` would number it, or a
block of lines by words that are known, without a string per token.

Lines are numbered in blocks. A kernel cuts a block at white space and numbers its words from 0 on, by a hash
table of their bytes. Only its different words are then looked up in a larger table, and the block's numbers
replaced by those found there.

Of a text, threads number the blocks; their words are looked up in the table of the whole side, and added to
it, in the order of the blocks, which gives the numbers that one pass over the text would give. A table that
is not written any more, as that of a model's words, can be read by many threads at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.lanes import prefetch
from dualign._core.memory import Growing, Workspace, boundless
from dualign._core.progress import phase, timed
from dualign._core.threads import ordered_map
from dualign.text.corpus import Numbered, Sentences
from dualign.text.utf8_kernels import (
    BYTE,
    as_bytes,
    eight_bytes,
    first_marked,
    octets,
    signed,
    stops,
    white_space,
    word_end,
)

if TYPE_CHECKING:
    from dualign.text.blocks import TextBlock, TextFiles

LINES = 1 << 14
"""Lines of a block. Few words of a larger one would be new to the table of its side; it takes more memory."""

_FEW, _MANY = 1 << 8, 1 << 14
"""Words that a table has room for at first: more than a small text, or a block of a large one, often has."""

_BLANK, _NEWLINE = np.uint64(32), np.uint64(10)


class NumberedBlock(NamedTuple):
    """Some lines in numbers of their own: `ends[n]` tokens are in the first n + 1 of them."""

    words: WordTable
    known: int
    tokens: Array
    ends: Array


class Placed(NamedTuple):
    """Tokens and ends of a block, and where they go: `number` has the file's numbers in place of its own."""

    numbers: Array
    ends: Array
    number: Array
    begin: int
    tokens: Array
    offsets: Array


def encode_text(
    text: TextFiles,
    blocks: Iterable[TextBlock],
    lowercase: bool,
    *,
    threads: int = 1,
    workspace: Workspace | None = None,
) -> Numbered:
    """Number the words of a text, as `numbered(read_pairs(text), lowercase)` would.

    `blocks`: those of the text. A thread for each side places its blocks
    one after the other, so that the two do not wait for each other.
    """
    workspace = workspace or boundless()
    sides = [SideNumbering(workspace, expected) for expected in _expected(text)]
    ascii = text.cutting.ascii

    def number(block: TextBlock) -> list[NumberedBlock]:
        return [number_block(lines, ascii=ascii) for lines in block.tokens()]

    with phase("reading"):
        numbers = ordered_map(timed("reading", number), blocks, threads)
        if threads == 1:
            for block in numbers:
                for side, part in zip(sides, block, strict=True):
                    renumber_block(*side.place(part))
        else:
            with ThreadPoolExecutor(1) as left, ThreadPoolExecutor(1) as right:
                both = zip((left, right), sides, strict=True)
                place = [partial(thread.submit, timed("reading", side.place)) for thread, side in both]
                coming = (place[n](part) for block in numbers for n, part in enumerate(block))
                renumber = timed("reading", renumber_block)
                for _ in ordered_map(lambda placed: renumber(*placed.result()), coming, threads):
                    pass
        (source, source_words), (target, target_words) = (side.finished(threads) for side in sides)
        found = Numbered(source, target, source_words, target_words)
        return found.lowered(threads, workspace, in_place=True) if lowercase else found


def _expected(text: TextFiles) -> tuple[int, int]:
    """A number of tokens that each side rarely exceeds unless it is compressed, or a pipe."""
    sizes = [os.stat(path).st_size // 4 if os.path.exists(path) else 0 for path in text.files]
    return (sizes[0], sizes[1]) if len(sizes) == 2 else (0, 0)


def number_lines(
    lines: bytes, table: WordTable, lowercase: bool = False, *, ascii: bool = False, is_lower: bool = False
) -> tuple[Sentences, list[str]]:
    """The words of lines in normal form, each with its `\\n`, in the numbers of a table.

    Words that are not in it are numbered after it, in the order in which they occur; they are returned, too.
    If the table `is_lower`, with words in lower case only, what it has need not be put in lower case first.
    """
    block = words = number_block(lines, ascii=ascii)
    known = len(table.begins)
    if lowercase and not is_lower:
        number, missing = np.empty(block.known, np.int32), np.arange(block.known)
    else:
        number, missing = _looked_up(block, table, known)
    if lowercase and len(missing):  # one word per line, which Python lowers by itself; it stays one token
        lowered = _spelled(block, missing).lower().encode()
        words = number_block(lowered, len(missing), ascii=ascii)
        others, lacking = _looked_up(words, table, known)
        number[missing] = others[words.tokens]
        missing = lacking
    new = _spelled(words, missing).split("\n")[:-1] if len(missing) else []
    tokens, offsets = np.empty(len(block.tokens), np.int32), np.zeros(len(block.ends) + 1, np.int64)
    renumber_block(block.tokens, block.ends, number, 0, tokens, offsets[1:])
    return Sentences(tokens, offsets), new


def number_block(lines: bytes, most: int = 0, *, ascii: bool = False) -> NumberedBlock:
    """The words of lines in normal form, each with its `\\n`, in numbers of their own; `most` if known."""
    text, size = octets(lines), len(lines)
    tokens = np.empty(size // 2 + 1, np.int32)
    ends = np.empty(lines.count(b"\n"), np.int64)
    words = room_for_words(text, most or (_FEW if size < 1 << 17 else _MANY))
    done = np.zeros(4, np.int64)
    while not number_words(text, size, ascii, words, done, tokens, ends):
        words = grown(words, int(done[1]), 2 * len(words.begins))
    return NumberedBlock(words, int(done[1]), tokens[: done[2]], ends)


class SideNumbering:
    """The words and sentences of the blocks of a file that were read so far."""

    def __init__(self, workspace: Workspace | None = None, expected: int = 0) -> None:
        workspace = workspace or boundless()
        self.words = room_for_words(np.zeros(2, np.uint64), _FEW)
        self.known = self.used = 0
        self.tokens, self.offsets = Growing(np.int32, workspace, expected), Growing(np.int64, workspace)
        self.offsets.room(1)[0] = 0

    def place(self, block: NumberedBlock) -> Placed:
        """Number the words of the next block; its tokens are still to be renumbered."""
        begin = self.tokens.length
        number, new = _looked_up(block, self.words, self.known)
        words, letters = self.known + len(new), self.used + bytes_of(block.words, new)
        if words > len(self.words.begins):
            self.words = grown(self.words, self.known, 2 * words)
        if letters > 8 * (len(self.words.letters) - 2):
            more = np.zeros(letters // 4 + 2, np.uint64)
            more[: len(self.words.letters)] = self.words.letters
            self.words = self.words._replace(letters=more)
        self.used = add_words(block.words, new, self.words, self.known, self.used)
        self.known += len(new)
        room = self.tokens.room(len(block.tokens)), self.offsets.room(len(block.ends))
        return Placed(block.tokens, block.ends, number, begin, *room)

    def finished(self, threads: int = 1) -> tuple[Sentences, list[str]]:
        """The sentences and the words; nothing is left here."""
        sentences = Sentences(self.tokens.finished(threads), self.offsets.finished(threads))
        return sentences, as_bytes(self.words.letters, self.used).decode().split("\n")[:-1]


def _looked_up(block: NumberedBlock, table: WordTable, known: int) -> tuple[Array, Array]:
    """The numbers of a block's words by a table of `known` words, and which of them it lacks.

    These are numbered after the known ones.
    """
    number, missing = np.empty(block.known, np.int32), np.empty(block.known, np.int64)
    return number, missing[: find_words(block.words, table, known, number, missing)]


def _spelled(block: NumberedBlock, which: Array) -> str:
    """Some words of a block, each with its `\\n`."""
    size = bytes_of(block.words, which)
    letters = np.zeros(size // 8 + 1, np.uint64)
    compiled_copy_words(block.words, which, letters, 0)
    return as_bytes(letters, size).decode()


@kernel
def number_words(
    text: Array, size: int, ascii: bool, words: WordTable, done: Array, tokens: Array, ends: Array
) -> bool:
    """Number the words of a block of lines, each with its `\\n`, until the table is full or all is `done`.

    `done` says where in the text we are, and how many words, tokens and lines there were before. Writes the
    number of each token, and how many tokens the lines up to each have. `ascii`: see `white_space`.
    """
    at, known, filled, line = done
    while at < size:
        x = eight_bytes(text, at)
        marks = stops(x)
        short = first_marked(marks) if marks != 0 else 0
        if short > 0 and x >> np.uint64(8 * short) & BYTE == _BLANK:
            end, blank = at + short, 1
            code = mixed(x & (~np.uint64(0) >> np.uint64(64 - 8 * short)))
        else:
            gap = white_space(x, ascii)
            if gap > 0:
                if x & BYTE == _NEWLINE:
                    ends[line] = filled
                    line += 1
                at += gap
                continue
            end, blank = word_end(text, at, ascii), 0
            code = hash_of(text, at, end - at)
        slot = slot_of(words, text, at, end - at, code)
        word = signed(words.slots[slot, 1] >> np.uint64(1)) - 1
        if word < 0:
            if known == len(words.begins):
                break
            word = known
            words.begins[word], words.sizes[word], words.hashes[word] = at, end - at, code
            words.slots[slot, 0], words.slots[slot, 1] = code, mark_of(word, end - at)
            known += 1
        tokens[filled] = word
        filled += 1
        at = end + blank
    done[0], done[1], done[2], done[3] = at, known, filled, line
    return at >= size


@kernel
def renumber_block(
    numbers: Array, ends: Array, number: Array, begin: int, tokens: Array, offsets: Array
) -> None:
    """A block's tokens in the file's numbers, and where its lines end in the file."""
    for k in range(len(numbers)):
        tokens[k] = number[numbers[k]]
    for n in range(len(ends)):
        offsets[n] = begin + ends[n]


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
