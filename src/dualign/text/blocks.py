"""Sentence pairs as blocks of bytes: what `dualign.text.blocks.read_pairs` reads, without a string per line.

`read_pair_blocks` cuts the files into blocks of lines; `both_sides`, on any thread, makes plain text of one.

Large texts as blocks of whole lines in step: a reader that looks for line ends and nothing else, and
`settled`, which brings a block into the form that `dualign.text.utf8` describes.

The reader is one thread's work; everything else about a block can be done by another, so that many blocks
are worked on at the same time. Blocks are cut by the content alone.

Sentence pairs from two parallel files, or from one file with both sides on a line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath, open_input
from dualign._core.jit import kernel, part
from dualign.text.checks import in_step, same_length
from dualign.text.tokenizing import PLAIN, Cutting, words_of
from dualign.text.utf8 import checked, read_lines, refuse_block, refuse_packed, tokenize
from dualign.text.utf8_kernels import BYTE, eight_bytes, normal_form, octets, white_space, word_end

BLOCK_BYTES = 1 << 20
"""Bytes of a block; only a longer line makes a longer one, or who asks for very many lines."""

_MANY = 1 << 14

_READ = 1 << 18


class Position(NamedTuple):
    """A place between two lines of a text: how many lines and bytes, decompressed, are before it."""

    line: int = 0
    source: int = 0
    target: int = 0


BEGINNING = Position()


class PairedLines(NamedTuple):
    """Some lines of both sides in UTF-8, each with its `\\n`, as they are in the files.

    `begin` and `end`: their place in the text. Without a `target` the lines of `source` have both sides,
    separated by `bars` or by a tab; None if all lines so far are empty.
    """

    begin: Position
    end: Position
    source: bytes
    target: bytes | None
    bars: bool | None = None

    @property
    def pairs(self) -> int:
        """How many pairs these are."""
        return self.end.line - self.begin.line


class LineReader:
    """Reads whole lines of a file, as many as are asked for."""

    def __init__(self, path: str, begin: int = 0) -> None:
        self.path = path
        self.position = begin
        """Of the first byte that was not taken."""
        self._stream = open_input(path, begin)
        self._held = bytearray()
        self._ends = np.empty(0, np.int64)  # of the lines in `_held`, each after its line feed
        self._ended = False
        self._added = 0  # line feeds that the file lacks

    def __enter__(self) -> LineReader:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stream.close()

    @property
    def count(self) -> int:
        """How many lines are in memory."""
        return len(self._ends)

    @staticmethod
    def limit(lines: int) -> int:
        """The most bytes that a block of this number of lines has."""
        return BLOCK_BYTES * max(1, lines // _MANY)

    def needs_more(self, lines: int) -> bool:
        """Whether neither the end, nor this many lines, nor the bytes of a block are in memory."""
        full = self.count >= lines or (self.count > 0 and self._ends[-1] >= self.limit(lines))
        return not self._ended and not full

    def read(self) -> None:
        """Read what there is, or wait for something."""
        part = self._stream.read1(_READ)
        if self.position == 0 and not self._held:
            refuse_packed(self.path, part)
        if not part:
            self._ended = True
            if len(self._held) > (self._ends[-1] if self.count else 0):
                part, self._added = b"\n", 1
        ends = np.flatnonzero(np.frombuffer(part, np.uint8) == 10) + (len(self._held) + 1)
        self._held += part
        self._ends = np.concatenate((self._ends, ends))

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to read."""
        return self._ended

    def block(self, lines: int) -> int:
        """How many of the lines in memory make a block: at least one."""
        return max(1, min(lines, int(np.searchsorted(self._ends, self.limit(lines), side="right"))))

    def take(self, lines: int) -> bytes:
        """The next lines, which are in memory."""
        size = int(self._ends[lines - 1])
        block = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        self._ends = self._ends[lines:] - size
        self.position += size - (self._added if not self._held else 0)
        return block

    def count_rest(self) -> int:
        """Read to the end, and return how many lines there were."""
        count = 0
        while self.count or not self._ended:
            if self.count:
                count += self.count
                self.take(self.count)
            else:
                self.read()
        return count


