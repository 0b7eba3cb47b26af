"""Lines of UTF-8 text, and their tokens.

The rules, the same for both sides of a bitext and for every file that dualign reads:

- Only `\n` ends a line. A `\r` before it is dropped (files from Windows). No other character breaks a
  line, not even U+2028, so that line numbers agree with those of `wc`, `sed` and the editor. A last line
  without `\n` counts.
- A byte order mark at the beginning of a line is dropped (files glued together have them anywhere).
- Bytes that are not UTF-8, and the NUL character, are errors that name file and line. With
  `errors="replace"` each becomes U+FFFD instead.
- Tokens are separated by Unicode white space as `str.split()` sees it: blank and tab, but also the no-break
  spaces U+00A0 and U+202F, the ideographic space U+3000, U+0085, and the separators U+001C to U+001F. The
  zero-width space U+200B is not white space in Unicode and stays in its token.
- Tokens are in normal form C: the same word typed composed and decomposed is one word.
- U+FEFF at a token's edge is dropped, and with it a token that is nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NoReturn, TypeVar
from unicodedata import is_normalized, normalize

from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath, open_input, refuse_packed

T = TypeVar("T")

_BLOCK = 1 << 18
_BOM = "\ufeff"

ERRORS = ("strict", "replace")
"""How bytes that are not UTF-8 may be treated."""

LONGEST_LINE = 1 << 28
"""Bytes of a line; what has a longer one is no text, and would take all memory, be it compressed or not."""


def read_lines(path: FilePath, errors: str = "strict") -> Iterator[str]:
    """Yield the lines of `path` (see `open_input`) by the rules above, in memory for the longest line."""
    path = os.fspath(path)
    if errors not in ERRORS:
        raise UsageError("{errors=} is not one of strict, replace", errors=errors)
    return _lines(path, errors)


def normal_block(block: bytes, errors: str) -> bytes | None:
    """A block of whole lines with the rules for tokens applied: what is left is to split at white space.

    None if a line of it is an error.
    """
    try:
        text = block.decode("utf-8", errors)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        if errors == "strict":
            return None
        text = text.replace("\0", "\ufffd")
    if not is_normalized("NFC", text):
        text = normalize("NFC", text)
    if _BOM in text:
        text = "\n".join(_without_marks(line) if _BOM in line else line for line in text.split("\n"))
    return text.encode()


def _without_marks(line: str) -> str:
    """The tokens of a line; tabs stay, since they may separate the sides of a pair."""
    return "\t".join(" ".join(tokenize(part)) for part in line.split("\t"))


def refuse_block(path: str, block: bytes, number: int) -> NoReturn:
    """Raise the error of the first bad line of a block whose first line has this number in `path`."""
    for _ in _good_lines(path, block, number):
        pass
    raise AssertionError(f"{path}: no bad line")


def parsed(path: str, lines: Iterable[str], parse: Callable[[str], T], first: int = 1) -> Iterator[T]:
    """Yield what `parse` makes of each line of `path`, from line `first` on; errors name file and line."""
    for number, line in enumerate(lines, first):
        try:
            yield parse(line)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None


def overlong(path: str, number: int) -> DataError:
    """Return the error of a line of `path` of which too many bytes are read, and no end."""
    what = f"a line of more than {LONGEST_LINE >> 20} MiB; is this a text file?"
    return DataError(what, place=f"{path}:{number}")


def tokenize(line: str) -> list[str]:
    """Split a line into tokens by the rules above."""
    if line.isascii():
        return line.split()
    # White space neither composes nor turns into anything else, so the whole line is normalised at once.
    if not is_normalized("NFC", line):
        line = normalize("NFC", line)
    if _BOM in line:
        return [stripped for token in line.split() if (stripped := token.strip(_BOM))]
    return line.split()


def _lines(path: str, errors: str) -> Iterator[str]:
    number = 1  # of the first line in the next piece
    for piece in _whole_lines(path):
        if number == 1:
            refuse_packed(path, piece)
        yield from lines_of(path, piece, number, errors)
        number += piece.count(b"\n")


def lines_of(path: str, block: bytes, number: int, errors: str) -> Iterator[str]:
    """Yield the lines of a block whose first one has this number in `path`; those before an error first."""
    text = None
    with suppress(UnicodeDecodeError):
        text = block.decode("utf-8", errors)
    if text is not None and "\0" in text:
        text = None if errors == "strict" else text.replace("\0", "\ufffd")
    if text is None:
        yield from (line.removesuffix("\r").removeprefix(_BOM) for line in _good_lines(path, block, number))
        return
    lines = text.removesuffix("\n").split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    if _BOM in text:
        lines = [line.removeprefix(_BOM) for line in lines]
    yield from lines


def _whole_lines(path: str) -> Iterator[bytes]:
    """The bytes of a file in pieces that end with a line; only the last may lack its `\\n`."""
    with open_input(path) as stream:
        begun: list[bytes] = []  # the line that the blocks so far have left open
        number = 1
        while block := stream.read1(_BLOCK):
            end = block.rfind(b"\n") + 1
            if end:
                begun.append(block[:end])
                yield b"".join(begun)
                begun = [block[end:]]
                number += block.count(b"\n")
            else:
                begun.append(block)
                if len(begun) % 64 == 0 and sum(map(len, begun)) > LONGEST_LINE:
                    raise overlong(path, number)
        if rest := b"".join(begun):
            yield rest


def _good_lines(path: str, piece: bytes, number: int) -> Iterator[str]:
    """Yield the lines of a piece before the first bad one, then raise the error that names it."""
    for at, line in enumerate(piece.split(b"\n"), number):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            if at == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                remedy = "the file looks like UTF-16: convert it with iconv"
            else:
                remedy = "convert the file, or use --errors replace"
            bad = f"0x{line[error.start]:02x}, byte {error.start + 1} of the line"
            raise DataError(f"{path}:{at}: invalid UTF-8 ({bad}); {remedy}") from None
        if "\0" in text:
            raise DataError(f"{path}:{at}: NUL character; is this a text file? If so, use --errors replace")
        yield text
