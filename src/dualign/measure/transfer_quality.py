"""How well annotation comes across: edges, tags and spans against the target's own.

The target has a tree of its own (hand-made, or a parser's). An edge that was carried across is right if the
target's tree has it: the same word with the same head (Graça et al. 2010, §5.2 and Figure 10). The source
root's "edge" has one end only and is no edge here, but counts for attachment scores, which are about words.

As the threshold on link probabilities falls, more edges come across and fewer of them are right. Curves of
several aligners are compared at the same number of edges: `accuracy_at`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import isnan
from typing import Any

from dualign.core.errors import UsageError
from dualign.measure.table import markdown
from dualign.text.alignment import Alignment
from dualign.text.conllu import DEPREL, UPOS, Sentence
from dualign.transfer.annotated import Record, carry_record
from dualign.transfer.links import WeightedLink, check, weighted
from dualign.transfer.sentences import Settings, links_between
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tags import vote
from dualign.transfer.tree import project

THRESHOLDS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)

NOMINAL = frozenset(["nsubj", "obj", "iobj", "obl", "nmod", "appos"])
"""Relations whose subtrees are the phrases that span F1 is about."""


@dataclass(slots=True)
class Counts:
    """Sums over sentence pairs; `a += b` adds."""

    sentences: int = 0
    words: int = 0
    """Of the target."""
    source_edges: int = 0
    edges: int = 0
    """Carried across."""
    right_edges: int = 0
    attached: int = 0
    """Words with a head, the root included."""
    right_heads: int = 0
    right_relations: int = 0
    """Right heads whose relation, without subtype, is right as well."""
    tagged: int = 0
    right_tags: int = 0
    spans: int = 0
    """Carried across."""
    gold_spans: int = 0
    right_spans: int = 0

    def __iadd__(self, other: Counts) -> Counts:
        for name in (f.name for f in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass(frozen=True, slots=True)
class Point:
    """Rates at one threshold; those of an empty set are 0."""

    threshold: float
    edges_per_sentence: float
    transferred: float
    """Edges carried across, of the source's."""
    accuracy: float
    """Right edges, of those carried across."""
    uas: float
    """Words with the right head, of all words of the target."""
    las: float
    """Words with the right head and relation, of all words of the target."""
    uas_attached: float
    """Words with the right head, of those that got one."""
    tagged: float
    """Words that got a tag, of all words."""
    tag_accuracy: float
    """Right tags, of those given."""
    span_precision: float
    span_recall: float
    span_f1: float

    @classmethod
    def of(cls, threshold: float, counts: Counts) -> Point:
        """The rates of counts."""
        precision = _share(counts.right_spans, counts.spans)
        recall = _share(counts.right_spans, counts.gold_spans)
        return cls(
            threshold,
            _share(counts.edges, counts.sentences),
            _share(counts.edges, counts.source_edges),
            _share(counts.right_edges, counts.edges),
            _share(counts.right_heads, counts.words),
            _share(counts.right_relations, counts.words),
            _share(counts.right_heads, counts.attached),
            _share(counts.tagged, counts.words),
            _share(counts.right_tags, counts.tagged),
            precision,
            recall,
            _share(2 * counts.right_spans, counts.spans + counts.gold_spans),
        )

    def as_dict(self) -> dict[str, float]:
        """The fields by name, ready for JSON."""
        return asdict(self)


def curve(
    pairs: Iterable[tuple[Sentence, Sentence, Alignment]],
    thresholds: Sequence[float] = THRESHOLDS,
    settings: Settings | None = None,
    place: str = "links",
    discontinuous: str = "largest",
    gap: int = GAP,
) -> list[Point]:
    """One point for each threshold, in one pass over triples (source, annotated target, links).

    `discontinuous` and `gap` are about phrases, as in `dualign.transfer.spans`.
    """
    how = [replace(settings or Settings(), threshold=threshold) for threshold in thresholds]
    sums = [Counts() for _ in how]
    for number, (source, target, alignment) in enumerate(pairs, 1):
        gold = _Gold(source, target)
        for total, setting in zip(sums, how, strict=True):
            links = links_between(source, target, alignment, setting, f"{place}, sentence pair {number}")
            total += _count_pair(gold, links, discontinuous, gap)
    return [Point.of(t, total) for t, total in zip(thresholds, sums, strict=True)]


