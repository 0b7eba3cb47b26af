"""Phrase tables in Moses' form: lines `source ||| target ||| scores ||| …`, more fields ignored."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple
from unicodedata import is_normalized, normalize

from dualign._core.errors import DataError
from dualign._core.files.streams import FilePath
from dualign.text.checks import number_of
from dualign.text.utf8 import read_lines

_BATCH = 1 << 15
_BARS = " ||| "
_BAR = "|||"


class TableLine(NamedTuple):
    """One line; the words of its phrases are separated by single blanks."""

    number: int
    source: str
    target: str
    scores: list[float]


def escape(word: str) -> str:
    """Return a word as Moses tables write it, in which a bar is a separator."""
    return word.replace("|", "&#124;") if "|" in word else word


def read_table(
    path: FilePath,
    errors: str = "strict",
    *,
    wanted: Callable[[Sequence[str], Sequence[str]], Sequence[bool]] | None = None,
) -> Iterator[TableLine]:
    """Yield the lines of a phrase table; all must have the same number of scores, finite and not negative.

    `wanted` gets the source and target phrases of many lines at a time and says which to yield. Of the other
    lines (except the first) only the number of fields is checked, which is several times faster. An empty
    table is an error.
    """
    path = os.fspath(path)
    lines = read_lines(path, errors)
    number = 1
    scores = 0  # in the first line
    while batch := list(islice(lines, _BATCH)):
        joined = "\n".join(batch)
        if not is_normalized("NFC", joined):
            batch = normalize("NFC", joined).split("\n")  # like the words of texts
        single = (" ".join(line.split()) if "  " in line or "\t" in line else line for line in batch)
        fields = [line.split(_BARS, 3) for line in single]
        for at, found in enumerate(fields):
            if len(found) < 4:
                fields[at] = _few_fields(f"{path}:{number + at}", batch[at])
        if number == 1:
            scores = len(_line(f"{path}:1", 1, fields[0], 0).scores)
        chosen = None if wanted is None else wanted([f[0] for f in fields], [f[1] for f in fields])
        for at, found in enumerate(fields):
            if chosen is None or chosen[at]:
                yield _line(f"{path}:{number + at}", number + at, found, scores)
        number += len(batch)
    if number == 1:
        raise DataError(f"{path}: no phrase pairs, the table is empty; was it written to the end?")


def _few_fields(place: str, line: str) -> list[str]:
    """Return the fields of a line with fewer than four, of which the last may end in bars."""
    fields = " ".join(line.split()).removesuffix(f" {_BAR}").split(_BARS, 3)
    if len(fields) < 3:
        if len(fields) == 2 and any(map(_is_empty, fields)):
            raise _empty_phrase(place)
        raise DataError(
            f"{place}: {len(fields)} fields instead of 3; expected `source ||| target ||| scores ||| …`"
        )
    return fields


def _is_empty(phrase: str) -> bool:
    """Return whether there is no phrase: without blanks between, the bars that end it begin the next
    field."""
    return not phrase or phrase == _BAR or phrase.startswith(f"{_BAR} ")


def _empty_phrase(place: str) -> DataError:
    return DataError(f"{place}: an empty phrase; expected `source ||| target ||| scores`")


def _line(place: str, number: int, fields: list[str], count: int) -> TableLine:
    source, target, numbers = fields[0].strip(), fields[1].strip(), fields[2]
    if _is_empty(source) or _is_empty(target):
        raise _empty_phrase(place)
    try:
        scores = [float(score) for score in numbers.split()]
    except ValueError:
        raise DataError(f"{place}: `{numbers:.60}` is not a list of numbers") from None
    if not all(0 <= score < math.inf for score in scores):
        raise DataError(f"{place}: `{numbers:.60}` has a score that is negative or not finite")
    if not scores or (count and len(scores) != count):
        expected = "at least one is needed"
        if count:
            expected = f"the first line has {count}; give all lines the same number of scores"
        raise DataError(f"{place}: {number_of(len(scores), 'scores')}; {expected}")
    return TableLine(number, source, target, scores)
