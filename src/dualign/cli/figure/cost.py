"""`dualign figure cost`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dualign.cli.figure.options import FigureFile, write_figure
from dualign.cli.options import Errors, OnErrors, Quiet
from dualign.core.errors import DataError


def cost(
    output: FigureFile,
    files: Annotated[
        list[str], typer.Argument(metavar="[NAME=]FILE...", help="JSON lines, as the benchmarks write them.")
    ],
    x: Annotated[str, typer.Option("--x", metavar="KEY", help="Size, to the right.")] = "pairs",
    y: Annotated[str, typer.Option("--y", metavar="KEY", help="Cost, upwards.")] = "seconds",
    by: Annotated[
        str | None, typer.Option("--by", metavar="KEY", help="A line for each value of this key.")
    ] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Draw time, memory or another cost against size."""
    import json

    from dualign.show.dataset import named
    from dualign.show.plots import cost_figure
    from dualign.text.lines import read_lines

    series: dict[str, list[tuple[float, float]]] = {}
    for item in files:
        name, path = named(item)
        for number, line in enumerate(read_lines(path, errors), 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                record: Any = json.loads(line)
                point = float(record[x]), float(record[y])
            except (ValueError, TypeError, KeyError, IndexError):
                raise DataError(f"{place}: no JSON object with numbers `{x}` and `{y}`") from None
            label = (
                name
                if by is None
                else f"{record.get(by)}"
                if len(files) == 1
                else f"{name}, {record.get(by)}"
            )
            series.setdefault(label, []).append(point)
    if not series:
        raise DataError(f"{files[0]}: no measurement, the file is empty")
    write_figure(cost_figure(series, x, y), output, quiet)
