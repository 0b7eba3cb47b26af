"""`dualign summarize`: a page about aligned text."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dualign._core.errors import UsageError
from dualign._core.fields import bundle
from dualign._core.files.streams import named, open_output, plain_name
from dualign.commands.bundles import Computing, columns, output, plain_files, read_all
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.show.dataset import Files


@dataclass(frozen=True)
class Summarize(Command):
    """Write a page about aligned text: statistics and dictionary.

    Links, of one system, may come from any aligner. `dualign align --html-report` writes the same page about
    its own run, with the objective of each round.
    """

    shown: Files = bundle(Files, "source target links probabilities reports format")
    columns: str | None = columns()
    output: str = output()
    computing: Computing = bundle(Computing, "errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        if max(len(self.shown.links), len(self.shown.probabilities)) != 1:
            raise UsageError(
                "the page is about one system; give {links=} or {probabilities=} once",
                links=..., probabilities=...,
            )  # fmt: skip

    def run(self, tell: Reporter) -> None:
        """Read the files, and write the page."""
        from dualign.show.summary import About, summary_page

        with plain_files(self.shown, self.columns, self.computing, tell) as files:
            dataset = read_all(files, self.computing)
        system = dataset.systems[0]
        alignments = list(system.links)
        if system.cells is not None:
            alignments = [
                replace(each, probabilities=tuple(cells.get(link, float("nan")) for link in each.links))
                for each, cells in zip(alignments, system.cells, strict=True)
            ]
        links = (*files.links, *files.probabilities)[0]
        given = {"source": files.source, "target": files.target, "links": links}
        facts = {name: plain_name(named(path)[1]) for name, path in given.items() if path is not None}
        title = f"{dataset.names[0]} – {dataset.names[1]}: {system.name}"
        about = About(title, records=system.records or (), facts=facts)
        with open_output(self.output) as stream:
            stream.write(summary_page(dataset.pairs, alignments, about))
        tell.wrote(len(dataset), "pairs", self.output)
