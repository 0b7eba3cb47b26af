"""A text of two sides as blocks of bytes, which any thread can turn into tokens; and as pairs of lists.

`TextFiles` names the files of a text; `read_blocks` cuts them, of whatever kind, into blocks of whole lines
in step: it looks for line ends and nothing else. That is one thread's work; everything else about a block can
be done by another, so that many are worked on at the same time. Blocks are cut by content alone.

NumPy is loaded where lines are cut: commands declare their text as a field.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import islice, tee
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import arg, check, check_value, opt
from dualign._core.files.streams import (
    FilePath,
    is_compressed,
    is_regular,
    open_input,
    plain_name,
    refuse_packed,
    text_size,
)
from dualign._core.threads import prefetched
from dualign.text.checks import same_length
from dualign.text.conllu import FORM, read_conllu
from dualign.text.tables import kind_of, parse_columns, read_rows, separator_of, split_line, wrong_separators
from dualign.text.tokenizing import PLAIN, Cutting, words_of
from dualign.text.utf8 import ERRORS, LONGEST_LINE, lines_of, overlong, read_lines, refuse_block, tokenize

if TYPE_CHECKING:
    from dualign._core.arrays import Array

BLOCK_BYTES = 1 << 20
"""Bytes of a block; only a longer line makes a longer one, or who asks for very many lines."""

_MANY = 1 << 14

_READ = 1 << 18
_AT_ONCE = 1 << 12
"""Most lines that are read together where pairs are wanted one by one."""

_ROWS = 64
"""Rows of a table that are put together."""

Pair = tuple[Sequence[str], Sequence[str]]
"""The tokens of a source sentence and of its translation."""


class Position(NamedTuple):
    """A place between two lines of a text: how many lines are before it, and bytes of each side, decompressed
    and with the cells of a table, or the words of a tree, as lines."""

    line: int = 0
    source: int = 0
    target: int = 0


BEGINNING = Position()


@dataclass(frozen=True)
class TextFiles:
    """A text of two sides: in two files, in one with both sides on each line, or in a table.

    Either of two files may be CoNLL-U, whose words are the tokens; a blank in one becomes `_`. A single file
    is a table by its name, or if `columns` are given.
    """

    source: str = arg("Source text, one sentence per line; or both sides: see TARGET.", file="in")
    target: str | None = arg(
        "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`.",
        None,
        file="in",
    )
    columns: str | None = opt(
        None, "Columns of a table (TSV, CSV, JSON lines, XLSX): source=2,target=3,id=1, by number or title.",
        metavar="NAME=COLUMN,…",
    )  # fmt: skip
    _: KW_ONLY
    errors: str = "strict"
    """Bytes that are not UTF-8: see `dualign.text.utf8`."""
    cutting: Cutting = PLAIN
    """How lines become tokens."""
    ids: str | None = None
    """A file with the id of each pair, a line each, where the text itself has none."""
    tell: Callable[[str], None] | None = None
    """Called with the message about each bad line, which then counts as an empty pair, where somebody waits
    for answers: lines are given as they come. Without it, such a line is an error."""

    def __post_init__(self) -> None:
        check(self)
        check_value("errors", self.errors, choices=ERRORS)
        if self.target is not None and self.columns is not None:
            raise UsageError("{columns=} is for one file with both sides; name one", columns=self.columns)
        if self.target is None and is_conllu(self.source):
            raise UsageError(f"{self.source}: CoNLL-U has one language; name the file of the other, too")

    @property
    def files(self) -> tuple[str, ...]:
        """The one file, or both."""
        return (self.source,) if self.target is None else (self.source, self.target)

    @property
    def name(self) -> str:
        """The names of the files, for messages."""
        names = dict.fromkeys("standard input" if name == "-" else name for name in self.files)
        return " and ".join(names)

    @property
    def is_table(self) -> bool:
        """Whether one file has cells, not lines."""
        return self.target is None and kind_of(self.source, self.columns) is not None

    @property
    def has_ids(self) -> bool:
        """Whether there is an id for each pair."""
        return self.ids is not None or (self.columns is not None and parse_columns(self.columns).has_id)

    @property
    def is_regular(self) -> bool:
        """Whether it can be read again, unlike a pipe or standard input."""
        return all(map(is_regular, self.files))

    @property
    def size(self) -> int:
        """About how many bytes of text there are, up to which the blocks' `end.source` counts; 0 if that is
        not known."""
        return text_size(self.source) // (2 if self.is_table else 5 if is_conllu(self.source) else 1)


def is_conllu(path: str) -> bool:
    """Whether a file is CoNLL-U by its name, which may have a compression suffix."""
    return plain_name(path).endswith((".conllu", ".conll"))


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

    def place(self, number: int) -> str:
        """Return where pair `number` of the block is, counted from 0, for messages."""
        name, line = self.origin.source, self.begin.line + number + 1
        return f"{name}, pair {line}" if self.origin.is_table or is_conllu(name) else f"{name}:{line}"

    def normalised(self) -> tuple[bytes, bytes]:
        """Return the lines of each side by the rules of `dualign.text.utf8`, to be split at white space."""
        from dualign.text.utf8_kernels import normal_form, split_sides

        every = (self.source,) if self.target is None else (self.source, self.target)
        sides = []
        for path, lines in zip(self._paths, every, strict=False):
            normal = normal_form(lines, self.origin.errors)
            if normal is None:
                refuse_block(path, lines, self.begin.line + 1)
            sides.append(normal)
        if self.target is not None:
            return sides[0], sides[1]
        left, right, line, found = split_sides(sides[0], len(self), bool(self.bars))
        if line >= 0:
            raise wrong_separators(self.place(line), found, bool(self.bars))
        return left, right

    def tokens(self, normal: tuple[bytes, bytes] | None = None) -> tuple[bytes, bytes]:
        """Return the lines of each side with blanks between the tokens; `normal`: what `normalised` gives."""
        sides, cutting = normal or self.normalised(), self.origin.cutting
        return sides if cutting == PLAIN else cutting.both(sides)

    def pairs(self) -> Iterator[Pair]:
        """Return the token lists of each pair; those before an error come first."""
        cutting = self.origin.cutting
        if cutting != PLAIN:
            split = partial(words_of, ascii=cutting.ascii)
            sides = (map(split, side.decode().split("\n")[:-1]) for side in self.tokens())
            yield from zip(*sides, strict=True)
        elif self.target is None:
            for number, line in enumerate(self._lines(self.origin.source, self.source)):
                yield split_line(line, bool(self.bars), self.place(number))
        else:
            both = map(self._lines, self._paths, (self.source, self.target))
            yield from zip(*(map(tokenize, lines) for lines in both), strict=True)

    @property
    def _paths(self) -> tuple[str, str]:
        """The file of each side; both are in a table."""
        return self.origin.source, self.origin.target or self.origin.source

    def _lines(self, path: str, lines: bytes) -> Iterator[str]:
        return lines_of(path, lines, self.begin.line + 1, self.origin.errors)

    def with_separator(self) -> TextBlock:
        """Return the same block, which says whether it has bars, if a line of it shows that."""
        if self.target is not None or self.bars is not None:
            return self
        path = self.origin.source
        bars = separator_of(path, self._lines(path, self.source), self.begin.line)
        return replace(self, bars=bars)

    def with_bad_lines_emptied(self, tell: Callable[[str], None]) -> TextBlock:
        """Return the same block, the pairs of its bad lines empty; `tell` is told about each."""
        bars, good = self.bars, []
        sides = [side.split(b"\n")[:-1] for side in (self.source, self.target or self.source)]
        for line, (left, right) in enumerate(zip(*sides, strict=True), self.begin.line):
            target = None if self.target is None else right + b"\n"
            begin, end = Position(line), Position(line + 1)
            one = replace(self, begin=begin, end=end, source=left + b"\n", target=target, bars=bars)
            try:
                one = one.with_separator()
                bars = (
                    one.bars
                )  # also of a line that has too many: whoever sends lines one by one gets the same
                one.normalised()
            except DataError as error:
                tell(str(error))
                one = replace(one, source=b"\n", target=b"\n")
            good.append((one.source, one.target or b""))
        source, target = map(b"".join, zip(*good, strict=True))
        return replace(self, source=source, target=None if self.target is None else target, bars=bars)


class LineReader:
    """Whole lines of what comes in parts, as many as are asked for; `path` is for messages."""

    def __init__(self, path: str, parts: Iterator[bytes], begin: int = 0, line: int = 0) -> None:
        self.path = path
        self._line = line + 1
        self.position = begin
        """Of the first byte that was not taken."""
        self._parts = parts
        self._held = bytearray()
        self._ends: Array = ()  # type: ignore[assignment]
        """Of the lines in `_held`, each after its line feed."""
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
        import numpy as np

        part = next(self._parts, b"")
        if self.position == 0 and not self._held:
            refuse_packed(self.path, part)
        if not part:
            self.ended = True
            if len(self._held) > (self._ends[-1] if self.count else 0):
                part, self._added = b"\n", 1
        ends = np.flatnonzero(np.frombuffer(part, np.uint8) == 10) + (len(self._held) + 1)
        self._held += part
        self._ends = np.concatenate((self._ends, ends)) if self.count else ends
        if self.count == 0 and len(self._held) > LONGEST_LINE:
            raise overlong(self.path, self._line)

    def block(self, lines: int) -> int:
        """Return how many of the lines in memory make a block: at least one."""
        return max(1, min(lines, int(self._ends.searchsorted(self.limit(lines), side="right"))))

    def take(self, lines: int) -> bytes:
        """Return the next lines, which are in memory."""
        size = int(self._ends[lines - 1])
        block = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        self._ends = self._ends[lines:] - size
        self._line += lines
        self.position += size - (self._added if not self._held else 0)
        return block

    def lines_in_all(self) -> int:
        """Read to the end, and return how many lines there were, with those before the first."""
        while not self.ended:
            if self.count:
                self.take(self.count)
            self.read()
        return self._line - 1 + self.count


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
    return _with_separators(text, lines, begin, at_once)


def _with_separators(text: TextFiles, lines: int, begin: Position, at_once: bool) -> Iterator[TextBlock]:
    """Yield the blocks of a text; they say whether they have bars once a line has shown it."""
    bars = None
    if begin.line and text.target is None and not text.is_table:
        bars = separator_of(text.source, read_lines(text.source, text.errors), 0)
    for block in _blocks(text, lines, begin, at_once or text.tell is not None):
        block = replace(block, bars=bars)
        try:
            block = block.with_separator()
            if text.tell is not None:
                block.normalised()
        except DataError:
            if text.tell is None:
                raise
            block = block.with_bad_lines_emptied(text.tell)
        bars = block.bars
        yield block


def _blocks(text: TextFiles, lines: int, begin: Position, at_once: bool) -> Iterator[TextBlock]:
    with ExitStack() as stack:
        readers, ids = _opened(text, begin, stack)
        while True:
            _fill(readers, 1 if at_once else lines)
            if not all(reader.count for reader in readers):
                break
            count = min(reader.block(lines) for reader in readers)
            source, target = [*(reader.take(count) for reader in readers), None][:2]
            end = Position(begin.line + count, *(reader.position for reader in readers))
            names = tuple(islice(ids, count))
            if len(names) < count and text.has_ids:
                known = begin.line + len(names)
                raise DataError(f"there are {known} ids for more pairs; give an id for each")
            yield TextBlock(begin, end, source or b"", target, text, ids=names)
            begin = end
        if any(reader.count or not reader.ended for reader in readers):
            same_length(*((reader.path, reader.lines_in_all()) for reader in readers))


def _opened(text: TextFiles, begin: Position, stack: ExitStack) -> tuple[list[LineReader], Iterator[str]]:
    """Open the one file, or both sides, from a place on; return the ids, too, if there are any."""
    ids = iter(()) if text.ids is None else read_lines(text.ids)
    if not text.is_table:
        files = zip(text.files, begin[1:], strict=False)
        readers = [LineReader(path, _parts(path, text, at, stack), at, begin.line) for path, at in files]
    else:
        columns = None if text.columns is None else parse_columns(text.columns)
        rows = stack.enter_context(closing(read_rows(text.source, columns, errors=text.errors)))
        own = columns is not None and columns.has_id
        source, target, *named = (map(itemgetter(n), each) for n, each in enumerate(tee(rows, 2 + own)))
        sides = zip((source, target), begin[1:], strict=True)
        readers = [LineReader(text.source, _made(side, at), at, begin.line) for side, at in sides]
        ids = _usable(text.source, named[0]) if own else ids
    return readers, islice(ids, begin.line, None)


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
