"""Phrase tables in Moses' form: lines `source ||| target ||| scores ||| …`, more fields ignored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from dualign.core.errors import DataError
from dualign.text.lines import read_lines

__all__ = ["TableLine", "escape", "read_table"]

_BARS = " ||| "


class TableLine(NamedTuple):
    """One line, its phrases as they are written."""

    number: int
    source: str
    target: str
    scores: list[float]


def escape(word: str) -> str:
    """A word as it stands in a Moses table, where a bar separates."""
    return word.replace("|", "&#124;") if "|" in word else word


def read_table(path: str, errors: str = "strict") -> Iterator[TableLine]:
    """Yield the lines of a phrase table; each must have as many scores as the first, none of them negative."""
    wanted = None
    for number, line in enumerate(read_lines(path, errors), 1):
        fields = line.split(_BARS, 3)
        if len(fields) < 3:
            # Only the last of three fields may be followed by bars without a blank behind.
            fields = line.removesuffix(" |||").split(_BARS, 3)
        if len(fields) < 3:
            raise DataError(
                f"{path}:{number}: {len(fields)} fields instead of at least 3; "
                "expected `source ||| target ||| scores ||| …`"
            )
        source, target = fields[0].strip(), fields[1].strip()
        if not source or not target:
            raise DataError(f"{path}:{number}: an empty phrase; expected `source ||| target ||| scores`")
        try:
            scores = [float(score) for score in fields[2].split()]
        except ValueError:
            raise DataError(f"{path}:{number}: `{fields[2]:.60}` is not a list of numbers") from None
        if not all(0 <= score < math.inf for score in scores):
            raise DataError(f"{path}:{number}: `{fields[2]:.60}` has a score that is no probability or weight ≥ 0")
        if len(scores) != wanted:
            if wanted is not None or not scores:
                raise DataError(
                    f"{path}:{number}: {len(scores)} scores, but {wanted or 'at least one'} expected as in line 1"
                )
            wanted = len(scores)
        yield TableLine(number, source, target, scores)
