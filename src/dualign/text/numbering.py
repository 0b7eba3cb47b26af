"""Lines as numbers, straight from their bytes: a text as `numbered(read_pairs(…))` would number it, or a
block of lines by words that are known, without a string per token.

Lines are numbered in blocks. A kernel cuts a block at white space and numbers its words from 0 on, by a hash
table of their bytes. Only its different words are then looked up in a larger table, and the block's numbers
replaced by those found there.

Of a text, threads number the blocks; their words are looked up in the table of the whole side, and added to
it, in the order of the blocks, which gives the numbers that one pass over the text would give. The table of
known words is never written once it is made, so any thread can number a block by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel
from dualign._core.memory import Growing, Workspace, boundless
from dualign._core.progress import timed
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
from dualign.text.word_table import (
    WordTable,
    add_words,
    bytes_of,
    compiled_copy_words,
    find_words,
    grown,
    hash_of,
    mark_of,
    mixed,
    room_for_words,
    slot_of,
)

if TYPE_CHECKING:
    from dualign.text.blocks import TextBlock
    from dualign.text.text_files import TextFiles

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
            renumber = timed("reading", _renumber)
            for _ in ordered_map(lambda placed: renumber(placed.result()), coming, threads):
                pass
    (source, source_words), (target, target_words) = (side.finished(threads) for side in sides)
    found = Numbered(source, target, source_words, target_words)
    return found.lowered(threads, workspace, in_place=True) if lowercase else found


def _expected(text: TextFiles) -> tuple[int, int]:
    """A number of tokens that each side rarely exceeds unless it is compressed, or a pipe."""
    if text.target is None:
        return 0, 0
    sizes = [os.stat(path).st_size // 4 if os.path.exists(path) else 0 for path in text.files]
    return sizes[0], sizes[1]


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
    ends = np.empty(count_lines(np.frombuffer(lines, np.uint8)), np.int64)
    words = room_for_words(text, most or (_FEW if size < 1 << 17 else _MANY))
    done = np.zeros(4, np.int64)
    while not number_words(text, size, ascii, words, done, tokens, ends):
        words = grown(words, int(done[1]), 2 * len(words.begins))
    return NumberedBlock(words, int(done[1]), tokens[: done[2]], ends)


class SideNumbering:
    """The words and sentences of the blocks of a file that were read so far."""

    def __init__(self, workspace: Workspace | None = None, expected: int = 0) -> None:
        workspace = boundless() if workspace is None else workspace
        self.words = room_for_words(np.zeros(2, np.uint64), _FEW)
        self.known = self.used = 0
        self.tokens, self.offsets = Growing(np.int32, workspace, expected), Growing(np.int64, workspace)
        self.offsets.room(1)[0] = 0

    def __len__(self) -> int:
        return self.offsets.length - 1

    def add(self, lines: bytes) -> None:
        """Number the words of whole lines in normal form."""
        _renumber(self.place(number_block(lines)))

    def place(self, block: NumberedBlock) -> Placed:
        """Number the words of the next block; its tokens are still to be renumbered."""
        begin = self.tokens.length
        number, new = _looked_up(block, self.words, self.known)
        self._make_room(self.known + len(new), self.used + bytes_of(block.words, new))
        self.used = add_words(block.words, new, self.words, self.known, self.used)
        self.known += len(new)
        room = self.tokens.room(len(block.tokens)), self.offsets.room(len(block.ends))
        return Placed(block.tokens, block.ends, number, begin, *room)

    def finished(self, threads: int = 1) -> tuple[Sentences, list[str]]:
        """The sentences and the words; nothing is left here."""
        sentences = Sentences(self.tokens.finished(threads), self.offsets.finished(threads))
        return sentences, as_bytes(self.words.letters, self.used).decode().split("\n")[:-1]

    def _make_room(self, words: int, letters: int) -> None:
        if words > len(self.words.begins):
            self.words = grown(self.words, self.known, 2 * words)
        if letters > 8 * (len(self.words.letters) - 2):
            more = np.zeros(letters // 4 + 2, np.uint64)
            more[: len(self.words.letters)] = self.words.letters
            self.words = self.words._replace(letters=more)


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


def _renumber(placed: Placed) -> None:
    renumber_block(*placed)


@kernel
def count_lines(text: Array) -> int:
    """How many `\\n` there are (uint8)."""
    lines = 0
    for octet in text:
        lines += octet == 10
    return lines


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
