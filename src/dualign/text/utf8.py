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

UTF-8 text as kernels read it: eight bytes at a time.

A text is an array of uint64 whose bytes, the lowest first, are those of the text, and after them more `\n`
than a kernel may read too far. Tests on eight bytes at once are the usual ones for words of bytes: of the
bytes they mark by their highest bit, the lowest is right.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NoReturn, TypeVar
from unicodedata import is_normalized, normalize

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import SUFFIXES, FilePath, open_input, packed_by
from dualign._core.jit import kernel

PLAIN, ODD, UNSURE = range(3)
"""What a look at a text can find: see `look_at`."""

BYTE = np.uint64(0xFF)
"""The first of eight bytes."""

_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_NOT_WORDS = np.uint64(0x2121212121212121)
_C2 = np.uint64(0xC2C2C2C2C2C2C2C2)
_FC = np.uint64(0xFCFCFCFCFCFCFCFC)
_E0 = np.uint64(0xE0E0E0E0E0E0E0E0)
_PLACES = np.uint64(0x0001020304050607)

_FIRST_DOUBTFUL, _LAST_LISTED = 0x300, 0x30000
"""Characters below the first are in normal form C next to any other; those from the last on are rare."""

_DOUBTFUL = 255
_BOM_SIGN = 0xFEFF

_UNLISTED = np.zeros(0, np.uint8)


def octets(text: bytes | Array) -> Array:
    """A text (uint8, if it is an array) as kernels read it."""
    size = len(text)
    found = np.empty((size >> 3) + 3, np.uint64)
    inside = found.view(np.uint8)
    inside[:size] = np.frombuffer(text, np.uint8)
    inside[size:] = 10
    return found if sys.byteorder == "little" else found.byteswap()


def as_bytes(text: Array, size: int) -> bytes:
    """The first `size` bytes of a text that kernels have written."""
    return text.astype("<u8", copy=False).view(np.uint8)[:size].tobytes()


def normal_form(lines: bytes, errors: str) -> bytes | None:
    """Whole lines by the rules of `dualign.text.utf8`, to be split at white space; None if one is an error.

    Where a kernel sees that they are in that form already, threads need not wait for each other.
    """
    return lines if is_plain(octets(lines), len(lines)) else normal_block(lines, errors)


def is_plain(text: Array, size: int) -> bool:
    """Whether `size` bytes are surely UTF-8 without NUL and U+FEFF, and in normal form C."""
    found = look_at(text, size, _UNLISTED)
    if found == UNSURE:
        found = look_at(text, size, combining_classes())
    return bool(found == PLAIN)


@cache
def combining_classes() -> Array:
    """For each character listed, its canonical combining class, or that text with it is looked at closely.

    The latter for those that normal form C lacks, those that can compose with what is before them, and
    U+FEFF. (For Latin script this is never needed, and it takes a while.)
    """
    classes = np.zeros(_LAST_LISTED, np.uint8)
    # From é on: what a mark composes to may be a letter that is itself beyond doubt.
    for code in range(0x80, _LAST_LISTED):
        character = chr(code)
        if kind := unicodedata.combining(character):
            classes[code] = max(classes[code], kind)
        parts = unicodedata.decomposition(character).split()
        if parts and not parts[0].startswith("<"):
            if len(parts) == 2:
                classes[int(parts[1], 16)] = _DOUBTFUL
            if code >= _FIRST_DOUBTFUL and not unicodedata.is_normalized("NFC", character):
                classes[code] = _DOUBTFUL
    for first, last in ((0x1161, 0x1175), (0x11A8, 0x11C2)):  # vowels and finals of Hangul compose by rule
        classes[first : last + 1] = _DOUBTFUL
    classes[_BOM_SIGN] = _DOUBTFUL
    classes[0xD800:0xE000] = _DOUBTFUL
    return classes


@kernel(allocates=False)
def signed(x: np.uint64) -> int:
    """The same number, of the kind that we count with: the two kinds together would be floating point."""
    return int(np.int64(x))


@kernel(allocates=False)
def eight_bytes(text: Array, at: int) -> np.uint64:
    """The bytes from a place on, the first of them lowest."""
    shift = np.uint64((at & 7) << 3)
    rest = text[(at >> 3) + 1] << np.uint64(1)
    return (text[at >> 3] >> shift) | (rest << (np.uint64(63) - shift))


