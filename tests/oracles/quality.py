"""Quality of links in plain Python sets and exact fractions; the slow twin of `dualign.measure`."""

from __future__ import annotations

from fractions import Fraction

Links = set[tuple[int, int]]


def ratio(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(1)


def quality(answers: list[Links], sure: list[Links], possible: list[Links]) -> dict[str, Fraction]:
    """Rates over all sentences; `possible` need not repeat the sure links."""
    a = {(n, *link) for n, links in enumerate(answers) for link in links}
    s = {(n, *link) for n, links in enumerate(sure) for link in links}
    p = s | {(n, *link) for n, links in enumerate(possible) for link in links}
    precision, recall = ratio(len(a & p), len(a)), ratio(len(a & s), len(s))
    both = precision + recall
    return {
        "aer": 1 - ratio(len(a & s) + len(a & p), len(a) + len(s)),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else Fraction(0),
    }


def above(scores: list[dict[tuple[int, int], float]], threshold: float) -> list[Links]:
    return [{link for link, score in sentence.items() if score > threshold} for sentence in scores]


def lowest_aer(
    scores: list[dict[tuple[int, int], float]], sure: list[Links], possible: list[Links]
) -> Fraction:
    """The lowest AER of any threshold: each score is tried, and one below them all."""
    values = {score for sentence in scores for score in sentence.values()}
    thresholds = [float("-inf"), *values]
    return min(quality(above(scores, t), sure, possible)["aer"] for t in thresholds)


def area(points: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Integral over recall of the best precision at that recall or more; points are `(recall, precision)`."""
    total, last = Fraction(0), Fraction(0)
    for recall in sorted({recall for recall, _ in points}):
        total += (recall - last) * max(precision for r, precision in points if r >= recall)
        last = recall
    return total


def split(
    links: list[Links], sentences: list[list[str]], side: int, rare: int
) -> tuple[list[Links], list[Links]]:
    """Links whose word on `side` occurs at most `rare` times in `sentences`, and the others."""
    words = [word for sentence in sentences for word in sentence]
    chosen = [
        {link for link in group if words.count(sentences[n][link[side]]) <= rare}
        for n, group in enumerate(links)
    ]
    return chosen, [group - kept for group, kept in zip(links, chosen, strict=True)]
