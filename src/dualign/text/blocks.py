"""A text of two sides as blocks of bytes, which any thread can turn into tokens; and as pairs of lists.

`read_blocks` cuts what `dualign.text.text_files.TextFiles` names, of whatever kind, into blocks of whole
lines in step: it looks for line ends and nothing else. That is one thread's work; everything else about a
block can be done by another, so that many are worked on at the same time. Blocks are cut by content alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, tee
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath, is_compressed, open_input
from dualign._core.threads import prefetched
from dualign.text.checks import same_length
from dualign.text.conllu import FORM, is_conllu, read_conllu
from dualign.text.tables import parse_columns, read_rows
from dualign.text.text_files import TextFiles
from dualign.text.tokenizing import words_of
from dualign.text.utf8 import check_line, checked, lines_of, read_lines, refuse_block, refuse_packed, tokenize

BLOCK_BYTES = 1 << 20
"""Bytes of a block; only a longer line makes a longer one, or who asks for very many lines."""

_MANY = 1 << 14

_READ = 1 << 18
_AT_ONCE = 1 << 12
"""Most lines that are read together where pairs are wanted one by one."""

_ROWS = 64
"""Rows of a table that are put together."""

_BARS = "|||"

SEPARATED = "write `source ||| target` or `source<TAB>target` on each line"
OR_TWO_FILES = f"{SEPARATED}, or name two files"
"""A remedy for lines without a separator."""

Pair = tuple[Sequence[str], Sequence[str]]
"""The tokens of a source sentence and of its translation."""


class Position(NamedTuple):
    """A place between two lines of a text: how many lines are before it, and bytes of each side, decompressed
    and with the cells of a table, or the words of a tree, as lines."""

    line: int = 0
    source: int = 0
    target: int = 0


BEGINNING = Position()


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Some pairs of a text in UTF-8, each line with its `\\n`, as they are in its files.

    `begin` and `end`: their place in the text. Without a `target` the lines of `source` have both sides,
    separated by `bars` or by a tab; None if all lines so far are empty.
    """

    begin: Position
    end: Position
    source: bytes
    target: bytes | None
    origin: TextFiles
    bars: bool | None = None
    ids: tuple[str, ...] = ()
    """The ids of the pairs, if they have any."""

    def __len__(self) -> int:
        return self.end.line - self.begin.line

    def place(self, number: int, side: int = 0) -> str:
        """Return where pair `number` of the block is, counted from 0, for messages."""
        name, line = self._path(side), self.begin.line + number + 1
        return f"{name}, pair {line}" if self.origin.is_table or is_conllu(name) else f"{name}:{line}"

    def _path(self, side: int) -> str:
        return self.origin.target or self.origin.source if side else self.origin.source

    def error(self, number: int, message: str, side: int = 0) -> DataError:
        """Return the error of a pair."""
        return DataError(message, place=self.place(number, side))

    def normalised(self) -> tuple[bytes, bytes]:
        """Return the lines of each side by the rules of `dualign.text.utf8`, to be split at white space."""
        from dualign.text.utf8_kernels import octets, split_lines

        left = self._normal(0, self.source)
        if self.target is not None:
            return left, self._normal(1, self.target)
        sides, sizes = np.empty((2, len(left) + len(self)), np.uint8), np.zeros(2, np.int64)
        line, found = split_lines(octets(left), len(left), bool(self.bars), sides, sizes)
        if line >= 0:
            raise _wrong_separators(self.place(line), found, bool(self.bars))
        return sides[0, : sizes[0]].tobytes(), sides[1, : sizes[1]].tobytes()

    def _normal(self, side: int, lines: bytes) -> bytes:
        from dualign.text.utf8_kernels import normal_form

        normal = normal_form(lines, self.origin.errors)
        if normal is None:
            refuse_block(self._path(side), lines, self.begin.line + 1)
        return normal

    def tokens(self) -> tuple[bytes, bytes]:
        """Return the lines of each side with blanks between the tokens."""
        return self.origin.cutting.both(self.normalised())

    def pairs(self) -> Iterator[Pair]:
        """Return the token lists of each pair; those before an error come first."""
        cutting = self.origin.cutting
        if not cutting.plain:
            split = partial(words_of, ascii=cutting.ascii)
            sides = (map(split, side.decode().split("\n")[:-1]) for side in self.tokens())
            yield from zip(*sides, strict=True)
        elif self.target is not None:
            for left, right in zip(self._lines(0, self.source), self._lines(1, self.target), strict=True):
                yield tokenize(left), tokenize(right)
        else:
            for number, line in enumerate(self._lines(0, self.source)):
                yield _split(line, bool(self.bars), self.place(number))

    def _lines(self, side: int, lines: bytes) -> Iterator[str]:
        return lines_of(self._path(side), lines, self.begin.line + 1, self.origin.errors)

    def with_separator(self) -> TextBlock:
        """Return the same block, which says whether it has bars, if a line of it shows that."""
        if self.target is not None or self.bars is not None:
            return self
        lines = self._lines(0, self.source)
        return replace(self, bars=_separator(self.origin.source, lines, self.begin.line))

    def single(self) -> Iterator[TextBlock]:
        """Return a block for each pair; its place in the text is known by its line alone."""
        sides = [side.split(b"\n")[:-1] for side in (self.source, self.target or self.source)]
        for number, (left, right) in enumerate(zip(*sides, strict=True), self.begin.line):
            target = None if self.target is None else right + b"\n"
            yield replace(
                self, begin=Position(number), end=Position(number + 1), source=left + b"\n", target=target
            )