def paired_lines(
    source: str, target: str | None, lines: int, begin: Position = BEGINNING, *, at_once: bool = False
) -> Iterator[PairedLines]:
    """The lines of two parallel files, or of one with both sides, in blocks of at most this many.

    Lines that are there are given `at_once`, however few, if that is wanted: somebody may wait for an answer.
    Where one file ends before the other, the blocks before that come first, and then an error. How the text
    is cut depends on what it contains after the `begin`, and on nothing else.
    """
    with LineReader(source, begin.source) as left:
        if target is None:
            yield from _blocks_of_one(left, lines, begin, at_once)
            return
        with LineReader(target, begin.target) as right:
            while True:
                _fill(left, right, 1 if at_once else lines)
                if not (left.count and right.count):
                    break
                count = min(left.block(lines), right.block(lines))
                blocks = left.take(count), right.take(count)
                end = Position(begin.line + count, left.position, right.position)
                yield PairedLines(begin, end, *blocks)
                begin = end
            counts = [begin.line + side.count_rest() for side in (left, right)]
            same_length((source, counts[0]), (target, counts[1]))


def _fill(left: LineReader, right: LineReader, lines: int) -> None:
    """Read until it is known how many lines make the next block of both.

    Always from the side that has fewer lines: the two may be pipes that one program fills, line by line, and
    it may wait until that side is read.
    """
    while True:
        for one, other in ((left, right), (right, left)):
            enough = not one.needs_more(lines) and other.count >= one.block(lines)
            if enough or not (one.needs_more(lines) or other.needs_more(lines)):
                return
        first, second = (left, right) if left.count <= right.count else (right, left)
        (second if first.ended else first).read()


def _blocks_of_one(reader: LineReader, lines: int, begin: Position, at_once: bool) -> Iterator[PairedLines]:
    while True:
        while reader.needs_more(1 if at_once else lines):
            reader.read()
        if not reader.count:
            return
        count = reader.block(lines)
        block = reader.take(count)
        end = Position(begin.line + count, reader.position)
        yield PairedLines(begin, end, block, None)
        begin = end


def settled(block: bytes, path: str, before: int, errors: str) -> bytes:
    """The lines with the rules of `dualign.text.utf8` applied; it is left to split them at white space.

    `before`: how many lines of the file come before the block, for messages.
    """
    if before == 0:
        refuse_packed(path, block)
    normal = normal_form(block, errors)
    if normal is None:
        refuse_block(path, block, before + 1)
    return normal


_FEW = 256
"""Lines that are read together where pairs are wanted one by one."""


def read_pair_blocks(
    source: str,
    target: str | None,
    lines: int,
    *,
    begin: Position = BEGINNING,
    errors: str = "strict",
    tell: Callable[[str], None] | None = None,
) -> Iterator[PairedLines]:
    """The text that `read_pairs` reads, in blocks of at most this many pairs, from a place on.

    With `tell`, lines that are there are given at once (see `paired_lines`), and one that is an error counts
    as an empty pair: `tell` is called with the message.
    """
    if source == target == "-":
        raise UsageError("source and target cannot both be standard input; name a file for one of them")
    checked(errors)
    blocks = paired_lines(source, target, lines, begin, at_once=tell is not None)
    if tell is not None:
        yield from _mended(blocks, source, target, errors, tell)
        return
    if target is not None:
        yield from blocks
        return
    bars = _separator(source, read_lines(source, errors), 1) if begin.line else None
    for block in blocks:
        if bars is None:
            before = block.begin.line
            text = settled(block.source, source, before, errors).decode().split("\n")
            bars = _separator(source, text, before + 1)
        yield block._replace(bars=bars)


