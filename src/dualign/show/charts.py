"""Small charts as SVG in the page's colours: no script, no library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10

_WIDTH, _HEIGHT = 460, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 8, 10, 34


def bars(labels: Sequence[str], values: Sequence[float], *, x: str, y: str) -> str:
    """A bar for each value, labelled below; pointing at it shows its value."""
    most = _round_up(max(values, default=0) or 1)
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(values), 1)
    parts = [_axis(0, most)]
    for k, (label, value) in enumerate(zip(labels, values, strict=True)):
        height = (_HEIGHT - _TOP - _BOTTOM) * value / most
        left = _LEFT + k * step
        parts.append(
            f'<rect class="bar" x="{left + 1:.1f}" y="{_HEIGHT - _BOTTOM - height:.1f}" '
            f'width="{max(step - 2, 1):.1f}" height="{height:.1f}">'
            f"<title>{escape(label)}: {value:,}</title></rect>"
        )
        # Where bars are many, not every label has room.
        if len(values) <= 12 or k % 4 == 0:
            parts.append(_text(left + step / 2, _HEIGHT - _BOTTOM + 13, label, "middle"))
    return _svg(parts, x, y)


def line(values: Sequence[float], labels: Sequence[str], *, x: str, y: str) -> str:
    """Values in their order, joined by a line; `labels` name them."""
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 1, high + 1
    across = (_WIDTH - _LEFT - _RIGHT - 20) / max(len(values) - 1, 1)
    points = [
        (_LEFT + 10 + k * across, _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low))
        for k, value in enumerate(values)
    ]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    parts = [_axis(low, high), f'<polyline class="curve" points="{path}"/>']
    for (px, py), value, label in zip(points, values, labels, strict=True):
        parts.append(
            f'<circle class="point" cx="{px:.1f}" cy="{py:.1f}" r="3.5">'
            f"<title>{escape(label)}: {value:.6g}</title></circle>"
        )
        parts.append(_text(px, _HEIGHT - _BOTTOM + 13, label, "middle"))
    return _svg(parts, x, y)


def _axis(low: float, high: float) -> str:
    lines = []
    for k in range(5):
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * k / 4
        value = low + (high - low) * k / 4
        lines.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(_LEFT - 5, y + 4, f"{value:,.4g}" if abs(value) < 1e4 else _short(value), "end"))
    return "".join(lines)


def _round_up(value: float) -> float:
    """A number not much larger whose quarters are round."""
    size = 10.0 ** floor(log10(value))
    return next(part * size for part in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if part * size >= value)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], x: str, y: str) -> str:
    label = escape(f"{y} by {x}")
    below = _text(_WIDTH / 2, _HEIGHT - 4, f"{x}  (upwards: {y})", "middle")
    return (
        f'<svg class="chart" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{label}">{"".join(parts)}{below}</svg>'
    )