@kernel(allocates=False)
def first_marked(marks: np.uint64) -> int:
    """Which of eight bytes is the first that has its highest bit set; there must be one."""
    lowest = (marks & (~marks + np.uint64(1))) >> np.uint64(7)
    return signed((lowest * _PLACES) >> np.uint64(56))


@kernel(allocates=False)
def white_space(x: np.uint64, ascii: bool) -> int:
    """How many bytes of white space (as `str.split()` sees it, or `bytes.split()`, which knows that of ASCII
    alone) these begin with, at least; 0 for none."""
    a = signed(x & BYTE)
    if a < 0x80:
        return 1 if a == 32 or 9 <= a <= 13 or (28 <= a <= 31 and not ascii) else 0
    if ascii:
        return 0
    b = signed((x >> np.uint64(8)) & BYTE)
    if a == 0xC2:
        return 2 if b in (0x85, 0xA0) else 0
    if a < 0xE1 or a > 0xE3:
        return 0
    c = signed((x >> np.uint64(16)) & BYTE)
    if a == 0xE1:  # U+1680
        return 3 if b == 0x9A and c == 0x80 else 0
    if a == 0xE3:  # U+3000
        return 3 if b == 0x80 and c == 0x80 else 0
    if b == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
        return 3 if c <= 0x8A or c in (0xA8, 0xA9, 0xAF) else 0
    return 3 if b == 0x81 and c == 0x9F else 0  # U+205F


@kernel(allocates=False)
def stops(x: np.uint64) -> np.uint64:
    """Marks at those of eight bytes with which white space may begin, or control characters."""
    lead, two = (x & _FC) ^ _E0, x ^ _C2
    return (((x - _NOT_WORDS) & ~x) | ((lead - _ONES) & ~lead) | ((two - _ONES) & ~two)) & _HIGH


@kernel(allocates=False)
def word_end(text: Array, at: int, ascii: bool) -> int:
    """Where the word that has its first character here ends."""
    while True:
        marks = stops(eight_bytes(text, at))
        if marks == 0:
            at += 8
            continue
        at += first_marked(marks)
        if white_space(eight_bytes(text, at), ascii) > 0:
            return at
        at += 1  # a control character, or the first byte of one that is not white space


@kernel()
def look_at(text: Array, size: int, classes: Array) -> int:
    """Whether a text is PLAIN or ODD; UNSURE if the classes of its characters are needed and not given.

    PLAIN: UTF-8 without NUL, where no character is doubtful and none stands after one of a higher class.
    """
    at = end = last = 0
    while at < size:
        x = eight_bytes(text, at)
        if (x - _ONES) & ~x & _HIGH:
            return ODD
        if x & _HIGH == 0:
            at += 8
            continue
        at += first_marked(x & _HIGH)
        if at >= size:
            break
        code, width = character(eight_bytes(text, at))
        if width == 0:
            return ODD
        kind = 0
        if code >= _FIRST_DOUBTFUL:
            if len(classes) == 0:
                return UNSURE
            kind = int(classes[code]) if code < len(classes) else _DOUBTFUL
            if kind == _DOUBTFUL or (0 < kind < last and at == end):
                return ODD
        last = kind
        at += width
        end = at
    return PLAIN


@kernel(allocates=False)
def character(x: np.uint64) -> tuple[int, int]:
    """The code and width in bytes of a character that is not ASCII; width 0 if it is not UTF-8."""
    a, b, c, d = x & BYTE, x >> np.uint64(8) & BYTE, x >> np.uint64(16) & BYTE, x >> np.uint64(24) & BYTE
    six, tail, low = np.uint64(6), np.uint64(0xC0), np.uint64(0x3F)
    if b & tail != 0x80 or a < 0xC2 or a > 0xF4:
        return 0, 0
    if a < 0xE0:
        return signed((a & np.uint64(0x1F)) << six | b & low), 2
    if c & tail != 0x80:
        return 0, 0
    if a < 0xF0:
        code = signed((a & np.uint64(0xF)) << np.uint64(12) | (b & low) << six | c & low)
        return code, 3 if code >= 0x800 and not 0xD800 <= code < 0xE000 else 0
    if d & tail != 0x80:
        return 0, 0
    high = (a & np.uint64(0x7)) << np.uint64(18) | (b & low) << np.uint64(12)
    code = signed(high | (c & low) << six | d & low)
    return code, 4 if 0x10000 <= code <= 0x10FFFF else 0


