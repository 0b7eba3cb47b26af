"""A `Certified` in a notebook: what is proved, and how bound and score approached each other.

`Certified`: an answer together with what is proved about it.

Small tables for notebooks: what `_repr_html_` methods return.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from math import isfinite
from typing import Any, Generic, TypeVar

S = TypeVar("S")

Stage = tuple[str, float, float, float]
"""The name of a stage of a search, the bound and the best score after it, and the seconds since the start."""

Trace = tuple[tuple[float, float], ...] | tuple[Stage, ...]
"""How a search went: bound and best score after each round; or the stages of methods that work in stages."""


@dataclass(frozen=True, slots=True)
class Certified(Generic[S]):
    """A solution, its score, and a proved upper bound on the score of any solution.

    `score` is that of `solution`, recomputed from scratch; `certified` means that no solution is better by
    more than the tolerance of the method, or that the method is exact by construction. `trace` is empty
    where a method does not search.
    """

    solution: S
    score: float
    bound: float
    certified: bool
    method: str
    iterations: int = 0
    seconds: float = 0.0
    trace: Trace = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """The most by which another solution could be better."""
        return self.bound - self.score

    def _repr_html_(self) -> str:

        return certified_html(self)


def html_table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of escaped text; the first column names what the others, aligned right, say of it."""
    lines = [_row(head, "th")] if head else []
    lines += [_row(row, "td") for row in rows]
    return f'<table style="width:auto">{"".join(lines)}</table>'


def html_text(text: str) -> str:
    """Lines of plain text, such as a table for the terminal, as they are."""
    return f"<pre>{escape(text)}</pre>"


def _row(cells: Sequence[str], tag: str) -> str:
    first, *others = (escape(cell) for cell in cells)
    right = "".join(f'<{tag} style="text-align:right">{cell}</{tag}>' for cell in others)
    return f'<tr><th style="text-align:left">{first}</th>{right}</tr>'


_WIDTH, _HEIGHT = 360, 90
_LONGEST = 200


def certified_html(answer: Certified[Any]) -> str:
    """A table, and a chart of the trace if it has two rounds or more."""
    verdict = (
        "proved optimal" if answer.certified else "not proved; the best answer may score up to the bound"
    )
    solution = repr(answer.solution)
    rows = [
        ("certified", f"{'yes' if answer.certified else 'no'}: {verdict}"),
        ("score", f"{answer.score:.6g}"),
        ("bound", f"{answer.bound:.6g}"),
        ("gap", f"{answer.gap:.3g}"),
        ("method", answer.method),
        ("solution", solution if len(solution) <= _LONGEST else f"{solution[:_LONGEST]}…"),
    ]
    return html_table(rows) + _chart(answer)


def _chart(answer: Certified[Any]) -> str:
    """Bound (dashed) and best score (solid) by round, as SVG."""
    pairs = [entry[1:3] if isinstance(entry[0], str) else entry[:2] for entry in answer.trace]
    pairs = [(float(bound), float(score)) for bound, score in pairs if isfinite(bound) and isfinite(score)]
    if len(pairs) < 2:
        return ""
    low, high = min(score for _, score in pairs), max(bound for bound, _ in pairs)
    scale = (_HEIGHT - 10) / ((high - low) or 1.0)
    step = (_WIDTH - 10) / (len(pairs) - 1)
    lines = [
        " ".join(f"{5 + step * k:.1f},{5 + scale * (high - pair[which]):.1f}" for k, pair in enumerate(pairs))
        for which in (0, 1)
    ]
    style = 'fill="none" stroke="currentColor" stroke-width="1.5"'
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img"><title>Bound (dashed) and best score (solid), '
        f"{len(pairs)} rounds, from {low:.6g} to {high:.6g}</title>"
        f'<polyline {style} stroke-dasharray="4 3" points="{lines[0]}"/>'
        f'<polyline {style} points="{lines[1]}"/></svg>'
    )
