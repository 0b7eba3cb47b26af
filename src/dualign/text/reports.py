"""Reports: one JSON object for each sentence pair, as `dualign align --report` writes them.

Known keys are `line`, `score`, `bound`, `certified`, `seconds`, `mean_probability`, and `trace`: a list of
rounds, each `[bound, score]` or `[bound, score, share]`, where the share is what pruning has left. Whatever
else an object has is shown as it is.
"""

from __future__ import annotations

import json
from math import isfinite, nan
from typing import Any

from dualign.core.errors import DataError
from dualign.text.lines import read_lines

Record = dict[str, Any]


def read_records(path: str, count: int | None = None, errors: str = "strict") -> list[str | None]:
    """The line, strict JSON, about each of `count` pairs, None where the report has none.

    Lines may come in any order; one without `line` is about the pair it stands in the place of. Without
    `count` there are as many pairs as the largest `line`.
    """
    found: dict[int, str] = {}
    for number, line in enumerate(read_lines(path, errors), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise DataError(f"{path}:{number}: not JSON; a report has one JSON object on each line") from None
        if not isinstance(record, dict):
            raise DataError(f'{path}:{number}: `{line[:40]}` is not a JSON object, as in {{"line": 1}}')
        place = record.get("line", number)
        if isinstance(place, bool) or not isinstance(place, int) or place < 1:
            raise DataError(f"{path}:{number}: line {place!r:.40} is no line number, 1 or more")
        if count is not None and place > count:
            raise DataError(
                f"{path}:{number}: a report about line {place}, but the text has {count} lines; "
                "give the report of this text"
            )
        if place in found:
            raise DataError(f"{path}:{number}: line {place} is reported twice")
        if "trace" in record:
            trace_of(record, f"{path}:{number}")
        found[place] = json.dumps(_finite(record)) if "NaN" in line or "Infinity" in line else line
    if not found:
        raise DataError(f"{path}: no report at all, the file is empty; was it written to the end?")
    return [found.get(place) for place in range(1, (count or max(found)) + 1)]


def record_of(line: str) -> Record:
    """A line of a report that was read by `read_records`."""
    record: Record = json.loads(line)
    return record


def trace_of(record: Record, place: str = "report") -> list[tuple[float, ...]]:
    """The trace of a record, its rounds all of one width, 2 or 3; empty if it has none. Unknown is NaN."""
    try:
        rounds = [
            tuple(nan if value is None else float(value) for value in point)
            for point in record.get("trace") or []
        ]
    except (TypeError, ValueError):
        rounds = [()]
    if any(len(point) not in (2, 3) or len(point) != len(rounds[0]) for point in rounds):
        raise DataError(
            f"{place}: its trace is not a list of [bound, score] or [bound, score, share] for each round"
        )
    return rounds


def _finite(value: Any) -> Any:
    """JSON has no infinity, though Python writes it: None instead."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list) else value
