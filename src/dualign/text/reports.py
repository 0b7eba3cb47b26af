"""Reports: one JSON object for each sentence pair, as `dualign align --report` writes them.

Known keys are `line`, `score`, `bound`, `certified`, `seconds`, `mean_probability`, and `trace`: a list of
rounds, each `[bound, score]` or `[bound, score, share]`, where the share is what pruning has left. Other keys
are shown unchanged.
"""

from __future__ import annotations

import json
import os
from math import isfinite, nan
from typing import Any

from dualign._core.errors import DataError, refusing
from dualign._core.files.streams import FilePath
from dualign.text.checks import number_of, plausible_number
from dualign.text.tables import parse_json
from dualign.text.utf8 import read_lines

Record = dict[str, Any]


def read_records(path: FilePath, count: int | None = None, errors: str = "strict") -> list[str | None]:
    """Return the line, strict JSON, about each of `count` pairs; None if the report has none about a pair.

    Lines may come in any order; a line without the key `line` is about the pair of its own number. Without
    `count` there are as many pairs as the largest `line` says.
    """
    path = os.fspath(path)
    found: dict[int, str] = {}
    for number, line in enumerate(read_lines(path, errors), 1):
        if not line.strip():
            continue
        with refusing(DataError, place=f"{path}:{number}"):
            record = parse_json(line, "a report has one JSON object on each line")
            if not isinstance(record, dict):
                raise DataError(f'`{line[:40]}` is not a JSON object, as in {{"line": 1}}')
            pair = record.get("line", number)
            if isinstance(pair, bool) or not isinstance(pair, int) or pair < 1:
                raise DataError(f"line {pair!r:.40} is not a line number, 1 or more")
            if count is not None and pair > count:
                raise DataError(
                    f"about line {pair}, but the text has {number_of(count, 'lines')}; "
                    "is it this text's report?"
                )
            if count is None:
                plausible_number(pair, number)
            if pair in found:
                raise DataError(f"line {pair} is reported twice")
            trace_of(record)
        found[pair] = json.dumps(_finite(record)) if "NaN" in line or "Infinity" in line else line
    if not found:
        raise DataError(f"{path}: no report at all, the file is empty; was it written to the end?")
    return [found.get(pair) for pair in range(1, (count or max(found)) + 1)]


def record_of(line: str) -> Record:
    """Return a line of a report that was read by `read_records`."""
    record: Record = json.loads(line)
    return record


def trace_of(record: Record) -> list[tuple[float, ...]]:
    """Return the trace of a record, its rounds all of one width, 2 or 3; empty if it has none. Unknown is
    NaN."""
    try:
        rounds = [
            tuple(nan if value is None else float(value) for value in point)
            for point in record.get("trace") or []
        ]
    except (TypeError, ValueError, OverflowError):
        rounds = [()]
    if any(len(point) not in (2, 3) or len(point) != len(rounds[0]) for point in rounds):
        raise DataError("its trace is not a list of [bound, score] or [bound, score, share] for each round")
    return rounds


def _finite(value: Any) -> Any:
    """With None for infinities and NaN, which JSON does not have, though Python writes them."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