def _mended(
    blocks: Iterable[PairedLines], source: str, target: str | None, errors: str, tell: Callable[[str], None]
) -> Iterator[PairedLines]:
    """The blocks with bad lines made empty."""
    bars: bool | None = None
    for block in blocks:
        block = block._replace(bars=bars)
        if target is not None or bars is not None:
            with suppress(DataError):
                both_sides(block, source, target, errors)
                yield block
                continue
        sides = [side.split(b"\n")[:-1] for side in (block.source, block.target or block.source)]
        for number, pair in enumerate(zip(*sides, strict=True), block.begin.line):
            left, right = (line + b"\n" for line in pair)
            try:
                if target is None and bars is None:
                    text = settled(left, source, number, errors).decode().split("\n")
                    bars = _separator(source, text, number + 1)
                one = PairedLines(
                    Position(number), Position(number + 1), left, None if target is None else right, bars
                )
                both_sides(one, source, target, errors)
            except DataError as error:
                tell(str(error))
                for side in sides:
                    side[number - block.begin.line] = b""
        left, right = (b"".join(line + b"\n" for line in side) for side in sides)
        yield block._replace(source=left, target=None if target is None else right, bars=bars)


def _separator(path: str, lines: Iterable[str], number: int) -> bool | None:
    """Whether the lines, counted from `number` on, have bars, by the first that is not empty."""
    for at, line in enumerate(lines, number):
        if tokenize(line):
            return has_bars(line, f"{path}:{at}")
    return None


def both_sides(
    lines: PairedLines, source: str, target: str | None, errors: str = "strict"
) -> tuple[bytes, bytes]:
    """The lines of each side of a block of these files, to be split at white space."""
    left = settled(lines.source, source, lines.begin.line, errors)
    if lines.target is not None and target is not None:
        return left, settled(lines.target, target, lines.begin.line, errors)
    sides = np.empty((2, len(left) + lines.pairs), np.uint8)
    sizes = np.zeros(2, np.int64)
    line, found = split_lines(octets(left), len(left), bool(lines.bars), sides, sizes)
    if line >= 0:
        raise wrong_separators(f"{source}:{lines.begin.line + line + 1}", found, bool(lines.bars))
    return sides[0, : sizes[0]].tobytes(), sides[1, : sizes[1]].tobytes()


class TextFiles(NamedTuple):
    """The files of a text, one with both sides or two, and how to read them."""

    source: str
    target: str | None
    errors: str = "strict"
    cutting: Cutting = PLAIN
    tell: Callable[[str], None] | None = None
    """See `read_pair_blocks`."""

    def blocks(self, lines: int, begin: Position = BEGINNING) -> Iterator[PairedLines]:
        """Blocks of at most `lines` pairs, from a place on."""
        return read_pair_blocks(
            self.source, self.target, lines, begin=begin, errors=self.errors, tell=self.tell
        )

    def tokens(self, lines: PairedLines) -> tuple[bytes, bytes]:
        """The lines of each side of a block, with blanks between the tokens."""
        return self.cutting.both(both_sides(lines, self.source, self.target, self.errors))

    def pairs(self) -> Iterator[Pair]:
        """The token lists of each pair."""
        if self.cutting.plain:
            yield from read_pairs(self.source, self.target, errors=self.errors)
            return
        for block in self.blocks(_FEW):
            for left, right in zip(
                *(side.decode().split("\n")[:-1] for side in self.tokens(block)), strict=True
            ):
                yield words_of(left, self.cutting.ascii), words_of(right, self.cutting.ascii)


@kernel
def split_lines(text: Array, size: int, bars: bool, sides: Array, sizes: Array) -> tuple[int, int]:
    """Write the two sides of each line; (-1, 1), or a line without one separator and how many it has."""
    at = line = 0
    while at < size:
        found, words, begin, end, after = look_for_separator(text, at, bars)
        if words == 0 and (bars or found == 0):
            begin = end = at
        elif found != 1:
            return line, found
        for side, first, last in ((0, at, begin), (1, end, after)):
            for k in range(first, last):
                sides[side, sizes[side] + k - first] = eight_bytes(text, k) & BYTE
            sizes[side] += last - first + 1
            sides[side, sizes[side] - 1] = 10
        at = after + 1
        line += 1
    return -1, 1


