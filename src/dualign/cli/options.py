"""Options that several verbs share: one name, one meaning, one help text."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from dualign.core.errors import UsageError
from dualign.text.formats import FORMATS


class OnErrors(StrEnum):
    """What to do about bytes that are not UTF-8; the values are those of `dualign.text.lines.read_lines`."""

    STRICT = "strict"
    REPLACE = "replace"


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes on stderr.")]

Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", help="Threads to compute with; the result is the same."),
]

Errors = Annotated[
    OnErrors,
    typer.Option("--errors", help="Bytes that are not UTF-8: stop (strict), or read U+FFFD (replace)."),
]

Output = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is standard output.")
]

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Also write a JSON object for each pair: line, score, bound, certified, seconds.",
    ),
]

LinkFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"Link format: {', '.join(FORMATS)}. Guessed from name and content if not given.",
    ),
]

Pairs = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        min=0,
        metavar="N",
        help="Number of sentence pairs: NAACL files do not mention those at the end that have no links.",
    ),
]


def one_standard_input(*paths: str | None) -> None:
    """Refuse to read two files from standard input."""
    if paths.count("-") > 1:
        raise UsageError("only one file can be standard input (-); name the others")


def separate_outputs(*paths: str | None) -> None:
    """Refuse to write two things in one place."""
    given = [path for path in paths if path is not None]
    places = [path if path == "-" else os.path.realpath(path) for path in given]
    for path, place in zip(given, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(f"two outputs have the same place, {path}; give each its own")
