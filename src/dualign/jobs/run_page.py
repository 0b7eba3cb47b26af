"""`dualign align --html-report`: keep what goes by while it is written, then write a page about it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from dualign.aligner import Aligner, alignments
from dualign.decode.links import Links
from dualign.jobs.aligning import Pair, write_report
from dualign.show.summary import About, summary_page
from dualign.text.streams import open_output


class Kept(Iterator[Links]):
    """Passes chunks of links on, and keeps them."""

    def __init__(self, links: Iterator[Links]) -> None:
        self._links = links
        self.chunks: list[Links] = []

    def __next__(self) -> Links:
        chunk = next(self._links)
        self.chunks.append(chunk)
        return chunk


def write_page(path: str, pairs: Sequence[Pair], kept: Kept, aligner: Aligner) -> None:
    """Write the page about a run that has aligned these pairs."""
    report = io.StringIO()
    line = 0
    for chunk in kept.chunks:
        write_report(chunk, line, 0.0, report)
        line += len(chunk)
    options = aligner.options
    shown = ("model", "constraint", "projection", "decoder", "threshold")
    facts = {name: str(getattr(options, name)) for name in shown} | {"dualign": version("dualign")}
    about = About("Word alignment", aligner.history, report.getvalue().splitlines(), facts)
    found = [alignment for chunk in kept.chunks for alignment in alignments(chunk)]
    with open_output(path) as stream:
        stream.write(summary_page(pairs, found, about))