class _Gold:
    """What of a sentence pair does not depend on links."""

    def __init__(self, source: Sentence, target: Sentence) -> None:
        self.source_heads, self.target_heads = source.heads(), target.heads()
        self.tags = source.column(UPOS), target.column(UPOS)
        self.relations = tuple(
            [label.partition(":")[0] for label in side.column(DEPREL)] for side in (source, target)
        )
        self.source_phrases = phrases(self.source_heads, self.relations[0])
        self.target_phrases = set(phrases(self.target_heads, self.relations[1]))


def _count_pair(gold: _Gold, links: Sequence[WeightedLink], discontinuous: str, gap: int) -> Counts:
    """Counts of one sentence pair."""
    length = len(gold.target_heads)
    projection = project(gold.source_heads, length, links, gold.tags)
    counts = Counts(sentences=1, words=length, gold_spans=len(gold.target_phrases))
    counts.source_edges = sum(1 for head in gold.source_heads if head >= 0)
    for j, head in enumerate(projection.heads):
        if head < -1:
            continue
        right = head == gold.target_heads[j]
        counts.attached += 1
        counts.right_heads += right
        counts.right_relations += (
            right and gold.relations[0][projection.stands_for[j]] == gold.relations[1][j]
        )
        if head >= 0:
            counts.edges += 1
            counts.right_edges += right
    tags, _ = vote(gold.tags[0], length, links)
    counts.tagged = sum(1 for tag in tags if tag != "_")
    counts.right_tags = sum(1 for tag, own in zip(tags, gold.tags[1], strict=True) if tag == own != "_")
    carrier = SpanCarrier(links, length, gap)
    carried = {
        (*piece, label)
        for begin, end, label in gold.source_phrases
        for piece in carrier.carry(begin, end, discontinuous).pieces
    }
    counts.spans = len(carried)
    counts.right_spans = len(carried & gold.target_phrases)
    return counts


def phrases(heads: Sequence[int], relations: Sequence[str]) -> list[tuple[int, int, str]]:
    """The nominal phrases of a tree, (begin, end, relation): subtrees under `NOMINAL` without gaps."""
    first, last, size = list(range(len(heads))), list(range(len(heads))), [1] * len(heads)
    for word in range(len(heads)):
        at = heads[word]
        while at >= 0:
            first[at], last[at], size[at] = min(first[at], word), max(last[at], word), size[at] + 1
            at = heads[at]
    return [
        (first[word], last[word] + 1, relation)
        for word, relation in enumerate(relations)
        if relation in NOMINAL and last[word] - first[word] + 1 == size[word]
    ]


def accuracy_at(points: Sequence[Point], transferred: float) -> float:
    """Edge accuracy where a given share of the source's edges comes across, between points on straight lines.

    A straight line in right edges against edges: what one gets by drawing lots between two thresholds. With
    fewer edges than the strictest threshold gives, lots are drawn from these. NaN if never so many come
    across.
    """
    if not 0 < transferred <= 1:
        raise UsageError(f"transferred={transferred} must be above 0 and at most 1")
    reached = sorted((point.transferred, point.transferred * point.accuracy) for point in points)
    below = (0.0, 0.0)
    for share, right in reached:
        if share >= transferred:
            weight = (transferred - below[0]) / (share - below[0])
            return (below[1] + weight * (right - below[1])) / transferred
        below = share, right
    return float("nan")


