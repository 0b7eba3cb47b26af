"""Options that several verbs share: one name, one meaning, one help text."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from dualign._core.errors import UsageError
from dualign.text.link_formats import FORMATS


class OnErrors(StrEnum):
    """What to do about bytes that are not UTF-8; the values are those of `dualign.text.utf8.read_lines`."""

    STRICT = "strict"
    REPLACE = "replace"


def option(metavar: str | None, help: str, flags: str = "", **more: Any) -> Any:
    """An option with a value, called like its parameter unless there are `flags`, with blanks between.

    Where the `metavar` is the parameter's name, give the flag: some versions of Typer would write it large.
    """
    return typer.Option(*flags.split(), metavar=metavar, help=help, **more)


def flag(flags: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(*flags.split(), help=help)


def argument(metavar: str, help: str) -> Any:
    """A positional argument."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Quiet = Annotated[bool, flag("--quiet -q", "Show no progress and no notes on stderr.")]
Threads = Annotated[int | None, option("N", "Number of threads; it does not change the result.", min=1)]
Device = Annotated[
    str,
    option("cpu|cuda|auto", "Where to compute: the processor, a graphics card, or a card if there is one."),
]
DeviceMemory = Annotated[str | None, option("SIZE", "Memory of the card to use, such as 8G.")]
Memory = Annotated[
    str | None, option("SIZE", "Memory to use, such as 4G; what does not fit goes to scratch files.")
]
Scratch = Annotated[str | None, option("DIR", "Folder for scratch files.")]
Cluster = Annotated[
    str | None,
    option("ADDRESS", "Compute on a Dask cluster: tcp://scheduler:8786, a scheduler file, or local:4."),
]
Work = Annotated[
    str | None, option("DIR", "With --cluster: a folder that all its machines share, to go on from.")
]
Profile = Annotated[
    str | None,
    option("FILE", "Also write a JSON profile: where the time went, and how much memory was used."),
]
Errors = Annotated[OnErrors, option(None, "Bytes that are not UTF-8: stop, or replace them by U+FFFD.")]
AsJson = Annotated[bool, flag("--json", "Print one JSON object; rates are fractions, not per cent.")]

Source = Annotated[str, argument("SOURCE", "Source text, one sentence per line; or both sides: see TARGET.")]
Target = Annotated[
    str | None,
    argument(
        "[TARGET]", "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`."
    ),
]
Columns = Annotated[
    str | None,
    option(
        "NAME=COLUMN,…",
        "Columns of a table (TSV, CSV, JSON lines, XLSX): source=2,target=3,id=1, by number or title.",
        "--columns",
    ),
]
LinksFile = Annotated[str, argument("LINKS", "File of links.")]
GoldFile = Annotated[str, argument("GOLD", "Gold links, sure and possible.")]

Output = Annotated[str, option("FILE", "Where to write; - is standard output.", "--output -o")]


def named_once(argument: str | None, output: str | None, what: str) -> str:
    """The output that was named as an argument or with -o."""
    if argument is not None and output is not None:
        raise UsageError(f"{what} is named twice, {argument} and -o {output}; name it once")
    if argument is None and output is None:
        raise UsageError(f"no {what}; name it with -o {what}")
    return argument if argument is not None else str(output)


Report = Annotated[
    str | None, option("FILE", "Also write JSON for each pair: line, score, bound, certified, seconds.")
]
LinkFormat = Annotated[
    str | None,
    option(
        "FORMAT",
        f"Link format: {', '.join(FORMATS)}. Guessed from name and content if not given.",
        "--format",
    ),
]
GoldFormat = Annotated[str | None, option("FORMAT", "The same for GOLD.")]
Pairs = Annotated[
    int | None,
    option("N", "Number of sentence pairs: NAACL files do not mention the last ones without links.", min=0),
]


def _positive(time_limit: float | None) -> float | None:
    if time_limit is not None and not time_limit > 0:
        raise UsageError(f"--time-limit {time_limit}: must be more than 0 seconds")
    return time_limit


TimeLimit = Annotated[
    float | None, option("SECONDS", "For each pair; none if not given.", callback=_positive)
]
