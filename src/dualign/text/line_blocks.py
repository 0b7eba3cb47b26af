"""Large texts as blocks of whole lines in step: a reader that looks for line ends and nothing else, and
`settled`, which brings a block into the form that `dualign.text.lines` describes.

The reader is one thread's work; everything else about a block can be done by another, so that many blocks
are worked on at the same time. Blocks are cut by the content alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple

import numpy as np

from dualign.text.checks import same_length
from dualign.text.lines import refuse_block, refuse_packed
from dualign.text.octets import normal_form
from dualign.text.streams import open_input

BLOCK_BYTES = 1 << 20
"""Bytes of a block; only a longer line makes a longer one, or who asks for very many lines."""

_MANY = 1 << 14

_READ = 1 << 18


class Place(NamedTuple):
    """A place between two lines of a text: how many lines and bytes, decompressed, are before it."""

    line: int = 0
    source: int = 0
    target: int = 0


BEGINNING = Place()


class PairedLines(NamedTuple):
    """Some lines of both sides in UTF-8, each with its `\\n`, as they are in the files.

    `begin` and `end`: their place in the text. Without a `target` the lines of `source` have both sides,
    separated by `bars` or by a tab; None if all lines so far are empty.
    """

    begin: Place
    end: Place
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
    source: str, target: str | None, lines: int, begin: Place = BEGINNING, *, at_once: bool = False
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
                end = Place(begin.line + count, left.position, right.position)
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


def _blocks_of_one(reader: LineReader, lines: int, begin: Place, at_once: bool) -> Iterator[PairedLines]:
    while True:
        while reader.needs_more(1 if at_once else lines):
            reader.read()
        if not reader.count:
            return
        count = reader.block(lines)
        block = reader.take(count)
        end = Place(begin.line + count, reader.position)
        yield PairedLines(begin, end, block, None)
        begin = end


def settled(block: bytes, path: str, before: int, errors: str) -> bytes:
    """The lines with the rules of `dualign.text.lines` applied; it is left to split them at white space.

    `before`: how many lines of the file come before the block, for messages.
    """
    if before == 0:
        refuse_packed(path, block)
    normal = normal_form(block, errors)
    if normal is None:
        refuse_block(path, block, before + 1)
    return normal
