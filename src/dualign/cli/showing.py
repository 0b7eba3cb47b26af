"""Options of the verbs that show a bitext: where its text, links, gold and reports are."""

from __future__ import annotations

from typing import Annotated

from dualign.cli.options import argument, flag, option

Links = Annotated[
    list[str] | None, option("[NAME=]FILE", "Links of a system; repeat for others.", "--links -l")
]
Probabilities = Annotated[
    list[str] | None,
    option("[NAME=]FILE", "Links as `i-j:probability`, of the --links in the same place, or a system."),
]
Reports = Annotated[
    list[str] | None, option("FILE", "What `align --report` wrote, of the --links in the same place.")
]
Gold = Annotated[str | None, option("FILE", "Gold links, sure and possible.")]
GoldFormat = Annotated[str | None, option("FORMAT", "Format of the gold links.")]
First = Annotated[bool, flag("--first", "Gold is for the first lines of the text.")]
ModelFile = Annotated[
    str | None, option("MODEL", "Saved model: posteriors, before and after projection.", "--model")
]
Projection = Annotated[
    str | None, option("none|symmetric|bijective", "Projection to show; the model's own if not given.")
]
Models = Annotated[list[str] | None, option("[NAME=]MODEL", "Saved model: every link that it scores.")]
FigureFile = Annotated[str, option("FILE", "Figure to write: .svg, .pdf or .png.", "--output -o")]
Line = Annotated[int, option("N", "Which sentence pair.", min=1)]
TracedReports = Annotated[list[str], argument("[NAME=]REPORT...", "Reports whose pairs have a `trace`.")]
