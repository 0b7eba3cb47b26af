"""A `Certified` in a notebook: what is proved, and how bound and score approached each other."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from dualign.core.html_table import html_table

if TYPE_CHECKING:
    from dualign.core.certified import Certified

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
