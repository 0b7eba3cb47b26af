"""Spans of words carried over links: names, terms, phrases, the content of a tag.

A span is a run of source words, `begin` to `end` (not included). For a target word, its links into the span
and its links to other source words are weighed by their probabilities: it is *claimed* if the former weigh
at least as much as the latter. Claimed words next to each other form a run; so do claimed words with at
most `gap` words between them that have no links at all. Then

| outcome | what came across | status |
|---|---|---|
| one run, all of it claimed | the run | `whole` |
| one run with words between that are not linked | the run, these words included | `joined` |
| several runs | as `--discontinuous` says, below | `discontinuous` |
| no claimed word | nothing | `unaligned` |

| discontinuous | |
|---|---|
| `largest` | the run with the heaviest links into the span; the first among equals |
| `hull` | from the first run's begin to the last one's end, whatever lies between |
| `split` | every run, as a separate span |
| `drop` | nothing |

**Confidence**: for each word of the span its most probable link into the result, or 0; the mean of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dualign._core.fields import check_value
from dualign.text.links import WeightedLink
from dualign.transfer.tokens import Interval

DISCONTINUOUS = ("largest", "hull", "split", "drop")
GAP = 2
"""Words without links that a run may bridge, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What became of one span."""

    pieces: tuple[Interval, ...]
    """Target spans in order: none, one, or with `split` several."""
    status: str
    confidence: float


class SpanCarrier:
    """Carries spans of one sentence pair; links lie within both sentences."""

    def __init__(self, links: Iterable[WeightedLink], target_length: int, gap: int = GAP) -> None:
        self._links = list(links)
        self._gap = gap
        self._total = [0.0] * target_length
        self._of_source: dict[int, list[int]] = {}
        for number, (i, j, p) in enumerate(self._links):
            self._total[j] += p
            self._of_source.setdefault(i, []).append(number)

    def carry(self, begin: int, end: int, discontinuous: str = "largest") -> Carried:
        """Carry the span of source words `begin` to `end`."""
        check_value("discontinuous", discontinuous, choices=DISCONTINUOUS)
        runs = self.runs(begin, end)
        if not runs:
            return Carried((), "unaligned", 0.0)
        pieces = tuple((first, last) for first, last, _ in runs)
        if len(runs) == 1:
            first, last = pieces[0]
            bridged = any(total == 0 for total in self._total[first:last])
            return Carried(pieces, "joined" if bridged else "whole", self.confidence(begin, end, pieces))
        if discontinuous == "drop":
            pieces = ()
        elif discontinuous == "hull":
            pieces = ((pieces[0][0], pieces[-1][1]),)
        elif discontinuous == "largest":
            pieces = (max(runs, key=lambda run: (run[2], -run[0]))[:2],)
        return Carried(pieces, "discontinuous", self.confidence(begin, end, pieces))

    def runs(self, begin: int, end: int) -> list[tuple[int, int, float]]:
        """Return the runs of claimed words, in order, and the weight of each one's links into the span."""
        inside: dict[int, float] = {}
        for number in sorted(n for i in range(begin, end) for n in self._of_source.get(i, ())):
            _, j, p = self._links[number]
            inside[j] = inside.get(j, 0.0) + p
        runs: list[tuple[int, int, float]] = []
        for j, weight in sorted(inside.items()):
            # Half of the total with room for rounding: two equal sums may differ in their last bit.
            if weight == 0 or weight < 0.5 * self._total[j] * (1 - 1e-12):
                continue
            last = runs[-1][1] if runs else 0
            if runs and j - last <= self._gap and not any(self._total[last:j]):
                runs[-1] = runs[-1][0], j + 1, runs[-1][2] + weight
            else:
                runs.append((j, j + 1, weight))
        return runs

    def confidence(self, begin: int, end: int, pieces: Sequence[Interval]) -> float:
        """Return how well the words of a span are covered by target spans, 0 to 1."""
        if begin >= end:
            return 0.0
        best = [0.0] * (end - begin)
        for i, j, p in self._links:
            if begin <= i < end and any(first <= j < last for first, last in pieces):
                best[i - begin] = max(best[i - begin], p)
        return sum(best) / len(best)


def without_overlaps(spans: Sequence[tuple[Interval, float]]) -> list[int]:
    """Return the positions of spans that do not overlap, taken by falling confidence; then longer, then
    first."""
    order = sorted(
        range(len(spans)), key=lambda k: (-spans[k][1], spans[k][0][0] - spans[k][0][1], spans[k][0], k)
    )
    kept: list[int] = []
    for k in order:
        begin, end = spans[k][0]
        if all(end <= spans[other][0][0] or begin >= spans[other][0][1] for other in kept):
            kept.append(k)
    return sorted(kept)
