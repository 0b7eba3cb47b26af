"""Options that several verbs share, each declared once: single ones as functions, and records of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dualign._core.errors import UsageError
from dualign._core.fields import arg, check, opt
from dualign.commands.computing import Computing
from dualign.commands.console import Reporter
from dualign.text.link_formats import FORMATS

if TYPE_CHECKING:
    from dualign.commands.plain_text import PlainText


def output(default: Any = "-", help: str = "Where to write; - is standard output.", **rules: Any) -> Any:
    """Declare the main output."""
    return opt(default, help, short="-o", **{"metavar": "FILE", "file": "out"} | rules)


def link_format(help: str = "Link format", **rules: Any) -> Any:
    """Declare the format of a file of links."""
    text = f"{help}: {', '.join(FORMATS)}. Guessed from name and content if not given."
    return opt(None, text, **{"metavar": "FORMAT"} | rules)


def gold_format() -> Any:
    """Declare the format of gold links."""
    return opt(None, "The same for GOLD.", metavar="FORMAT")


def pairs() -> Any:
    """Declare the number of sentence pairs."""
    text = "Number of sentence pairs: NAACL files do not mention the last ones without links."
    return opt(None, text, metavar="N", least=0)


def report_file(help: str = "") -> Any:
    """Declare a report of one JSON object per pair."""
    text = help or "Also write JSON for each pair: line, score, bound, certified, seconds."
    return opt(None, text, metavar="FILE", file="out")


@dataclass(frozen=True)
class BitextFiles:
    """A text of two sides: in two files, in one with both sides on each line, or in a table."""

    source: str = arg("Source text, one sentence per line; or both sides: see TARGET.", file="in")
    target: str | None = arg(
        "Target text. Without it, SOURCE has lines `source ||| target` or `source<TAB>target`.",
        None,
        file="in",
    )
    columns: str | None = opt(
        None, "Columns of a table (TSV, CSV, JSON lines, XLSX): source=2,target=3,id=1, by number or title.",
        metavar="NAME=COLUMN,…",
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)

    @contextmanager
    def plain(self, computing: Computing, tell: Reporter) -> Iterator[PlainText]:
        """Give plain files of the text, as `dualign.commands.plain_text` makes them."""
        from dualign.commands.plain_text import plain_text

        about: Any = {"errors": computing.errors, "scratch": computing.scratch, "tell": tell}
        with plain_text(self.source, self.target, columns=self.columns, **about) as text:
            yield text


@contextmanager
def plain_beside(
    source: str | None, target: str | None, computing: Computing, tell: Reporter
) -> Iterator[tuple[str | None, str | None]]:
    """Give the plain files of a text that need not be given, as with `--source` and `--target`."""
    if source is None:
        if target is not None:
            raise UsageError("{target=} needs {source=}; give both", target=..., source=...)
        yield None, None
        return
    with BitextFiles(source, target).plain(computing, tell) as text:
        yield text.source, text.target


@dataclass(frozen=True)
class Shown:
    """Where a result goes that a shell prints and Python returns."""

    output: str = output()
    as_json: bool = opt(False, "Print one JSON object; rates are fractions, not per cent.", flag="--json")

    def __post_init__(self) -> None:
        check(self)

    def write(self, text: str, json: str) -> None:
        """Write a result, given for people and for programs."""
        from dualign._core.files.streams import open_output

        with open_output(self.output) as stream:
            stream.write((json if self.as_json else text) + "\n")
