"""Options that the verbs of `dualign transfer` share, and how their results are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from enum import StrEnum
from typing import Annotated, Any, TextIO

import typer

from dualign.cli.exits import say
from dualign.cli.progress import counted
from dualign.core.errors import UsageError
from dualign.text.streams import open_output


class PosFilter(StrEnum):
    """Which links are used, by part of speech: `dualign.transfer.weighted_links.COMPATIBLE`."""

    ANY = "any"
    CLASS = "class"
    SAME = "same"


class OnDiscontinuous(StrEnum):
    """What to do with a span in several pieces: `dualign.transfer.spans.DISCONTINUOUS`."""

    LARGEST = "largest"
    HULL = "hull"
    SPLIT = "split"
    DROP = "drop"


class FileFormat(StrEnum):
    """How a file holds sentences."""

    CONLLU = "conllu"
    TEXT = "text"


Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="Target: CoNLL-U, or text with a tokenised sentence a line.",
        show_default=False,
    ),
]
LinksFile = Annotated[
    str,
    typer.Argument(
        metavar="LINKS",
        help="Links, perhaps with probabilities, as `dualign align --probabilities` writes them.",
        show_default=False,
    ),
]
Threshold = Annotated[
    float,
    typer.Option("--threshold", min=0.0, max=1.0, metavar="P", help="Use links more probable than this."),
]
Pos = Annotated[
    PosFilter,
    typer.Option("--pos", help="Use links between any words, words of like part of speech, or of the same."),
]
TargetFormat = Annotated[
    FileFormat | None, typer.Option("--target-format", help="What TARGET is. By its name if not given.")
]
Surface = Annotated[
    bool,
    typer.Option("--surface", help="Links count multiword tokens of CoNLL-U as one, as they are written."),
]
Discontinuous = Annotated[
    OnDiscontinuous,
    typer.Option("--discontinuous", help="What to keep of a span whose target words lie apart."),
]
Gap = Annotated[
    int, typer.Option("--gap", min=0, metavar="N", help="Words without links that a span may bridge.")
]
ReportFile = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Also write a JSON object for each pair: what happened."),
]


def as_conllu(choice: FileFormat | None, path: str) -> bool:
    """Whether a file is CoNLL-U: as told, otherwise by its name."""
    from dualign.text.conllu import is_conllu

    return is_conllu(path) if choice is None else choice is FileFormat.CONLLU


def write(
    results: Iterable[tuple[Any, Counter[str]]],
    put: Callable[[TextIO, Any], object],
    output: str,
    report: str | None,
    verb: str,
    quiet: bool,
) -> None:
    """Write results as they come, with their counts to the report, and say the sum of the counts."""
    if report is not None and report == output:
        raise UsageError("--report and --output name the same file; give each its own")
    total: Counter[str] = Counter()
    pairs = 0
    with ExitStack() as stack:
        stream = stack.enter_context(open_output(output))
        counts_stream = stack.enter_context(open_output(report)) if report is not None else None
        for pairs, (result, counts) in enumerate(counted(results, verb, output=output, quiet=quiet), 1):
            put(stream, result)
            total.update(counts)
            if counts_stream is not None:
                counts_stream.write(json.dumps({"line": pairs, **counts}) + "\n")
    if not quiet:
        found = ", ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in total.items())
        say(f"{pairs:,} sentence pairs" + (f": {found}" if found else ""))
