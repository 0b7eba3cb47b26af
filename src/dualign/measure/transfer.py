"""How well annotation is transferred: edges, tags and spans against the target's own.

The target has a tree of its own (hand-made, or a parser's). A transferred edge is right if the target's tree
has it: the same word with the same head (Graça et al. 2010, §5.2 and Figure 10). The root does not count as
an edge, but it does count in attachment scores, which are about words.

As the threshold on link probabilities falls, more edges are transferred and fewer of them are right. Curves
of several aligners are compared at the same number of edges: `accuracy_at`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from typing import Any

from dualign._core.fields import check_value
from dualign.measure.timing import markdown
from dualign.text.checks import links_inside
from dualign.text.conllu import DEPREL, UNKNOWN, UPOS, Sentence
from dualign.text.links import Alignment, WeightedLink
from dualign.transfer.sentences import AnnotatedText, Settings, carry_record, links_between, weighted
from dualign.transfer.spans import GAP, SpanCarrier
from dualign.transfer.tags import vote
from dualign.transfer.tree import project

THRESHOLDS = (0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)

NOMINAL = frozenset(["nsubj", "obj", "iobj", "obl", "nmod", "appos"])
"""Relations whose subtrees are the phrases that span F1 is about."""

Counts = Counter[str]
"""Sums over sentence pairs. Of trees: sentences, words (of the target), source_edges, edges (transferred),
right_edges, attached (words with a head, the root included), right_heads, right_relations (right heads whose
relation, without subtype, is right as well), tagged, right_tags; of spans: spans (transferred), gold_spans,
right_spans."""


SHARES = (
    "edges/sentences edges/source_edges right_edges/edges right_heads/words right_relations/words "
    "right_heads/attached tagged/words right_tags/tagged right_spans/spans right_spans/gold_spans"
)
"""The counts that the rates of a `Point` are shares of, in their order."""


@dataclass(frozen=True, slots=True)
class Point:
    """Rates at one threshold; those of an empty set are 0."""

    threshold: float
    edges_per_sentence: float
    transferred: float
    """Edges transferred, of the source's."""
    accuracy: float
    """Right edges, of those transferred."""
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
        """Return the rates of counts."""
        shares = (share.split("/") for share in SHARES.split())
        rates = [counts[part] / counts[whole] if counts[whole] else 0.0 for part, whole in shares]
        both = counts["spans"] + counts["gold_spans"]
        rates.append(2 * counts["right_spans"] / both if both else 0.0)
        return cls(threshold, *rates)

    def as_dict(self) -> dict[str, float]:
        """Return the fields by name, ready for JSON."""
        return asdict(self)


class _Gold:
    """What does not depend on the links of a sentence pair."""

    def __init__(self, source: Sentence, target: Sentence) -> None:
        self.source_heads, self.target_heads = source.heads(), target.heads()
        self.tags = source.column(UPOS), target.column(UPOS)
        self.relations = tuple(
            [label.partition(":")[0] for label in side.column(DEPREL)] for side in (source, target)
        )
        self.source_phrases = phrases(self.source_heads, self.relations[0])
        self.target_phrases = set(phrases(self.target_heads, self.relations[1]))


def _count_pair(gold: _Gold, links: Sequence[WeightedLink], discontinuous: str, gap: int) -> Counts:
    """Return counts of one sentence pair."""
    length = len(gold.target_heads)
    projection = project(gold.source_heads, length, links, gold.tags)
    counts = Counter(sentences=1, words=length, source_edges=sum(head >= 0 for head in gold.source_heads))
    for j, head in enumerate(projection.heads):
        if head == UNKNOWN:
            continue
        right = head == gold.target_heads[j]
        relation = gold.relations[0][projection.stands_for[j]]
        counts["attached"] += 1
        counts["right_heads"] += right
        counts["right_relations"] += right and relation == gold.relations[1][j]
        counts["edges"] += head >= 0
        counts["right_edges"] += right and head >= 0
    tags, _ = vote(gold.tags[0], length, links)
    counts["tagged"] = length - tags.count("_")
    counts["right_tags"] = sum(tag == own != "_" for tag, own in zip(tags, gold.tags[1], strict=True))
    carrier = SpanCarrier(links, length, gap)
    carried = {
        (*piece, label)
        for begin, end, label in gold.source_phrases
        for piece in carrier.carry(begin, end, discontinuous).pieces
    }
    return counts + _count_spans(carried, gold.target_phrases)


