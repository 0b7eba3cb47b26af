"""Tables of results, in Markdown that is legible as plain text too."""

from __future__ import annotations

from collections.abc import Sequence

from dualign._core.errors import UsageError


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table whose first `left` columns are aligned left and the others, mostly numbers, right."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(head):
            raise UsageError(f"row {number} has {len(row)} cells for {len(head)} columns")
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * width if number < left else "-" * (width - 1) + ":" for number, width in enumerate(widths)]
    aligned = [
        [f"{cell:{'<' if number < left else '>'}{widths[number]}}" for number, cell in enumerate(row)]
        for row in (cells[0], rule, *cells[1:])
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in aligned)
