"""Options that the verbs of `dualign figure` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.exits import say
from dualign.core.errors import DataError, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dualign.text.reports import Record

FigureFile = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Figure to write: .svg, .pdf or .png.")
]
Line = Annotated[int, typer.Option("--line", min=1, metavar="N", help="Which sentence pair.")]


def checked_line(line: int, size: int) -> int:
    """A line number as an index."""
    if line > size:
        raise UsageError(f"--line {line}: the text has {size} lines")
    return line - 1


def write_figure(figure: Figure, path: str, quiet: bool) -> None:
    """Save a figure, and say which letters could not be drawn."""
    from dualign.show.canvas import save

    missing = save(figure, path)
    if missing and not quiet:
        say(
            f"note: no font for {missing[:20]}; install one (such as Noto Sans), and where that was done "
            "lately remove matplotlib's list of fonts, fontlist-*.json in its cache directory"
        )


def records_of(paths: list[str], errors: str) -> list[tuple[str, list[tuple[int, Record]]]]:
    """For each report, its name and the pairs that it has a trace of, with their lines."""
    from dualign.show.dataset import named
    from dualign.text.reports import read_records, record_of

    found = []
    for item in paths:
        name, path = named(item)
        lines = enumerate(read_records(path, errors=errors), 1)
        traced = [(n, record) for n, line in lines if line and (record := record_of(line)).get("trace")]
        if not traced:
            raise DataError(f"{path}: no traces; a report has them where a pair has the key `trace`")
        found.append((name, traced))
    return found