T = TypeVar("T")

_BLOCK = 1 << 18
_BOM = "\ufeff"


def read_lines(path: FilePath, errors: str = "strict") -> Iterator[str]:
    """Yield the lines of `path` (see `open_input`) by the rules above, in memory for the longest line."""
    path = os.fspath(path)
    return _lines(path, checked(errors))


def read_blocks(path: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of `path` as they are, in blocks of whole lines, of `size` bytes or little more.

    Each line has its `\\n`, the last one too. An empty block comes whenever something has been read that does
    not fill one yet, so that two pipes that one program fills can be read by turns.
    """
    held: list[bytes] = []
    known = 0
    first = True
    # A little more than a block at once, so that lines are not put together from pieces.
    for piece in _whole_lines(path, size + (size >> 4)):
        if first:
            refuse_packed(path, piece)
            first = False
        held.append(piece)
        known += len(piece)
        if known < size:
            yield b""
            continue
        yield _ended(b"".join(held))
        held.clear()
        known = 0
    if held:
        yield _ended(b"".join(held))


def normal_block(block: bytes, errors: str) -> bytes | None:
    """A block of whole lines with the rules for tokens applied: what is left is to split at white space.

    None if a line of it is an error.
    """
    try:
        text = block.decode("utf-8", checked(errors))
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
    for _ in _lines_before_error(path, block, number):
        pass
    raise AssertionError(f"{path}: no bad line")


def refuse_packed(path: str, beginning: bytes) -> None:
    """Compressed data are recognised by their suffix only; refuse them without it, and UTF-16."""
    if method := packed_by(beginning):
        remedy = "decompress it first" if path == "-" else f"name the file {SUFFIXES[method]}"
        raise DataError(f"{path}: looks like {method} data; {remedy}")
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in beginning[:4096]:
        raise DataError(f"{path}: looks like UTF-16; convert it to UTF-8, for example with iconv")


def parsed(path: str, lines: Iterable[str], parse: Callable[[str], T]) -> Iterator[T]:
    """Yield what `parse` makes of each line of `path`; its errors are raised with file and line number."""
    for number, line in enumerate(lines, 1):
        try:
            yield parse(line)
        except DataError as error:
            raise DataError(f"{path}:{number}: {error}") from None


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


def checked(errors: str) -> str:
    """A way to treat bytes that are not UTF-8, which must be known."""
    if errors not in ("strict", "replace"):
        raise UsageError(f'errors="{errors}" is not known; use "strict" or "replace"')
    return errors


def _lines(path: str, errors: str) -> Iterator[str]:
    for text in _texts(path, errors):
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        if _BOM in text:
            lines = [line.removeprefix(_BOM) for line in lines]
        yield from lines


def _ended(block: bytes) -> bytes:
    return block if block.endswith(b"\n") else block + b"\n"


def _texts(path: str, errors: str) -> Iterator[str]:
    """Whole lines, decoded; an error names its line, and comes after the text before it."""
    number = 1  # of the first line in the next piece
    for piece in _whole_lines(path):
        if number == 1:
            refuse_packed(path, piece)
        try:
            text = piece.decode("utf-8", errors)
        except UnicodeDecodeError:
            yield from _lines_before_error(path, piece, number)
            return
        if "\0" in text:
            if errors == "strict":
                yield from _lines_before_error(path, piece, number)
                return
            text = text.replace("\0", "\ufffd")
        yield text
        number += piece.count(b"\n")


def _whole_lines(path: str, size: int = _BLOCK) -> Iterator[bytes]:
    """The bytes of a file in pieces that end with a line; only the last may lack its `\\n`."""
    with open_input(path) as stream:
        begun: list[bytes] = []  # the line that the blocks so far have left open
        while block := stream.read1(size):
            end = block.rfind(b"\n") + 1
            if end:
                begun.append(block[:end])
                yield b"".join(begun)
                begun = [block[end:]]
            else:
                begun.append(block)
        if rest := b"".join(begun):
            yield rest


def _lines_before_error(path: str, piece: bytes, number: int) -> Iterator[str]:
    """Yield the good lines of a piece that has a bad one, then raise the error that names it."""
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
        yield text + "\n"
