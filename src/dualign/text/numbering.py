"""Lines as numbers, straight from their bytes: two parallel files as `numbered(read_pairs(…))` would number
them, or a block of lines by words that are known, without a string per token.

Lines are numbered in blocks. A kernel cuts a block at white space and numbers its words from 0 on, by a hash
table of their bytes. Only its different words are then looked up in a larger table, and the block's numbers
replaced by those found there.

For files, threads number the blocks; their words are looked up in the table of the whole file, and added to
it, in the order of the blocks, which gives the numbers that one pass over the file would give. The table of
known words is never written once it is made, so any thread can number a block by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError
from dualign.core.jit import kernel
from dualign.core.prefetch import prefetched
from dualign.core.threads import ordered_map
from dualign.core.workspace import Growing, Workspace, boundless
from dualign.text.bitext import Numbered, Sentences
from dualign.text.checks import same_length
from dualign.text.lines import checked, read_blocks, refuse_block
from dualign.text.octets import (
    as_bytes,
    eight_bytes,
    first_marked,
    normal_form,
    octets,
    signed,
    stops,
    white_space,
    word_end,
)

BLOCK = 1 << 20
"""Bytes of a block. Few words of a larger one would be new to the table of its file; it takes more memory."""

_FEW, _MANY = 1 << 8, 1 << 14
"""Words that a table has room for at first: more than a small text, or a block of a large one, often has."""

_BYTE, _BLANK, _NEWLINE = np.uint64(0xFF), np.uint64(32), np.uint64(10)


class Words(NamedTuple):
    """Word w is the `sizes[w]` bytes of `letters` (see `dualign.text.octets`) from `begins[w]` on.

    `slots` (a power of two of them, at most half full) hold at `hashes[w]`, or after it, that hash and a mark
    (see `mark_of`) of the word; the mark of a free one is 0.
    """

    letters: Array
    begins: Array
    sizes: Array
    hashes: Array
    slots: Array


class Block(NamedTuple):
    """Some lines in numbers of their own: `ends[n]` tokens are in the first n + 1 of them."""

    words: Words
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


def encode_files(
    source: str,
    target: str,
    lowercase: bool,
    *,
    errors: str = "strict",
    threads: int = 1,
    workspace: Workspace | None = None,
) -> Numbered:
    """Number the words of two parallel files, as `numbered(read_pairs(source, target), lowercase)` would."""
    checked(errors)
    workspace = boundless() if workspace is None else workspace
    paths = source, target
    sides = Side(workspace, _expected(source)), Side(workspace, _expected(target))

    def placed() -> Iterator[Placed]:
        jobs = _by_turns(paths, threads)
        for side, lines, block in ordered_map(partial(_numbered, errors), jobs, threads):
            if block is None:
                refuse_block(paths[side], lines, len(sides[side]) + 1)
            yield sides[side].place(block)

    for _ in ordered_map(_renumber, placed(), threads):
        pass
    same_length((source, len(sides[0])), (target, len(sides[1])))
    (left, source_words), (right, target_words) = (side.finished(threads) for side in sides)
    text = Numbered(left, right, source_words, target_words)
    return text.lowered(threads, workspace, in_place=True) if lowercase else text


def _expected(path: str) -> int:
    """A number of tokens that a file rarely exceeds unless it is compressed, or a pipe."""
    try:
        return os.stat(path).st_size // 4
    except (OSError, ValueError):
        return 0  # standard input; and what else is wrong is said when it is opened


def _by_turns(paths: Sequence[str], threads: int) -> Iterator[tuple[int, bytes | DataError]]:
    """Blocks of the files with the number of their file, by turns: pipes may be filled by one program.

    An error comes in place of a block, so that it is raised in its turn, not when a thread has read so far.
    """
    files = [_or_error(read_blocks(path, BLOCK)) for path in paths]
    if threads > 1 and all(map(os.path.isfile, paths)):  # a pipe might keep us waiting after an error
        files = [prefetched(file) for file in files]  # two files are decompressed at once
    for turn in zip_longest(*files, fillvalue=b""):
        yield from ((side, block) for side, block in enumerate(turn) if block)


def _or_error(blocks: Iterator[bytes]) -> Iterator[bytes | DataError]:
    try:
        yield from blocks
    except DataError as error:
        yield error


def _numbered(errors: str, job: tuple[int, bytes | DataError]) -> tuple[int, bytes, Block | None]:
    """A block in numbers of its own, with its file and its lines; None if a line of it is an error."""
    side, lines = job
    if isinstance(lines, DataError):
        raise lines
    normal = normal_form(lines, errors)
    return side, lines, None if normal is None else number_block(normal)


def table_of(text: Array) -> Words:
    """The table of different words, each ended by a `\\n` (uint8)."""
    ends = np.flatnonzero(text == 10)
    words = _room_for_words(octets(text), len(ends))
    words.begins[:1], words.begins[1:] = 0, ends[:-1] + 1
    words.sizes[:] = ends - words.begins
    hash_words(words)
    place_words(words, len(ends))
    return words


def number_lines(lines: bytes, table: Words, lowercase: bool = False) -> tuple[Sentences, list[str]]:
    """The words of lines in normal form, each with its `\\n`, in the numbers of a table.

    Words that are not in it are numbered after it, in the order in which they occur; they are returned, too.
    """
    block = words = number_block(lines)
    if lowercase:  # one word per line, which Python lowers by itself; it stays one token
        words = number_block(_spelled(block, np.arange(block.known)).lower().encode(), block.known)
    number, missing = _looked_up(words, table, len(table.begins))
    new = _spelled(words, missing).split("\n")[:-1]
    if lowercase:
        number = number[words.tokens]
    tokens, offsets = np.empty(len(block.tokens), np.int32), np.zeros(len(block.ends) + 1, np.int64)
    renumber_block(block.tokens, block.ends, number, 0, tokens, offsets[1:])
    return Sentences(tokens, offsets), new


def number_block(lines: bytes, most: int = 0) -> Block:
    """The words of lines in normal form, each with its `\\n`, in numbers of their own; `most` if known."""
    text, size = octets(lines), len(lines)
    tokens, ends = np.empty(size // 2 + 1, np.int32), np.empty(lines.count(b"\n"), np.int64)
    words = _room_for_words(text, most or (_FEW if size < 1 << 17 else _MANY))
    done = np.zeros(4, np.int64)
    while not number_words(text, size, words, done, tokens, ends):
        words = _grown(words, int(done[1]), 2 * len(words.begins))
    return Block(words, int(done[1]), tokens[: done[2]], ends)


class Side:
    """The words and sentences of the blocks of a file that were read so far."""

    def __init__(self, workspace: Workspace | None = None, expected: int = 0) -> None:
        workspace = boundless() if workspace is None else workspace
        self.words = _room_for_words(np.zeros(2, np.uint64), _FEW)
        self.known = self.used = 0
        self.tokens, self.offsets = Growing(np.int32, workspace, expected), Growing(np.int64, workspace)
        self.offsets.room(1)[0] = 0

    def __len__(self) -> int:
        return self.offsets.length - 1

    def add(self, lines: bytes) -> None:
        """Number the words of whole lines in normal form."""
        _renumber(self.place(number_block(lines)))

    def place(self, block: Block) -> Placed:
        """Number the words of the next block; its tokens are still to be renumbered."""
        begin = self.tokens.length
        number, new = _looked_up(block, self.words, self.known)
        self._make_room(self.known + len(new), self.used + _bytes_of(block.words, new))
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
            self.words = _grown(self.words, self.known, 2 * words)
        if letters > 8 * (len(self.words.letters) - 2):
            more = np.zeros(letters // 4 + 2, np.uint64)
            more[: len(self.words.letters)] = self.words.letters
            self.words = self.words._replace(letters=more)


def _room_for_words(letters: Array, most: int) -> Words:
    begins, sizes, hashes = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.uint64)
    return Words(letters, begins, sizes, hashes, np.zeros((1 << (2 * most - 1).bit_length(), 2), np.uint64))


def _grown(words: Words, known: int, most: int) -> Words:
    """The same words in a table with room for more."""
    more = _room_for_words(words.letters, most)
    for old, new in zip(words[1:4], more[1:4], strict=True):
        new[:known] = old[:known]
    place_words(more, known)
    return more


def _looked_up(block: Block, table: Words, known: int) -> tuple[Array, Array]:
    """The numbers of a block's words by a table of so many, and which of them it lacks.

    These are numbered after the known ones.
    """
    number, missing = np.empty(block.known, np.int32), np.empty(block.known, np.int64)
    return number, missing[: find_words(block.words, table, known, number, missing)]


def _spelled(block: Block, which: Array) -> str:
    """Some words of a block, each with its `\\n`."""
    size = _bytes_of(block.words, which)
    letters = np.zeros(size // 8 + 1, np.uint64)
    copy_words(block.words, which, letters, 0)
    return as_bytes(letters, size).decode()


def _bytes_of(words: Words, which: Array) -> int:
    return int(words.sizes[which].sum()) + len(which)


def _renumber(placed: Placed) -> None:
    renumber_block(*placed)


@kernel()
def hash_words(words: Words) -> None:
    """The hashes of words, and 0 for those that no line can have, since they are empty or end with a NUL."""
    for word in range(len(words.begins)):
        begin, size = words.begins[word], words.sizes[word]
        is_word = size > 0 and eight_bytes(words.letters, begin + size - 1) & _BYTE != 0
        words.hashes[word] = hash_of(words.letters, begin, size) if is_word else np.uint64(0)


@kernel()
def place_words(words: Words, known: int) -> None:
    """Fill an empty table."""
    mask = len(words.slots) - 1
    for word in range(known):
        code = words.hashes[word]
        slot = signed(code) & mask
        while words.slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        words.slots[slot, 0], words.slots[slot, 1] = code, mark_of(word, words.sizes[word])


@kernel()
def number_words(text: Array, size: int, words: Words, done: Array, tokens: Array, ends: Array) -> bool:
    """Number the words of a block of lines, each with its `\\n`, until the table is full or all is `done`.

    `done` says where in the text we are, and how many words, tokens and lines there were before. Writes the
    number of each token, and how many tokens the lines up to each have.
    """
    at, known, filled, line = done
    while at < size:
        x = eight_bytes(text, at)
        marks = stops(x)
        short = first_marked(marks) if marks != 0 else 0
        if short > 0 and x >> np.uint64(8 * short) & _BYTE == _BLANK:
            end, blank = at + short, 1
            code = mixed(x & (~np.uint64(0) >> np.uint64(64 - 8 * short)))
        else:
            gap = white_space(x)
            if gap > 0:
                if x & _BYTE == _NEWLINE:
                    ends[line] = filled
                    line += 1
                at += gap
                continue
            end, blank = word_end(text, at), 0
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


@kernel()
def find_words(new: Words, table: Words, known: int, number: Array, missing: Array) -> int:
    """Look words up in a table; those that are missing are listed and numbered after the known ones.

    `number` has one element per word. Returns how many are missing.
    """
    found = 0
    for k in range(len(number)):
        slot = slot_of(table, new.letters, new.begins[k], new.sizes[k], new.hashes[k])
        word = signed(table.slots[slot, 1] >> np.uint64(1)) - 1
        if word < 0:
            missing[found] = k
            word = known + found
            found += 1
        number[k] = word
    return found


@kernel()
def add_words(new: Words, which: Array, words: Words, known: int, used: int) -> int:
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


@kernel()
def copy_words(words: Words, which: Array, letters: Array, used: int) -> int:
    """Write some words, each with its `\\n`, after the `used` bytes that are taken; the others are 0.

    Returns how many are taken then.
    """
    for k in which:
        begin, size = words.begins[k], words.sizes[k]
        for b in range(size + 1):
            letter = eight_bytes(words.letters, begin + b) & _BYTE if b < size else _NEWLINE
            letters[used >> 3] |= letter << np.uint64((used & 7) << 3)
            used += 1
    return used


@kernel()
def renumber_block(
    numbers: Array, ends: Array, number: Array, begin: int, tokens: Array, offsets: Array
) -> None:
    """A block's tokens in the file's numbers, and where its lines end in the file."""
    for k in range(len(numbers)):
        tokens[k] = number[numbers[k]]
    for n in range(len(ends)):
        offsets[n] = begin + ends[n]


@kernel(allocates=False)
def slot_of(words: Words, text: Array, begin: int, size: int, code: np.uint64) -> int:
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


@kernel(allocates=False)
def mark_of(word: int, size: int) -> np.uint64:
    """How a word is marked in a slot: by its number, counted from 1, and by whether it is long."""
    return np.uint64(2 * (word + 1) + (1 if size > 8 else 0))


@kernel(allocates=False)
def hash_of(text: Array, begin: int, size: int) -> np.uint64:
    """A number for a word; words of up to eight bytes have different ones, because no step loses anything."""
    code = np.uint64(0)
    while size > 8:
        code = mixed(code ^ eight_bytes(text, begin))
        begin += 8
        size -= 8
    return mixed(code ^ first_bytes(text, begin, size))


@kernel(allocates=False)
def mixed(code: np.uint64) -> np.uint64:
    """A one-to-one function whose upper and lower bits depend on all others."""
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    code = (code ^ (code >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return code ^ (code >> np.uint64(32))


@kernel(allocates=False)
def first_bytes(text: Array, begin: int, size: int) -> np.uint64:
    """From one to eight bytes."""
    return eight_bytes(text, begin) & (~np.uint64(0) >> np.uint64(64 - 8 * size))


@kernel(allocates=False)
def same(left: Array, first: int, right: Array, begin: int, size: int) -> bool:
    """Whether two words of the same size are the same."""
    while size > 8:
        if eight_bytes(left, first) != eight_bytes(right, begin):
            return False
        first += 8
        begin += 8
        size -= 8
    return first_bytes(left, first, size) == first_bytes(right, begin, size)