def _count_spans(carried: set[Any], gold: set[Any]) -> Counts:
    return Counter(spans=len(carried), gold_spans=len(gold), right_spans=len(carried & gold))


def phrases(heads: Sequence[int], relations: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the nominal phrases of a tree, (begin, end, relation): subtrees under `NOMINAL` without gaps."""
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
    """Return edge accuracy if a given share of the source's edges is transferred, interpolated between
    points.

    Right edges are interpolated linearly against edges: the expectation if edges of two thresholds are mixed
    at random. Below the share of the strictest threshold, its accuracy holds. NaN if no threshold transfers
    that many edges.
    """
    check_value("transferred", transferred, over=0, most=1)
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
    """One point for each threshold, and the accuracy at one share of the edges."""

    points: list[Point]
    at: float
    accuracy: float
    """Edge accuracy if that share of the edges is transferred; NaN if it is never reached."""
    sentences: int

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; rates are fractions."""
        accuracy = None if isnan(self.accuracy) else self.accuracy
        points = [point.as_dict() for point in self.points]
        return {"sentences": self.sentences, "at": self.at, "accuracy_at": accuracy, "points": points}

    def as_text(self) -> str:
        """Return a table for people; rates are per cent."""
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
    """Transfer trees at each threshold, in one pass over triples (source, annotated target, links).

    `at` as in `accuracy_at`; `discontinuous` and `gap` are for phrases, as in `dualign.transfer.spans`.
    """
    how = [replace(settings or Settings(), threshold=threshold) for threshold in thresholds]
    sums = [Counts() for _ in how]
    number = 0
    for number, (source, target, alignment) in enumerate(pairs, 1):
        gold = _Gold(source, target)
        for total, setting in zip(sums, how, strict=True):
            links = links_between(source, target, alignment, setting, f"{place}, sentence pair {number}")
            total.update(_count_pair(gold, links, discontinuous, gap))
    points = list(map(Point.of, thresholds, sums))
    return TreeReport(points, at, accuracy_at(points, at), number)


@dataclass(frozen=True, slots=True)
class SpanReport:
    """Precision, recall and F1 of spans with their labels, one row for each threshold."""

    rows: list[dict[str, float]]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; rates are fractions."""
        return {"points": self.rows}

    def as_text(self) -> str:
        """Return a table for people; rates are per cent."""
        head = ("threshold", "spans", "gold", "right", "span P", "span R", "span F1")
        rows = []
        for threshold, *values in (row.values() for row in self.rows):
            rates = (f"{100 * rate:.2f}" for rate in values[3:])
            rows.append([f"{threshold:g}", *(f"{count:,}" for count in values[:3]), *rates])
        return markdown(head, rows, left=0)


def span_report(
    pairs: Iterable[tuple[AnnotatedText, AnnotatedText, Alignment]],
    thresholds: Sequence[float],
    discontinuous: str = "largest",
    gap: int = GAP,
    place: str = "links",
) -> SpanReport:
    """Transfer the source's spans; compare offsets and labels with the target's own."""
    sums = [Counts() for _ in thresholds]
    for number, (source, target, alignment) in enumerate(pairs, 1):
        where = f"{place}, sentence pair {number}"
        links_inside(alignment.links, len(source.tokens), len(target.tokens), where)
        gold = set(map(_labelled, target.spans))
        for total, threshold in zip(sums, thresholds, strict=True):
            record, _ = carry_record(source, target, weighted(alignment, threshold), discontinuous, gap)
            total.update(_count_spans(set(map(_labelled, record["spans"])), gold))
    rows = []
    for threshold, total in zip(thresholds, sums, strict=True):
        point = Point.of(threshold, total).as_dict()
        rows.append(
            {"threshold": threshold}
            | {name: total[name] for name in ("spans", "gold_spans", "right_spans")}
            | {name: point[name] for name in ("span_precision", "span_recall", "span_f1")}
        )
    return SpanReport(rows)


def _labelled(span: dict[str, Any]) -> tuple[int, int, str]:
    return span["start"], span["end"], json.dumps(span.get("label"), sort_keys=True)
