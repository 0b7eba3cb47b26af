"""Sentence pairs as blocks of bytes: what `dualign.text.pairs.read_pairs` reads, without a string per line.

`read_pair_blocks` cuts the files into blocks of lines; `both_sides`, on any thread, makes plain text of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import DataError, UsageError
from dualign.core.jit import kernel
from dualign.text.cutting import PLAIN, Cutting, words_of
from dualign.text.line_blocks import BEGINNING, PairedLines, Place, paired_lines, settled
from dualign.text.lines import checked, read_lines, tokenize
from dualign.text.octets import BYTE, eight_bytes, octets, white_space, word_end
from dualign.text.pairs import Pair, has_bars, read_pairs, wrong_separators

_FEW = 256
"""Lines that are read together where pairs are wanted one by one."""


def read_pair_blocks(
    source: str,
    target: str | None,
    lines: int,
    *,
    begin: Place = BEGINNING,
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
                    Place(number), Place(number + 1), left, None if target is None else right, bars
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

    def blocks(self, lines: int, begin: Place = BEGINNING) -> Iterator[PairedLines]:
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


@kernel()
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


@kernel(allocates=False)
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
