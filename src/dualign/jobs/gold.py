"""Links and their gold, brought to the same sentence pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from dualign.cli.exits import say
from dualign.core.errors import DataError
from dualign.text.alignment import Alignment
from dualign.text.formats import read_links


@dataclass(frozen=True, slots=True)
class LinkFile:
    """A file of links and how to read it; the fields are arguments of `read_links`."""

    path: str
    format: str | None
    errors: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The sentence pairs that have gold."""

    links: list[Alignment]
    gold: list[Alignment]
    lines: int
    """Sentence pairs of the whole file of links, those beyond the gold included."""


def read_with_gold(links: LinkFile, gold: LinkFile, *, first: bool, quiet: bool) -> Compared:
    """Read links and gold of the same sentence pairs; the files must agree in their number.

    With `first`, gold is for the first sentence pairs of `links`, and no more of them are held in memory. A
    NAACL file does not mention pairs without links, and is taken to have as many at its end as the other
    file has more; if that is the gold, a note on stderr says so unless `quiet`.
    """
    references = list(_read(gold))
    rest = _read(links)
    answers = list(islice(rest, len(references)))
    if first:
        lines = len(answers) + sum(1 for _ in rest)
    else:
        answers += rest
        lines = len(answers)
    for path, count in ((links.path, lines), (gold.path, len(references))):
        if count == 0:
            raise DataError(f"{path}: no links at all, the file is empty; was it written to the end?")
    counts = (
        f"{links.path} has links for {lines} sentence pairs but {gold.path} for {len(references)}; "
        "both must be of the same pairs"
    )
    if lines < len(references):
        answers = _filled(links, len(references), counts)
    elif lines > len(references) and not first:
        named = len(references)
        references = _filled(gold, lines, f"{counts}, or use --first if gold is for the first lines only")
        if not quiet:
            say(
                f"note: {gold.path} mentions no sentence pair after {named}; the other {lines - named} count "
                "as pairs without gold links (use --first if gold is for the first pairs only)"
            )
    return Compared(answers, references, max(lines, len(references)))


def _read(file: LinkFile, count: int | None = None) -> Iterator[Alignment]:
    return read_links(file.path, file.format, file.errors, count=count)


def _filled(file: LinkFile, count: int, complaint: str) -> list[Alignment]:
    """Read a file again that had too few sentence pairs: if it is NAACL, the reader can add empty ones.

    A pipe cannot be read twice and gets the complaint, like a file of any other format.
    """
    if os.path.isfile(file.path):
        # The file could be read a moment ago, so an error can only be about the count.
        with suppress(DataError):
            return list(_read(file, count))
    raise DataError(complaint)
