"""Annotated text as JSON lines: `{"text": "…", "spans": [{"start": 0, "end": 4, "label": "PER"}]}`.

Offsets count characters, `end` is not included. Spans may nest and overlap. With `"tokens": ["…", …]` these
are the tokens that links are about; without, those of the text split at white space. Whatever else a span
holds travels with it; `"id"` of the record does, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dualign.core.errors import DataError
from dualign.text.lines import read_lines, tokenize
from dualign.transfer.links import WeightedLink
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tokens import Interval, locate, overlaps


@dataclass(frozen=True, slots=True)
class Record:
    """One line of annotated text."""

    text: str
    tokens: list[Interval]
    """The characters of each token."""
    spans: list[dict[str, Any]]
    """Each with `start` and `end`, checked to lie within the text."""
    id: Any = None


def read_records(path: str, errors: str = "strict") -> Iterator[Record]:
    """Yield the records of a file of JSON lines; `errors` as in `read_lines`."""
    for number, line in enumerate(read_lines(path, errors), 1):
        place = f"{path}:{number}"
        try:
            content = json.loads(line, parse_constant=_refuse)
            if "\\u" in line:
                # Half of a character beyond U+FFFF can be escaped in JSON, but not written as UTF-8.
                json.dumps(content, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: no JSON ({error}); write one object a line") from None
        if not isinstance(content, dict) or not isinstance(content.get("text"), str):
            raise DataError(f'{place}: expected an object with "text", a string')
        text = content["text"]
        tokens = content.get("tokens")
        if tokens is None:
            record = plain_record(text, place)
        elif isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
            record = Record(text, locate(tokens, text, (f"{place}, tokens", "its text")), [])
        else:
            raise DataError(f'{place}: "tokens" must be a list of strings')
        yield Record(
            text, record.tokens, _spans(content.get("spans", []), len(text), place), content.get("id")
        )


def plain_record(text: str, place: str) -> Record:
    """A line of text without annotation, its tokens split at white space."""
    return Record(text, locate(tokenize(text), text, (place, "its text")), [])


def carry_record(
    source: Record, target: Record, links: Iterable[WeightedLink], discontinuous: str, gap: int = GAP
) -> tuple[dict[str, Any], list[str]]:
    """The target's record with the source's spans, ready for JSON; and the status of each span.

    Spans that did not come across are listed as `lost`, with their status and source offsets.
    """
    carrier = SpanCarrier(links, len(target.tokens), gap)
    carried: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    statuses = []
    for span in source.spans:
        # A span that holds part of a token takes the token.
        covered = (
            overlaps([(span["start"], span["end"])], source.tokens)[0] if span["start"] < span["end"] else []
        )
        if covered:
            result = carrier.carry(covered[0], covered[-1] + 1, discontinuous)
            status, pieces = result.status, result.pieces
        else:
            status, pieces = "unaligned", ()
        statuses.append(status)
        for begin, end in pieces:
            place = {"start": target.tokens[begin][0], "end": target.tokens[end - 1][1]}
            carried.append({**span, **place, "confidence": round(result.confidence, 6), "status": status})
        if not pieces:
            lost.append({**span, "status": status})
    content: dict[str, Any] = {} if source.id is None else {"id": source.id}
    return {**content, "text": target.text, "spans": carried, "lost": lost}, statuses


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _spans(spans: Any, length: int, place: str) -> list[dict[str, Any]]:
    if not isinstance(spans, list):
        raise DataError(f'{place}: "spans" must be a list')
    for number, span in enumerate(spans):
        if not isinstance(span, dict):
            raise DataError(f'{place}: span {number} must be an object with "start" and "end"')
        start, end = span.get("start"), span.get("end")
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in (start, end)):
            raise DataError(f'{place}: span {number} needs "start" and "end", whole numbers')
        if not 0 <= start <= end <= length:  # type: ignore[operator]  # both are numbers, as just checked
            raise DataError(f"{place}: span {number}, {start} to {end}, lies outside the text, 0 to {length}")
    return spans