@part(allocates=False)
def look_for_separator(text: Array, at: int, bars: bool) -> tuple[int, int, int, int, int]:
    """How many separators and words the line has that begins here; where the first separator begins and ends,
    and where the line does."""
    found = words = 0
    first = last = at
    while True:
        x = eight_bytes(text, at)
        if x & BYTE == 10:
            return found, words, first, last, at
        begin, gap = at, white_space(x, False)
        if gap > 0:
            at += gap
            hit = x & BYTE == 9 and not bars
        else:
            at = word_end(text, at, False)
            words += 1
            hit = bars and at - begin == 3 and x & np.uint64(0xFFFFFF) == 0x7C7C7C
        if hit:
            if found == 0:
                first, last = begin, at
            found += 1


_BARS = "|||"

SEPARATED = "write `source ||| target` or `source<TAB>target` on each line"
OR_TWO_FILES = f"{SEPARATED}, or name two files"
"""A remedy for lines without a separator."""

Pair = tuple[Sequence[str], Sequence[str]]
"""The tokens of a source sentence and of its translation."""


def read_pairs(source: FilePath, target: FilePath | None = None, *, errors: str = "strict") -> Iterator[Pair]:
    """Yield the token lists of each sentence pair, one pair per line, in bounded memory.

    With `target`, two parallel files; one of them may be `-`. Without, one file whose lines are `source |||
    target` (fast_align's form; the bars are a token of their own) or `source<TAB>target`. Its first line
    that is not empty decides which; bars win over a tab. Every other line must have that separator exactly
    once, or be empty, which is an empty pair. Either side may be empty. `errors` as in `read_lines`.
    """
    source = os.fspath(source)
    if target is None:
        return _pairs_of_one(source, read_lines(source, errors))
    target = os.fspath(target)
    if source == target == "-":
        raise UsageError("source and target cannot both be standard input; name a file for one of them")
    lines = in_step((source, read_lines(source, errors)), (target, read_lines(target, errors)))
    return ((tokenize(s), tokenize(t)) for s, t in lines)


def _pairs_of_one(path: str, lines: Iterator[str]) -> Iterator[Pair]:
    bars: bool | None = None  # None until a line has shown the separator
    for number, line in enumerate(lines, 1):
        tokens = tokenize(line)
        if bars is None and tokens:
            bars = has_bars(line, f"{path}:{number}")
        if not tokens and (bars or "\t" not in line):
            yield [], []
            continue
        if (found := tokens.count(_BARS) if bars else line.count("\t")) != 1:
            raise wrong_separators(f"{path}:{number}", found, bool(bars))
        if bars:
            at = tokens.index(_BARS)
            yield tokens[:at], tokens[at + 1 :]
        else:
            left, right = line.split("\t")
            yield tokenize(left), tokenize(right)


def has_bars(line: str, place: str) -> bool:
    """Whether the separator is `|||` and not a tab, by the first line that is not empty."""
    if not (bars := _BARS in tokenize(line)):
        check_separator(line, place, bars=False)
    return bars


def check_separator(line: str, place: str, *, bars: bool = True) -> None:
    """Refuse a line, the first of its file that is not empty, in which nothing can be a separator."""
    if "\t" not in line and not (bars and _BARS in line):
        raise DataError("no separator", place=place, remedy=OR_TWO_FILES)


def wrong_separators(place: str, found: int, bars: bool) -> DataError:
    """The error of a line that has not one separator."""
    name = _BARS if bars else "<TAB>"
    if found == 0:
        return DataError(f"{place}: no separator `{name}` on this line; write one")
    return DataError(f"{place}: {found} separators `{name}` on this line; write one")
