"""Sentence pairs from two parallel files, or from one file with both sides on a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from dualign.core.errors import DataError, UsageError
from dualign.text.lines import read_lines, tokenize

_BARS = "|||"

Pair = tuple[Sequence[str], Sequence[str]]


def read_pairs(source: str, target: str | None = None, *, errors: str = "strict") -> Iterator[Pair]:
    """Yield the token lists of each sentence pair, one pair a line, in bounded memory.

    With `target`, two parallel files; one of them may be `-`. Without, one file whose lines are `source |||
    target` (fast_align's form; the bars are a token of their own) or `source<TAB>target`. Its first line
    that is not empty says which; bars win over a tab. From there on each line has that separator exactly
    once, or is empty altogether, which is an empty pair. Either side may be empty. `errors` as in
    `read_lines`.
    """
    if target is None:
        return _pairs_of_one(source, read_lines(source, errors))
    if source == target == "-":
        raise UsageError("source and target cannot both be standard input; name a file for one of them")
    return _pairs_of_two(source, target, read_lines(source, errors), read_lines(target, errors))


def _pairs_of_two(source: str, target: str, left: Iterator[str], right: Iterator[str]) -> Iterator[Pair]:
    for count, (s, t) in enumerate(zip_longest(left, right)):
        if s is None or t is None:
            longer = count + 1 + sum(1 for _ in (right if s is None else left))
            lines, others = (count, longer) if s is None else (longer, count)
            raise DataError(
                f"{source} has {lines} lines but {target} has {others}; "
                "parallel files have one line for each sentence pair"
            )
        yield tokenize(s), tokenize(t)


def _pairs_of_one(path: str, lines: Iterator[str]) -> Iterator[Pair]:
    bars: bool | None = None  # None until a line has shown the separator
    for number, line in enumerate(lines, 1):
        tokens = tokenize(line)
        if bars is None and tokens:
            bars = _BARS in tokens
            if not bars and "\t" not in line:
                raise DataError(
                    f"{path}:{number}: no separator; "
                    "write `source ||| target` or `source<TAB>target` on each line, or name two files"
                )
        if not tokens and (bars or "\t" not in line):
            yield [], []
        elif bars:
            yield _split_at_bars(path, number, tokens)
        else:
            yield _split_at_tab(path, number, line)


def _split_at_bars(path: str, number: int, tokens: list[str]) -> Pair:
    if (found := tokens.count(_BARS)) != 1:
        raise DataError(
            f"{path}:{number}: {found} separators `|||` instead of one; write `source ||| target`"
        )
    at = tokens.index(_BARS)
    return tokens[:at], tokens[at + 1 :]


def _split_at_tab(path: str, number: int, line: str) -> Pair:
    sides = line.split("\t")
    if len(sides) != 2:
        raise DataError(f"{path}:{number}: {len(sides) - 1} tabs instead of one; write `source<TAB>target`")
    return tokenize(sides[0]), tokenize(sides[1])
