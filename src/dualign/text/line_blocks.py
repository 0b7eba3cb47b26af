"""Large texts as blocks of whole lines in step: a reader that looks for line ends and nothing else, and
`settled`, which brings a block into the form that `dualign.text.lines` describes.

The reader is one thread's work; everything else about a block can be done by another, so that many blocks
are worked on at the same time. Blocks are cut by the content alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import TracebackType
from typing import NamedTuple
from unicodedata import is_normalized, normalize

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError
from dualign.core.jit import kernel
from dualign.text.checks import same_length
from dualign.text.lines import _lines_before_error, _refuse_packed, tokenize
from dualign.text.streams import open_input

BLOCK_BYTES = 1 << 20
"""Bytes of a block; only a longer line makes a longer one."""

_READ = 1 << 18
_BOM = "\ufeff"


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
        self._stream = open_input(path, begin)
        self._held = bytearray()
        self._ends = np.empty(0, np.int64)  # of the lines in `_held`, each after its line feed
        self._ended = False

    def __enter__(self) -> LineReader:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._stream.close()

    def fill(self, lines: int, size: int = BLOCK_BYTES) -> Array:
        """Read until this many lines, or bytes, or the end are in memory; returns where its lines end."""
        found = [self._ends]
        count = len(self._ends)
        whole = int(self._ends[-1]) if count else 0
        while not self._ended and count < lines and not (whole and whole >= size):
            part = self._stream.read1(_READ)
            if not part:
                self._ended = True
                if len(self._held) > whole:
                    part = b"\n"
            ends = np.flatnonzero(np.frombuffer(part, np.uint8) == 10) + (len(self._held) + 1)
            self._held += part
            if len(ends):
                found.append(ends)
                count += len(ends)
                whole = int(ends[-1])
        self._ends = np.concatenate(found)
        return self._ends

    def take(self, lines: int) -> bytes:
        """The next lines, which are in memory."""
        size = int(self._ends[lines - 1])
        block = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        self._ends = self._ends[lines:] - size
        return block

    def count_rest(self) -> int:
        """Read to the end, and return how many lines there were."""
        count = 0
        while lines := len(self.fill(1 << 20)):
            self.take(lines)
            count += lines
        return count


def paired_lines(
    source: str, target: str | None, lines: int, begin: Place = BEGINNING
) -> Iterator[PairedLines]:
    """The lines of two parallel files, or of one with both sides, in blocks of at most this many.

    Where one file ends before the other, the blocks before that come first, and then an error.
    """
    with LineReader(source, begin.source) as left:
        if target is None:
            yield from _blocks_of_one(left, lines, begin)
            return
        with LineReader(target, begin.target) as right:
            while True:
                ends = left.fill(lines), right.fill(lines)
                if not (len(ends[0]) and len(ends[1])):
                    break
                count = min(_fitting(ends[0], lines), _fitting(ends[1], lines))
                blocks = left.take(count), right.take(count)
                end = Place(begin.line + count, begin.source + len(blocks[0]), begin.target + len(blocks[1]))
                yield PairedLines(begin, end, *blocks)
                begin = end
            counts = [begin.line + side.count_rest() for side in (left, right)]
            same_length((source, counts[0]), (target, counts[1]))


def _blocks_of_one(reader: LineReader, lines: int, begin: Place) -> Iterator[PairedLines]:
    while len(ends := reader.fill(lines)):
        block = reader.take(count := _fitting(ends, lines))
        end = Place(begin.line + count, begin.source + len(block))
        yield PairedLines(begin, end, block, None)
        begin = end


def _fitting(ends: Array, lines: int) -> int:
    """How many lines make a block: at least one."""
    return max(1, min(lines, int(np.searchsorted(ends, BLOCK_BYTES, side="right"))))


def settled(block: bytes, path: str, before: int, errors: str) -> bytes:
    """The lines with the rules of `dualign.text.lines` applied; it is left to split them at white space.

    `before`: how many lines of the file come before the block, for messages.
    """
    if before == 0:
        _refuse_packed(path, block)
    if is_settled(np.frombuffer(block, np.uint8), _settled_letters()):
        return block
    try:
        text = block.decode("utf-8", errors)
    except UnicodeDecodeError:
        raise _first_error(path, block, before) from None
    if "\0" in text:
        if errors == "strict":
            raise _first_error(path, block, before)
        text = text.replace("\0", "\ufffd")
    if not is_normalized("NFC", text):
        text = normalize("NFC", text)
    if _BOM in text:
        text = "\n".join(map(_without_marks, text.split("\n")))
    return text.encode()


def _without_marks(line: str) -> str:
    """The tokens of a line; tabs stay, since they may separate the sides of a pair."""
    return "\t".join(" ".join(tokenize(part)) for part in line.split("\t"))


def _first_error(path: str, block: bytes, before: int) -> DataError:
    """The error in a block that has one."""
    try:
        for _ in _lines_before_error(path, block, before + 1):
            pass
    except DataError as error:
        return error
    raise AssertionError("the block has no error")


SETTLED = (
    (0x0001, 0x02FF), (0x0391, 0x03A1), (0x03A3, 0x03CE), (0x0400, 0x0482), (0x048A, 0x052F),
    (0x05D0, 0x05EA), (0x0621, 0x064A), (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BF),
    (0x2190, 0x21FF), (0x3001, 0x3029), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0xFF01, 0xFF5E), (0x1F300, 0x1F64F),
)  # fmt: skip
"""Common letters that no neighbour composes with, so that a text of them alone is in normal form C."""


@cache
def _settled_letters() -> Array:
    letters = np.zeros(0x20000, np.bool_)
    for first, last in SETTLED:
        letters[first : last + 1] = True
    return letters


@kernel()
def is_settled(text: Array, letters: Array) -> bool:
    """Whether lines, the last of them ended, are valid UTF-8 and have such letters only."""
    at, size = 0, len(text)
    while at < size:
        a = text[at]
        if a < 0x80:
            if a == 0:
                return False
            at += 1
            continue
        width = 2 if a < 0xE0 else 3 if a < 0xF0 else 4
        if a < 0xC2 or a > 0xF4:
            return False
        letter = np.int64(a & (0x7F >> width))
        for k in range(1, width):
            # The last byte of all is a line feed: a letter that is cut off ends there at the latest.
            if text[at + k] & 0xC0 != 0x80:
                return False
            letter = letter << 6 | np.int64(text[at + k] & 0x3F)
        # Overlong forms and surrogates are not among the letters.
        if letter >= len(letters) or not letters[letter] or letter < (0x80, 0x800, 0x10000)[width - 2]:
            return False
        at += width
    return True
