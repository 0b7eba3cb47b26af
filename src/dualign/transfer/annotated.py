"""Annotated text as JSON lines: `{"text": "…", "spans": [{"start": 0, "end": 4, "label": "PER"}]}`.

Offsets count characters; `end` is exclusive. Spans may nest and overlap. Links are about the tokens in
`"tokens": ["…", …]`, or without it about the text split at white space. Other keys of a span, and the
record's `"id"`, are copied.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dualign.core.errors import DataError
from dualign.text.json_lines import parse_json
from dualign.text.lines import parsed, read_lines, tokenize
from dualign.text.streams import FilePath
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tokens import Interval, locate, overlaps
from dualign.transfer.weighted_links import WeightedLink


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """One line of annotated text."""

    text: str
    tokens: list[Interval]
    """The characters of each token."""
    spans: list[dict[str, Any]]
    """Each with `start` and `end`, checked to lie within the text."""
    id: Any = None


def read_annotated(path: FilePath, errors: str = "strict") -> Iterator[AnnotatedText]:
    """Yield the texts of a file of JSON lines; `errors` as in `read_lines`."""
    path = os.fspath(path)
    return parsed(path, read_lines(path, errors), _parse)


def read_plain(path: str, errors: str = "strict") -> Iterator[AnnotatedText]:
    """Yield the lines of a text, without annotation."""
    return parsed(path, read_lines(path, errors), plain)


def plain(text: str) -> AnnotatedText:
    """A text without annotation, its tokens split at white space."""
    return AnnotatedText(text, locate(tokenize(text), text, ("tokens", "its text")), [])


def _parse(line: str) -> AnnotatedText:
    content = parse_json(line, "write one object per line", finite=True)
    if not isinstance(content, dict) or not isinstance(content.get("text"), str):
        raise DataError('expected an object with "text", a string')
    text, tokens = content["text"], content.get("tokens")
    if tokens is not None and not (
        isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
    ):
        raise DataError('"tokens" must be a list of strings')
    spans = content.get("spans", [])
    _check_spans(spans, len(text))
    places = plain(text).tokens if tokens is None else locate(tokens, text, ("tokens", "its text"))
    return AnnotatedText(text, places, spans, content.get("id"))


def carry_record(
    source: AnnotatedText,
    target: AnnotatedText,
    links: Iterable[WeightedLink],
    discontinuous: str,
    gap: int = GAP,
) -> tuple[dict[str, Any], list[str]]:
    """The target's record with the source's spans, ready for JSON; and the status of each span.

    Spans that could not be transferred are listed as `lost`, with their status and source offsets.
    """
    carrier = SpanCarrier(links, len(target.tokens), gap)
    carried: list[dict[str, Any]] = []
    lost: list[dict[str, Any]] = []
    statuses = []
    for span in source.spans:
        # A span that holds part of a token takes the token.
        where = span["start"], span["end"]
        covered = overlaps([where], source.tokens)[0] if where[0] < where[1] else []
        first, last = (covered[0], covered[-1] + 1) if covered else (0, 0)
        result = carrier.carry(first, last, discontinuous)
        statuses.append(result.status)
        for begin, end in result.pieces:
            place = {"start": target.tokens[begin][0], "end": target.tokens[end - 1][1]}
            rest = {"confidence": round(result.confidence, 6), "status": result.status}
            carried.append({**span, **place, **rest})
        if not result.pieces:
            lost.append({**span, "status": result.status})
    content: dict[str, Any] = {} if source.id is None else {"id": source.id}
    return {**content, "text": target.text, "spans": carried, "lost": lost}, statuses


def _check_spans(spans: Any, length: int) -> None:
    if not isinstance(spans, list):
        raise DataError('"spans" must be a list')
    for number, span in enumerate(spans):
        if not isinstance(span, dict):
            raise DataError(f'span {number} must be an object with "start" and "end"')
        start, end = span.get("start"), span.get("end")
        if type(start) is not int or type(end) is not int:
            raise DataError(f'span {number} needs "start" and "end", whole numbers')
        if not 0 <= start <= end <= length:
            raise DataError(f"span {number}, {start} to {end}, is outside the text, 0 to {length}")
