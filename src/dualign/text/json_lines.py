"""JSON, one value per line."""

from __future__ import annotations

import json
import re
from typing import Any

from dualign.core.errors import DataError
from dualign.text.streams import plain_name

_LONGEST = 300
"""Digits of an integer; a few more, and it would not be a float any more."""

_MANY_DIGITS = re.compile(rf"[0-9]{{{_LONGEST}}}")


def is_json(path: str) -> bool:
    """Whether a file is JSON lines by its name, which may have a compression suffix."""
    return plain_name(path).endswith((".jsonl", ".ndjson"))


def parse_json(line: str, expected: str, *, finite: bool = False) -> Any:
    """The value on a line; `expected` says in messages what it should be.

    With `finite`, NaN and infinities are refused, and so is half of a character beyond U+FFFF, which JSON
    can escape but UTF-8 cannot hold.
    """
    try:
        # A function for every integer would take time; it is called where one may be too large for a float.
        integer = _integer if _MANY_DIGITS.search(line) else None
        value = json.loads(line, parse_constant=_refuse if finite else None, parse_int=integer)
        if finite and "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        # Its own text counts lines within this line.
        raise DataError(f"not JSON: {error.msg} at character {error.pos + 1}; {expected}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}; {expected}") from None
    return value


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise ValueError(f"{digits[:20]}… has {len(digits)} digits, too many for a usable number")
    return int(digits)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")
