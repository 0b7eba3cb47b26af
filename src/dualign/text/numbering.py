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
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError
from dualign._core.jit import kernel
from dualign._core.memory import Growing, Workspace, boundless
from dualign._core.progress import timed
from dualign._core.threads import ordered_map, prefetched
from dualign.text.checks import same_length
from dualign.text.corpus import Numbered, Sentences
from dualign.text.tokenizing import PLAIN, Cutting
from dualign.text.utf8 import checked, read_blocks, refuse_block
from dualign.text.utf8_kernels import (
    BYTE,
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

BLOCK = 1 << 20
"""Bytes of a block. Few words of a larger one would be new to the table of its file; it takes more memory."""

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


def encode_files(
    source: str,
    target: str,
    lowercase: bool,
    *,
    errors: str = "strict",
    cutting: Cutting = PLAIN,
    threads: int = 1,
    workspace: Workspace | None = None,
) -> Numbered:
    """Number the words of two parallel files, as `numbered(read_pairs(source, target), lowercase)` would."""
    checked(errors)
    paths = source, target
    reading = _Reading(workspace or boundless(), threads, (_expected(source), _expected(target)))

    def blocks() -> Iterator[tuple[int, NumberedBlock]]:
        lines_before = [0, 0]
        jobs = _by_turns(paths, threads)
        for side, lines, block in ordered_map(
            timed("reading", partial(_numbered, errors, cutting)), jobs, threads
        ):
            if block is None:
                refuse_block(paths[side], lines, lines_before[side] + 1)
            lines_before[side] += len(block.ends)
            yield side, block

    reading.add(blocks())
    same_length((source, len(reading.sides[0])), (target, len(reading.sides[1])))
    return reading.finished(lowercase)


def encode_blocks(
    blocks: Iterable[tuple[bytes, bytes]],
    lowercase: bool,
    *,
    ascii: bool = False,
    threads: int = 1,
    workspace: Workspace | None = None,
) -> Numbered:
    """The same for blocks of parallel lines of tokens in normal form, each with its `\\n`."""
    reading = _Reading(workspace or boundless(), threads)

    def number(job: tuple[int, bytes]) -> tuple[int, NumberedBlock]:
        return job[0], number_block(job[1], ascii=ascii)

    jobs = (job for pair in blocks for job in enumerate(pair))
    reading.add(ordered_map(timed("reading", number), jobs, threads))
    return reading.finished(lowercase)


class _Reading:
    """Both sides of a text that is being read."""

    def __init__(self, workspace: Workspace, threads: int, expected: tuple[int, int] = (0, 0)) -> None:
        self.sides = SideNumbering(workspace, expected[0]), SideNumbering(workspace, expected[1])
        self.workspace, self.threads = workspace, threads

    def add(self, blocks: Iterator[tuple[int, NumberedBlock]]) -> None:
        """Add blocks, each with the number of its side, in the order of the text.

        The blocks of a side are placed one after the other; a thread for each side lets the two not wait for
        each other.
        """
        if self.threads == 1:
            for side, block in blocks:
                _renumber(self.sides[side].place(block))
            return
        with ThreadPoolExecutor(1) as left, ThreadPoolExecutor(1) as right:
            placing = (left, right)
            place = [timed("reading", side.place) for side in self.sides]
            coming = (placing[side].submit(place[side], block) for side, block in blocks)
            renumber = timed("reading", _renumber)
            for _ in ordered_map(lambda placed: renumber(placed.result()), coming, self.threads):
                pass

    def finished(self, lowercase: bool) -> Numbered:
        """The text; nothing is left here."""
        (left, source_words), (right, target_words) = (side.finished(self.threads) for side in self.sides)
        text = Numbered(left, right, source_words, target_words)
        return text.lowered(self.threads, self.workspace, in_place=True) if lowercase else text


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


def _numbered(
    errors: str, cutting: Cutting, job: tuple[int, bytes | DataError]
) -> tuple[int, bytes, NumberedBlock | None]:
    """A block in numbers of its own, with its file and its lines; None if a line of it is an error."""
    side, lines = job
    if isinstance(lines, DataError):
        raise lines
    normal = normal_form(lines, errors)
    if normal is None:
        return side, lines, None
    return side, lines, number_block(cutting.cut(side, normal), ascii=cutting.ascii)


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