@dataclass(frozen=True, slots=True)
class TreeReport:
    """A curve, and the accuracy at one share of the edges."""

    points: list[Point]
    at: float
    accuracy: float
    """Edge accuracy where that share comes across; NaN if never so many do."""
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; rates are fractions."""
        accuracy = None if isnan(self.accuracy) else self.accuracy
        points = [point.as_dict() for point in self.points]
        return {"sentences": self.sentences, "at": self.at, "accuracy_at": accuracy, "points": points}

    def as_text(self) -> str:
        """A table for people; rates are per cent."""
        head = (
            "threshold", "edges/sentence", "% transferred", "% right", "UAS", "LAS", "UAS attached",
            "% tagged", "% tags right", "span P", "span R", "span F1",
        )  # fmt: skip
        rows = []
        for point in self.points:
            threshold, edges, *rates = point.as_dict().values()
            rows.append([f"{threshold:g}", f"{edges:.2f}", *(f"{100 * rate:.2f}" for rate in rates)])
        never = f"never {100 * self.at:g} % of the edges come across"
        found = f"{100 * self.accuracy:.2f} % of the edges are right where {100 * self.at:g} % come across"
        return f"{markdown(head, rows, left=0)}\n\n{never if isnan(self.accuracy) else found}"


def tree_report(
    pairs: Iterable[tuple[Sentence, Sentence, Alignment]],
    thresholds: Sequence[float] = THRESHOLDS,
    settings: Settings | None = None,
    place: str = "links",
    at: float = 0.5,
    discontinuous: str = "largest",
    gap: int = GAP,
) -> TreeReport:
    """What `dualign transfer evaluate` says of trees; arguments as in `curve` and `accuracy_at`."""
    number = 0

    def counted() -> Iterator[tuple[Sentence, Sentence, Alignment]]:
        nonlocal number
        for number, pair in enumerate(pairs, 1):  # noqa: B007 - the count is wanted
            yield pair

    points = curve(counted(), thresholds, settings, place, discontinuous, gap)
    return TreeReport(points, at, accuracy_at(points, at), number)


@dataclass(frozen=True, slots=True)
class SpanReport:
    """Precision, recall and F1 of spans with their labels, one row for each threshold."""

    rows: list[dict[str, float]]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; rates are fractions."""
        return {"points": self.rows}

    def as_text(self) -> str:
        """A table for people; rates are per cent."""
        head = ("threshold", "spans", "gold", "right", "span P", "span R", "span F1")
        rows = []
        for row in self.rows:
            threshold, *counts = list(row.values())[:4]
            rates = [f"{100 * row[name]:.2f}" for name in ("span_precision", "span_recall", "span_f1")]
            rows.append([f"{threshold:g}", *(f"{count:,}" for count in counts), *rates])
        return markdown(head, rows, left=0)


def span_report(
    pairs: Iterable[tuple[Record, Record, Alignment]],
    thresholds: Sequence[float],
    discontinuous: str = "largest",
    gap: int = GAP,
    place: str = "links",
) -> SpanReport:
    """Carry the source's spans across; compare offsets and labels with the target's own."""
    sums = [Counts() for _ in thresholds]
    for number, (source, target, alignment) in enumerate(pairs, 1):
        check(alignment.links, len(source.tokens), len(target.tokens), f"{place}, sentence pair {number}")
        gold = {_labelled(span) for span in target.spans}
        for total, threshold in zip(sums, thresholds, strict=True):
            record, _ = carry_record(source, target, weighted(alignment, threshold), discontinuous, gap)
            carried = {_labelled(span) for span in record["spans"]}
            total += Counts(spans=len(carried), gold_spans=len(gold), right_spans=len(carried & gold))
    rows = []
    for threshold, total in zip(thresholds, sums, strict=True):
        point = Point.of(threshold, total).as_dict()
        rates = {name: point[name] for name in ("span_precision", "span_recall", "span_f1")}
        counts = {"spans": total.spans, "gold_spans": total.gold_spans, "right_spans": total.right_spans}
        rows.append({"threshold": threshold, **counts, **rates})
    return SpanReport(rows)


def _labelled(span: dict[str, Any]) -> tuple[int, int, str]:
    return span["start"], span["end"], json.dumps(span.get("label"), sort_keys=True)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
