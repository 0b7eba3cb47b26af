"""JSON, one value per line."""

from __future__ import annotations

import json
from typing import Any

from dualign.core.errors import DataError
from dualign.text.streams import plain_name


def is_json(path: str) -> bool:
    """Whether a file is JSON lines by its name, which may have a compression suffix."""
    return plain_name(path).endswith((".jsonl", ".ndjson"))


def parse_json(line: str, expected: str, *, finite: bool = False) -> Any:
    """The value on a line; `expected` says in messages what it should be.

    With `finite`, NaN and infinities are refused, and so is half of a character beyond U+FFFF, which JSON
    can escape but UTF-8 cannot hold.
    """
    try:
        value = json.loads(line, parse_constant=_refuse if finite else None)
        if finite and "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        # Its own text counts lines within this line.
        raise DataError(f"not JSON: {error.msg} at character {error.pos + 1}; {expected}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}; {expected}") from None
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")
