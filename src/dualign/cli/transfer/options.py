"""Options that the verbs of `dualign transfer` share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from dualign.cli.options import argument, flag, option


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


Target = Annotated[str, argument("TARGET", "Target: CoNLL-U, or text with one tokenised sentence per line.")]
LinksFile = Annotated[
    str,
    argument("LINKS", "Links, perhaps with probabilities, as `dualign align --probabilities` writes them."),
]
Threshold = Annotated[float, option("P", "Use links more probable than this.", min=0.0, max=1.0)]
Pos = Annotated[
    PosFilter, option(None, "Use links between words of any, of similar, or of the same part of speech.")
]
TargetFormat = Annotated[FileFormat | None, option(None, "Format of TARGET, if its name does not tell.")]
Surface = Annotated[bool, flag("--surface", "Links count multiword tokens of CoNLL-U as one.")]
Discontinuous = Annotated[OnDiscontinuous, option(None, "What to keep of a span in several pieces.")]
Gap = Annotated[int, option("N", "Words without links that a span may bridge.", min=0)]
ReportFile = Annotated[str | None, option("FILE", "Also write a JSON object for each pair: what happened.")]


def is_conllu(choice: FileFormat | None) -> bool | None:
    """Whether a file is CoNLL-U; None if its name decides."""
    return None if choice is None else choice is FileFormat.CONLLU
