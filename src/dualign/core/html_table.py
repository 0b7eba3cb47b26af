"""Small tables for notebooks: what `_repr_html_` methods return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


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
