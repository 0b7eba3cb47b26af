"""Formats of link files: each has a module here, and an entry in `dualign.text.link_formats.FORMATS`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dualign._core.errors import DataError
from dualign.text.links import Links

NUMBER = r"[0-9]{1,9}"
"""A position: at most nine digits, so that a line full of digits is not converted."""

LARGEST = 10**9 - 1
REAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"


@dataclass(frozen=True)
class LinkFormat:
    """A format of link files: what people are told about it, what tells it, and who reads and writes it.

    `read(path, lines, pairs, size)` yields `Links` of `size` pairs from the lines of a file, whose number of
    `pairs` may be known; `write(links, number)` prints links whose first pair has that number, from 1.
    """

    name: str
    pair: str
    """How a sentence pair is written."""
    first: int
    """The number of a sentence's first word."""
    possible: str
    """How a link is marked that is only possible."""
    read: Callable[[str, Iterator[str], int | None, int], Iterator[Links]]
    write: Callable[[Links, int], str] | None = None
    named: re.Pattern[str] | None = None
    """What a file name, without a compression suffix, has in it if it tells the format."""
    sniff: re.Pattern[str] | None = None
    """What the first line that is not empty has in it if it tells the format."""


def quoted(text: str) -> str:
    """A piece of input for a message, cut if it is long."""
    return f"`{text if len(text) <= 40 else text[:40] + '…'}`"


def probability_of(text: str) -> float:
    """Read a probability; a number over 1 is an error."""
    if (value := float(text)) > 1:
        raise DataError(f"{value:g} is not a probability, which is at most 1")
    return value
