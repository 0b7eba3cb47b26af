"""Tags of words carried over links: parts of speech by vote, BIO tags as spans.

**Vote.** Each link gives its probability to the tag of its source word; a target word gets the tag with the
most, the tag of the most probable link among equals, the first source word's among those. A word without
links, or whose links are all to untagged words (`_`), gets none. The confidence is the winner's share: its
sum over the sum of all, or over 1 where the sum of all is less.

**BIO.** `B-X` begins a span with label X, `I-X` continues it, `O` is outside. An `I-X` after anything but
`B-X` or `I-X` begins a span, as in older data. Spans are carried as in `dualign.transfer.spans`; where two
come to overlap, the more confident one is kept, and the other is counted as lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dualign._core.errors import DataError
from dualign.text.links import WeightedLink
from dualign.transfer.spans import GAP, SpanCarrier, without_overlaps

NO_TAG = "_"


def vote(
    tags: Sequence[str], target_length: int, links: Iterable[WeightedLink]
) -> tuple[list[str], list[float]]:
    """Return the tag of each target word, `_` for none, and its confidence."""
    ballots: list[list[WeightedLink]] = [[] for _ in range(target_length)]
    for link in links:
        if tags[link[0]] != NO_TAG:
            ballots[link[1]].append(link)
    result = [NO_TAG] * target_length
    confidence = [0.0] * target_length
    for j, ballot in enumerate(ballots):
        if not ballot:
            continue
        if len(ballot) == 1:
            i, _, p = ballot[0]
            result[j], confidence[j] = tags[i], p
            continue
        ballot.sort(key=lambda link: (-link[2], link[0]))
        votes: dict[str, float] = {}
        for i, _, p in ballot:
            votes[tags[i]] = votes.get(tags[i], 0.0) + p
        # Insertion order is that of the ballot, so `max` takes the most probable link's tag among equals.
        result[j] = max(votes, key=votes.__getitem__)
        confidence[j] = votes[result[j]] / max(1.0, sum(votes.values()))
    return result, confidence


@dataclass(frozen=True, slots=True)
class CarriedBio:
    """BIO tags of the target words, and what became of the spans."""

    tags: list[str]
    confidence: list[float]
    """Of the span that a word is in; 0 outside."""
    statuses: list[str]
    """Of each source span, as in `Carried`; `overlapping` for one that gave way to another."""


def carry_bio(
    tags: Sequence[str],
    target_length: int,
    links: Iterable[WeightedLink],
    discontinuous: str = "largest",
    gap: int = GAP,
) -> CarriedBio:
    """Carry BIO tags; `DataError` for anything else."""
    carrier = SpanCarrier(links, target_length, gap)
    statuses, pieces = [], []
    for number, (begin, end, label) in enumerate(from_bio(tags)):
        carried = carrier.carry(begin, end, discontinuous)
        statuses.append(carried.status)
        pieces += [(piece, carried.confidence, label, number) for piece in carried.pieces]
    kept = without_overlaps([(piece, confidence) for piece, confidence, _, _ in pieces])
    for k in set(range(len(pieces))).difference(kept):
        statuses[pieces[k][3]] = "overlapping"
    confidence = [0.0] * target_length
    for k in kept:
        (begin, end), value = pieces[k][:2]
        confidence[begin:end] = [value] * (end - begin)
    spans = [(*pieces[k][0], pieces[k][2]) for k in kept]
    return CarriedBio(to_bio(spans, target_length), confidence, statuses)


def from_bio(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return the spans `(begin, end, label)` of BIO tags, in order."""
    spans: list[tuple[int, int, str]] = []
    open_label = None
    for at, tag in enumerate(tags):
        if tag in ("O", NO_TAG):
            open_label = None
            continue
        mark, dash, label = tag.partition("-")
        if mark not in ("B", "I") or not dash or not label:
            raise DataError(f"token {at}: `{tag[:40]}` is not a BIO tag; expected O, B-LABEL or I-LABEL")
        if mark == "I" and label == open_label:
            spans[-1] = spans[-1][0], at + 1, label
        else:
            spans.append((at, at + 1, label))
        open_label = label
    return spans


def to_bio(spans: Iterable[tuple[int, int, str]], length: int) -> list[str]:
    """Return BIO tags of spans that do not overlap."""
    tags = ["O"] * length
    for begin, end, label in spans:
        tags[begin:end] = [f"B-{label}", *[f"I-{label}"] * (end - begin - 1)]
    return tags