class LineReader:
    """Whole lines of what comes in parts, as many as are asked for; `path` is for messages."""

    def __init__(self, path: str, parts: Iterator[bytes], begin: int = 0, line: int = 0) -> None:
        self.path = path
        self._line = line + 1
        self.position = begin
        """Of the first byte that was not taken."""
        self._parts = parts
        self._held = bytearray()
        self._ends = np.empty(0, np.int64)  # of the lines in `_held`, each after its line feed
        self.ended = False
        """Whether there is nothing more to read."""
        self._added = 0  # line feeds that the file lacks

    @property
    def count(self) -> int:
        """How many lines are in memory."""
        return len(self._ends)

    @staticmethod
    def limit(lines: int) -> int:
        """Return the most bytes that a block of this number of lines has."""
        return BLOCK_BYTES * max(1, lines // _MANY)

    def needs_more(self, lines: int) -> bool:
        """Whether neither the end, nor this many lines, nor the bytes of a block are in memory."""
        full = self.count >= lines or (self.count > 0 and self._ends[-1] >= self.limit(lines))
        return not self.ended and not full

    def read(self) -> None:
        """Read what there is, or wait for something."""
        part = next(self._parts, b"")
        if self.position == 0 and not self._held:
            refuse_packed(self.path, part)
        if not part:
            self.ended = True
            if len(self._held) > (self._ends[-1] if self.count else 0):
                part, self._added = b"\n", 1
        ends = np.flatnonzero(np.frombuffer(part, np.uint8) == 10) + (len(self._held) + 1)
        self._held += part
        self._ends = np.concatenate((self._ends, ends))
        if self.count == 0:
            check_line(self.path, self._line, len(self._held))

    def block(self, lines: int) -> int:
        """Return how many of the lines in memory make a block: at least one."""
        return max(1, min(lines, int(np.searchsorted(self._ends, self.limit(lines), side="right"))))

    def take(self, lines: int) -> bytes:
        """Return the next lines, which are in memory."""
        size = int(self._ends[lines - 1])
        block = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        self._ends = self._ends[lines:] - size
        self._line += lines
        self.position += size - (self._added if not self._held else 0)
        return block

    def count_rest(self) -> int:
        """Read to the end, and return how many lines there were."""
        count = 0
        while self.count or not self.ended:
            if self.count:
                count += self.count
                self.take(self.count)
            else:
                self.read()
        return count


def read_blocks(
    text: TextFiles, lines: int, begin: Position = BEGINNING, *, at_once: bool = False
) -> Iterator[TextBlock]:
    """Read a text, from a place on, in blocks of at most this many pairs.

    Lines that are there are given `at_once`, however few, if that is wanted: somebody may wait for an answer.
    Where one file ends before the other, the blocks before that come first, and then an error. How the text
    is cut depends on what it contains after the `begin`, and on nothing else.
    """
    if text.source == text.target == "-":
        raise UsageError("source and target cannot both be standard input; name a file for one of them")
    checked(text.errors)
    blocks = _blocks(text, lines, begin, at_once or text.tell is not None)
    return _with_separators(blocks) if text.tell is None else _with_bad_lines_emptied(blocks, text.tell)


def _blocks(text: TextFiles, lines: int, begin: Position, at_once: bool) -> Iterator[TextBlock]:
    bars = None
    if begin.line and text.target is None and not text.is_table:
        bars = _separator(text.source, read_lines(text.source, text.errors), 0)
    with ExitStack() as stack:
        readers, ids = _opened(text, begin, stack)
        while True:
            _fill(readers, 1 if at_once else lines)
            if not all(reader.count for reader in readers):
                break
            count = min(reader.block(lines) for reader in readers)
            source, target = [*(reader.take(count) for reader in readers), None][:2]
            end = Position(begin.line + count, *(reader.position for reader in readers))
            yield TextBlock(begin, end, source or b"", target, text, bars, tuple(islice(ids, count)))
            begin = end
        same_length(*((reader.path, begin.line + reader.count_rest()) for reader in readers))


def _opened(text: TextFiles, begin: Position, stack: ExitStack) -> tuple[list[LineReader], Iterator[str]]:
    """Open the one file, or both sides, from a place on; return the ids, too, if there are any."""
    if not text.is_table:
        files = zip(text.files, begin[1:], strict=False)
        return [LineReader(path, _parts(path, text, at, stack), at, begin.line) for path, at in files], iter(
            ()
        )
    columns = None if text.columns is None else parse_columns(text.columns)
    rows = stack.enter_context(closing(read_rows(text.source, columns, errors=text.errors)))
    source, target, *ids = (map(itemgetter(n), each) for n, each in enumerate(tee(rows, 2 + text.has_ids)))
    sides = zip((source, target), begin[1:], strict=True)
    readers = [LineReader(text.source, _made(side, at), at, begin.line) for side, at in sides]
    return readers, islice(_usable(text.source, ids[0]), begin.line, None) if ids else iter(())


def _usable(path: str, ids: Iterator[str]) -> Iterator[str]:
    """Return ids that can stand before links."""
    from dualign.text.formats.pharaoh import like_links

    for number, id in enumerate(ids, 1):
        if not id.strip() or like_links(id):
            what = f"the id `{id}` looks like a link" if id.strip() else "the id is empty"
            raise DataError(f"{path}, pair {number}: {what}; leave the ids out, or give others")
        yield id


def _parts(path: str, text: TextFiles, begin: int, stack: ExitStack) -> Iterator[bytes]:
    """Read a file in parts, from a place on; what must be decompressed, by a thread of its own."""
    if is_conllu(path):
        sentences = stack.enter_context(closing(read_conllu(path, text.errors)))
        words = (["_".join(form.split()) for form in each.column(FORM)] for each in sentences)
        return _made(map(" ".join, words), begin)
    stream = stack.enter_context(open_input(path, begin))
    parts = iter(partial(stream.read1, _READ), b"")
    return stack.enter_context(closing(prefetched(parts))) if is_compressed(path) else parts


def _made(lines: Iterator[str], begin: int) -> Iterator[bytes]:
    """Put lines together, from a place on. What UTF-8 cannot hold is refused by whoever reads them."""
    while part := "".join(f"{line}\n" for line in islice(lines, _ROWS)).encode("utf-8", "surrogatepass"):
        if begin < len(part):
            yield part[begin:]
        begin = max(0, begin - len(part))


def _fill(readers: Sequence[LineReader], lines: int) -> None:
    """Read until it is known how many lines make the next block of all.

    Always from the side that has fewer lines: the two may be pipes that one program fills, line by line, and
    it may wait until that side is read.
    """
    while any(reader.needs_more(lines) for reader in readers):
        for one in readers:
            if not one.needs_more(lines) and all(other.count >= one.block(lines) for other in readers):
                return
        min((reader for reader in readers if not reader.ended), key=lambda reader: reader.count).read()


def _with_separators(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """Return the blocks, which say whether they have bars once a line has shown it."""
    bars: bool | None = None
    for block in blocks:
        block = block.with_separator() if bars is None else replace(block, bars=bars)
        bars = block.bars
        yield block


def _with_bad_lines_emptied(blocks: Iterable[TextBlock], tell: Callable[[str], None]) -> Iterator[TextBlock]:
    bars: bool | None = None
    for block in blocks:
        block = replace(block, bars=block.bars if bars is None else bars)
        if block.target is not None or block.bars is not None:
            with suppress(DataError):
                block.normalised()
                yield block
                continue
        lines: list[tuple[bytes, bytes]] = []
        for one in block.single():
            try:
                one = one.with_separator()
                bars = one.bars
                one.normalised()
                lines.append((one.source, one.target or b""))
            except DataError as error:
                tell(str(error))
                lines.append((b"\n", b"\n"))
        source, target = map(b"".join, zip(*lines, strict=True))
        yield replace(block, source=source, target=None if block.target is None else target, bars=bars)


def read_pairs(
    source: FilePath | TextFiles, target: FilePath | None = None, *, errors: str = "strict"
) -> Iterator[Pair]:
    """Yield the token lists of each sentence pair, in bounded memory.

    With `target`, two parallel files; one of them may be `-`. Without, one file whose lines are `source |||
    target` (fast_align's form; the bars are a token of their own) or `source<TAB>target`, or a table (see
    `dualign.text.tables`). Its first line that is not empty decides which; bars win over a tab. Every other
    line must have that separator exactly once, or be empty, which is an empty pair. Either side may be empty.
    `errors` as in `read_lines`. A `TextFiles` says all this by itself.
    """
    text = source
    if not isinstance(text, TextFiles):
        text = TextFiles(os.fspath(text), None if target is None else os.fspath(target), errors=errors)
    return (pair for block in read_blocks(text, _AT_ONCE, at_once=True) for pair in block.pairs())


def _separator(path: str, lines: Iterable[str], before: int) -> bool | None:
    """Whether lines, with this many before them, have bars, by the first that is not empty."""
    for number, line in enumerate(lines, before + 1):
        if tokens := tokenize(line):
            if _BARS not in tokens:
                check_separator(line, f"{path}:{number}", bars=False)
            return _BARS in tokens
    return None


def _split(line: str, bars: bool, place: str) -> Pair:
    """Return the tokens of both sides of a line."""
    tokens = tokenize(line)
    if not tokens and (bars or "\t" not in line):
        return [], []
    if (found := tokens.count(_BARS) if bars else line.count("\t")) != 1:
        raise _wrong_separators(place, found, bars)
    if bars:
        at = tokens.index(_BARS)
        return tokens[:at], tokens[at + 1 :]
    left, right = line.split("\t")
    return tokenize(left), tokenize(right)


def check_separator(line: str, place: str, *, bars: bool = True) -> None:
    """Refuse a line, the first of its file that is not empty, in which nothing can be a separator."""
    if "\t" not in line and not (bars and _BARS in line):
        raise DataError("no separator", place=place, remedy=OR_TWO_FILES)


def _wrong_separators(place: str, found: int, bars: bool) -> DataError:
    name = _BARS if bars else "<TAB>"
    if found == 0:
        return DataError(f"{place}: no separator `{name}` on this line; write one")
    return DataError(f"{place}: {found} separators `{name}` on this line; write one")
