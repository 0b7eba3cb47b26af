"""Sentences that get their annotation from another language: CoNLL-U, or text with spans as JSON lines.

A line of JSON is `{"text": "…", "spans": [{"start": 0, "end": 4, "label": "PER"}]}`. Offsets count
characters; `end` is exclusive. Spans may nest and overlap. Links are about the tokens in
`"tokens": ["…", …]`, or without it about the text split at white space. Other keys of a span, and the
record's `"id"`, are copied.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dualign._core.errors import DataError, UsageError
from dualign._core.fields import OptionRecord, opt
from dualign._core.files.streams import FilePath
from dualign.text.checks import links_inside
from dualign.text.conllu import DEPREL, DEPS, FEATS, HEAD, LEMMA, MISC, ROOT, UNKNOWN, UPOS, XPOS, Sentence
from dualign.text.links import Alignment, WeightedLink
from dualign.text.tables import parse_json
from dualign.text.utf8 import parsed, read_lines, tokenize
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tags import vote
from dualign.transfer.tokens import Interval, locate, overlaps
from dualign.transfer.tree import NOTHING, complete, project

KEY = "Projection"
"""The attribute in MISC that holds the confidence."""

COLUMNS = {"lemma": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}
"""Columns that can hold tags; any other name is an attribute in MISC."""

COMPATIBLE = ("any", "class", "same")
"""Which words may be linked, by their part of speech: see `compatible`."""

CLASSES = {
    "nominal": ("NOUN", "NUM", "PRON", "PROPN"),
    "verbal": ("AUX", "VERB"),
    "modifier": ("ADJ", "ADV", "DET", "NUM"),
    "function": ("ADP", "CCONJ", "PART", "SCONJ"),
    "mark": ("PUNCT", "SYM"),
}
"""Parts of speech (UPOS) that often translate into each other; NUM is in two classes."""

_FREE = ("X", "_", "INTJ")  # nothing known, or nothing to compare with


def pos() -> Any:
    """Declare which parts of speech may be linked."""
    text = "Use links between words of any, of similar, or of the same part of speech."
    return opt("any", text, choices=COMPATIBLE)


def surface() -> Any:
    """Declare what links count."""
    return opt(False, "Links count multiword tokens of CoNLL-U as one.")


def threshold() -> Any:
    """Declare how probable the links must be that are used."""
    return opt(0.0, "Use links more probable than this.", metavar="P", least=0, below=1)


@dataclass(frozen=True, slots=True)
class Settings(OptionRecord):
    """Which links are used, and for what."""

    threshold: float = threshold()
    pos: str = pos()
    surface: bool = surface()
    complete: bool = opt(False, "Attach every word; otherwise some words have no head.")


def links_between(
    source: Sentence, target: Sentence, alignment: Alignment, settings: Settings, place: str
) -> list[WeightedLink]:
    """Return the links of two sentences' words, checked and filtered; `place` begins the messages."""
    links = weighted(alignment, settings.threshold)
    if settings.surface:
        left, right = source.surface(), target.surface()
        links_inside(alignment.links, len(left), len(right), place)
        links = [(i, j, p) for k, l, p in links for i in left[k] for j in right[l]]
    else:
        links_inside(alignment.links, len(source), len(target), place)
    return compatible(links, source.column(UPOS), target.column(UPOS), settings.pos)


def weighted(alignment: Alignment, threshold: float = 0.0) -> list[WeightedLink]:
    """Return the sure links more probable than `threshold`; a link without a probability has 1."""
    known = alignment.probabilities or (1.0,) * len(alignment.links)
    return [(i, j, p) for (i, j), p in zip(alignment.links, known, strict=True) if p > threshold]


def compatible(
    links: Iterable[WeightedLink], source: Sequence[str], target: Sequence[str], how: str
) -> list[WeightedLink]:
    """Return links between words of compatible parts of speech (Graça et al. 2010, §5.2).

    `how` is `any` for all links, `same` for equal tags, `class` for tags that share a class of `CLASSES`.
    Unknown tags (`_`, X) and interjections are compatible with every tag.
    """
    classes = CLASSES.values() if how == "class" else ()

    def fit(left: str, right: str) -> bool:
        if how == "any" or left == right or left in _FREE or right in _FREE:
            return True
        return any(left in tags and right in tags for tags in classes)

    return [(i, j, p) for i, j, p in links if fit(source[i], target[j])]


