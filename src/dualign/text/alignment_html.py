"""The links of a sentence pair as HTML, for notebooks: a matrix, or in long pairs a line per source word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

Marks = Mapping[tuple[int, int], tuple[bool, float | None]]
"""Links, each with whether it is sure, and its probability."""

MOST = 50
"""Up to this many words per side, a matrix is drawn."""

_CELL = "width:1.5em;height:1.5em;text-align:center;border:1px solid rgba(128,128,128,.3);padding:0"
_NAME = "text-align:right;padding:0 .4em;white-space:nowrap"
_HEAD = "vertical-align:bottom;text-align:center;padding:.3em 0"
_VERTICAL = "writing-mode:vertical-rl;white-space:nowrap"
# One hue in two strengths that is legible on white and on black; the marks say the same without colour.
_SURE, _POSSIBLE = "rgba(0,114,178,.35)", "rgba(128,128,128,.25)"


def alignment_html(marks: Marks, words: tuple[Sequence[str], Sequence[str]] | None) -> str:
    """HTML without scripts; words are escaped. If the words are unknown, their positions are shown."""
    if words is None:
        sizes = [1 + max((link[side] for link in marks), default=-1) for side in (0, 1)]
        source, target = ([str(at) for at in range(size)] for size in sizes)
    else:
        source, target = map(list, words)
    if not source or not target:
        return "<p>(no links)</p>" if words is None else "<p>(no words on one side)</p>"
    draw = _listing if max(len(source), len(target)) > MOST else _matrix
    return draw(source, target, marks)


def _matrix(source: Sequence[str], target: Sequence[str], marks: Marks) -> str:
    heads = "".join(
        f'<th style="{_HEAD}"><span dir="auto" style="{_VERTICAL}">{escape(word)}</span></th>'
        for word in target
    )
    rows = []
    for i, word in enumerate(source):
        cells = "".join(_cell(marks.get((i, j))) for j in range(len(target)))
        rows.append(f'<tr><th style="{_NAME}" dir="auto">{escape(word)}</th>{cells}</tr>')
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;width:auto">'
        f"<tr><td></td>{heads}</tr>{''.join(rows)}</table></div>"
    )


def _cell(mark: tuple[bool, float | None] | None) -> str:
    if mark is None:
        return f'<td style="{_CELL}"></td>'
    sure, probability = mark
    title = "" if probability is None else f' title="{probability:.3f}"'
    dot = "●" if sure else "○"
    size = 100 if probability is None else 40 + 60 * probability
    return (
        f'<td style="{_CELL};background:{_SURE if sure else _POSSIBLE}"{title}>'
        f'<span style="font-size:{size:.0f}%">{dot}</span></td>'
    )


def _listing(source: Sequence[str], target: Sequence[str], marks: Marks) -> str:
    rows = []
    for i, word in enumerate(source):
        found = []
        for j, other in enumerate(target):
            if (mark := marks.get((i, j))) is not None:
                sure, probability = mark
                note = "" if sure else " (possible)"
                note += "" if probability is None else f" {probability:.2f}"
                found.append(f"<bdi>{escape(other)}</bdi>{note}")
        rows.append(
            f'<tr><th style="{_NAME}" dir="auto">{escape(word)}</th>'
            f'<td style="text-align:left">{", ".join(found)}</td></tr>'
        )
    return f'<table style="width:auto">{"".join(rows)}</table>'
