"""Sentence pairs from two parallel files, or from one file with both sides on a line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from dualign.core.errors import DataError, UsageError
from dualign.text.checks import in_step
from dualign.text.lines import read_lines, tokenize
from dualign.text.streams import FilePath

_BARS = "|||"

OR_TWO_FILES = ", or name two files"
"""A remedy for lines without a separator."""

Pair = tuple[Sequence[str], Sequence[str]]
"""The tokens of a source sentence and of its translation."""


def read_pairs(source: FilePath, target: FilePath | None = None, *, errors: str = "strict") -> Iterator[Pair]:
    """Yield the token lists of each sentence pair, one pair per line, in bounded memory.

    With `target`, two parallel files; one of them may be `-`. Without, one file whose lines are `source |||
    target` (fast_align's form; the bars are a token of their own) or `source<TAB>target`. Its first line
    that is not empty decides which; bars win over a tab. Every other line must have that separator exactly
    once, or be empty, which is an empty pair. Either side may be empty. `errors` as in `read_lines`.
    """
    source = os.fspath(source)
    if target is None:
        return _pairs_of_one(source, read_lines(source, errors))
    target = os.fspath(target)
    if source == target == "-":
        raise UsageError("source and target cannot both be standard input; name a file for one of them")
    lines = in_step((source, read_lines(source, errors)), (target, read_lines(target, errors)))
    return ((tokenize(s), tokenize(t)) for s, t in lines)


def _pairs_of_one(path: str, lines: Iterator[str]) -> Iterator[Pair]:
    bars: bool | None = None  # None until a line has shown the separator
    for number, line in enumerate(lines, 1):
        tokens = tokenize(line)
        if bars is None and tokens:
            bars = has_bars(line, f"{path}:{number}")
        if not tokens and (bars or "\t" not in line):
            yield [], []
            continue
        if (found := tokens.count(_BARS) if bars else line.count("\t")) != 1:
            raise wrong_separators(f"{path}:{number}", found, bool(bars))
        if bars:
            at = tokens.index(_BARS)
            yield tokens[:at], tokens[at + 1 :]
        else:
            left, right = line.split("\t")
            yield tokenize(left), tokenize(right)


def has_bars(line: str, place: str) -> bool:
    """Whether the separator is `|||` and not a tab, by the first line that is not empty."""
    if not (bars := _BARS in tokenize(line)):
        check_separator(line, place, bars=False)
    return bars


def check_separator(line: str, place: str, *, bars: bool = True) -> None:
    """Refuse a line, the first of its file that is not empty, in which nothing can be a separator."""
    if "\t" not in line and not (bars and _BARS in line):
        raise DataError(
            f"{place}: no separator; "
            f"write `source ||| target` or `source<TAB>target` on each line{OR_TWO_FILES}"
        )


def wrong_separators(place: str, found: int, bars: bool) -> DataError:
    """The error of a line that has not one separator."""
    name = _BARS if bars else "<TAB>"
    if found == 0:
        return DataError(f"{place}: no separator `{name}` on this line; write one")
    return DataError(f"{place}: {found} separators `{name}` on this line; write one")
