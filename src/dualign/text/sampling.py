"""A random sample of the lines of a text of any size, in one pass, the same for the same seed.

Every line has a random key, computed from its number and the seed alone; the sample is the lines with the
smallest keys, in the order of the text. A line is a candidate while its key is among the smallest so far.
Candidates are written to scratch files, about size · (1 + log(lines / size)) of them; only their keys are in
memory.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import IO, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError, refusing
from dualign._core.files.atomic import explaining
from dualign.text.blocks import LineReader

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_COUNT = re.compile(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmg]?)\s*", re.IGNORECASE)
_READ, _TOGETHER = 1 << 22, 1 << 14  # bytes, lines

Sides = tuple[bytes, bytes]
"""Lines of both sides, each with its `\\n`."""


class Sample(NamedTuple):
    """The drawn lines in blocks, to be read once; how many of how many lines they are."""

    blocks: Iterator[Sides]
    size: int
    lines: int


def as_count(count: int | str) -> int:
    """A number of lines such as `500000`, `500k` or `2.5M`; units are powers of 1000."""
    match = _COUNT.fullmatch(str(count))
    if isinstance(count, bool) or match is None:
        raise UsageError("{sample=} is not a number of pairs; write it as 500000 or 2.5M", sample=count)
    number = float(match[1]) * _UNITS[match[2].lower()]
    if number < 1 or number != int(number):
        raise UsageError("{sample=} must be a whole number of pairs, at least 1", sample=count)
    return int(number)


@contextmanager
def sampled(blocks: Iterable[Sides], size: int, seed: int, folder: str) -> Iterator[Sample]:
    """Draw a sample of that many lines, or all if there are fewer; scratch files are gone when it ends."""
    with ExitStack() as stack:
        with explaining(folder, "write"):
            files = [stack.enter_context(tempfile.TemporaryFile(prefix="dualign-", dir=folder)) for _ in "st"]
        keys, lines = _gather(blocks, size, seed, files, folder)
        chosen = np.zeros(len(keys), np.bool_)
        # Stable: of equal keys, which hardly ever occur, the first lines win.
        chosen[np.argsort(keys, kind="stable")[:size]] = True
        yield Sample(_drawn(files, chosen, folder), int(chosen.sum()), lines)


def keys_of(begin: int, end: int, seed: int) -> Array:
    """The keys of these lines, uint64: SplitMix64 (Steele et al. 2014) of their numbers."""
    one = np.uint64(1)
    with np.errstate(over="ignore"):
        base = _mixed(np.array([seed & (2**64 - 1)], np.uint64) + one)
        return _mixed(base + (np.arange(begin, end, dtype=np.uint64) + one) * np.uint64(0x9E3779B97F4A7C15))


def _mixed(code: Array) -> Array:
    code = (code ^ (code >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    code = (code ^ (code >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(31))


def _gather(
    blocks: Iterable[Sides], size: int, seed: int, files: Sequence[IO[bytes]], folder: str
) -> tuple[Array, int]:
    """Write the candidates; returns their keys, and how many lines there are."""
    limit = np.uint64(2**64 - 1)
    kept: list[Array] = []
    smallest, waiting = [np.empty(0, np.uint64)], 0
    lines = 0
    for sides in blocks:
        count = sides[0].count(b"\n")
        keys = keys_of(lines, lines + count, seed)
        lines += count
        chosen = keys <= limit
        if not chosen.any():
            continue
        keys = keys[chosen]
        for file, block in zip(files, sides, strict=True):
            _write(file, only(block, chosen), folder)
        kept.append(keys)
        smallest.append(keys)
        waiting += len(keys)
        if waiting >= max(size, 1 << 16) and waiting + len(smallest[0]) > size:
            together = np.concatenate(smallest)
            smallest, waiting = [np.partition(together, size - 1)[:size]], 0
            limit = smallest[0].max()
    return np.concatenate([np.empty(0, np.uint64), *kept]), lines


def only(block: bytes, chosen: Array) -> bytes:
    """The chosen lines of a block."""
    if chosen.all():
        return block
    text = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == 10) + 1
    return text[np.repeat(chosen, np.diff(ends, prepend=0))].tobytes()


def _drawn(files: Sequence[IO[bytes]], chosen: Array, folder: str) -> Iterator[Sides]:
    """Yield the chosen ones of the lines in two files."""
    for file in files:
        with _holding(folder):
            file.seek(0)  # writes what is still in its buffer
    readers = [LineReader(folder, iter(partial(file.read, _READ), b"")) for file in files]
    for begin in range(0, len(chosen), _TOGETHER):
        part = chosen[begin : begin + _TOGETHER]
        for reader in readers:
            while reader.count < len(part):
                reader.read()
        source, target = (only(reader.take(len(part)), part) for reader in readers)
        yield source, target


def _write(file: IO[bytes], data: bytes, folder: str) -> None:
    with _holding(folder):
        file.write(data)


def _holding(folder: str) -> AbstractContextManager[None]:
    """Say what to do when the disk is full."""
    remedy = "give another folder for scratch files, or draw a smaller sample"
    return refusing(OSError, what="cannot hold the sample: {cause}", place=folder, remedy=remedy)