def transfer_tree(
    source: Sentence, target: Sentence, links: Sequence[WeightedLink], whole: bool = False
) -> Counter[str]:
    """Give `target` the tree of `source` (see `dualign.transfer.tree`), in place; counts of what happened.

    HEAD, DEPREL and the confidence in MISC are written; the target's own tree and its enhanced graph, with
    the empty nodes, are removed. A word without part of speech gets that of the word it stands for, or else
    the one that its links vote for. With `whole` every word gets a head, with relation `dep` if it does not
    come from the source, and a part of speech, X if none is known.
    """
    heads = source.heads()
    tags = source.column(UPOS), target.column(UPOS)
    projection = project(heads, len(target), links, tags)
    result = complete(projection, heads, links) if whole else projection.heads
    votes = vote(tags[0], len(target), links)[0] if "_" in tags[1] else tags[1]
    target.empty.clear()
    for j, row in enumerate(target.words):
        row[DEPS] = "_"
        if row[UPOS] == "_":
            place = projection.stands_for[j]
            tag = votes[j] if place == NOTHING or tags[0][place] == "_" else tags[0][place]
            row[UPOS] = "X" if whole and tag == "_" else tag
        head = result[j]
        if head == UNKNOWN:
            row[HEAD] = row[DEPREL] = "_"
            row[MISC] = _with_attribute(row[MISC], KEY, None)
            continue
        row[HEAD] = str(head + 1)
        projected = projection.heads[j] != UNKNOWN
        relation = source.words[projection.stands_for[j]][DEPREL] if projected else "_"
        if head == ROOT:
            relation = "root"
        elif relation in ("_", "root"):
            relation = "dep"
        row[DEPREL] = relation
        confidence = f"{projection.confidence[j]:.6g}" if projected else None
        row[MISC] = _with_attribute(row[MISC], KEY, confidence)
    # `complete` leaves nothing unattached; what it found is counted under other names.
    roots, unattached = ("roots_before", "completed") if whole else ("roots", "unattached")
    return Counter(
        words=len(target),
        edges=sum(1 for head in projection.heads if head >= 0),
        source_edges=sum(1 for head in heads if head >= 0),
        **{roots: projection.heads.count(ROOT), unattached: projection.heads.count(UNKNOWN)},
    )


def as_column(name: str) -> str:
    """Return a column of `COLUMNS`, in lower case, or the unchanged name of an attribute in MISC."""
    if name.lower() in COLUMNS:
        return name.lower()
    if name.lower() in ("id", "form", "head", "deprel", "deps", "misc"):
        raise UsageError(
            f"column {name} does not hold tags; give {', '.join(COLUMNS)}, or an attribute in MISC"
        )
    if name == KEY or not name or set("=|") & set(name) or name.split() != [name]:
        raise UsageError(f"`{name}` cannot be an attribute in MISC; give a word such as NER")
    return name


def read_tags(sentence: Sentence, column: str) -> list[str]:
    """Return the tags of a sentence's words in a column of `COLUMNS`, or by an attribute in MISC; `_` for
    none."""
    if column in COLUMNS:
        return sentence.column(COLUMNS[column])
    attributes = (dict(part.partition("=")[::2] for part in row[MISC].split("|")) for row in sentence.words)
    return [found.get(column, "_") for found in attributes]


def write_tags(sentence: Sentence, column: str, tags: Sequence[str], confidence: Sequence[float]) -> None:
    """Give the words of a sentence tags, and in MISC their confidence, in place."""
    for row, tag, value in zip(sentence.words, tags, confidence, strict=True):
        if column in COLUMNS:
            row[COLUMNS[column]] = tag
        else:
            if "|" in tag:
                raise DataError(f"tag `{tag[:40]}` has a |, which separates attributes in MISC")
            row[MISC] = _with_attribute(row[MISC], column, None if tag == "_" else tag)
        row[MISC] = _with_attribute(row[MISC], KEY, f"{value:.6g}" if value > 0 else None)


def _with_attribute(misc: str, key: str, value: str | None) -> str:
    """Return MISC with an attribute set, or removed where `value` is None."""
    if misc == "_":
        return "_" if value is None else f"{key}={value}"
    parts = [part for part in misc.split("|") if part.partition("=")[0] != key]
    if value is not None:
        parts.append(f"{key}={value}")
    return "|".join(parts) or "_"


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
    """Return a text without annotation, its tokens split at white space."""
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
    """Return the target's record with the source's spans, ready for JSON; and the status of each span.

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
