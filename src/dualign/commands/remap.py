"""`dualign remap`: links on other tokens of the same text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dualign._core.fields import arg, bundle, opt
from dualign._core.files.streams import open_output
from dualign.commands.bundles import Computing, link_format, output, pairs
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.text.checks import number_of
from dualign.transfer.remapping import UNITS, Remapping, Side, remapped
from dualign.transfer.tokens import SCHEMES

KINDS = (*SCHEMES, *UNITS)


def _tokens(side: str, what: str) -> Any:
    text = f"{side} tokens (or text, for offsets) that the {what} links are about."
    return opt(None, text, metavar="FILE", file="in")


@dataclass(frozen=True)
class Remap(Command):
    """Carry links between words, subwords and character offsets.

    Give the tokens before and after, of the same text. Of subwords alone, words are put together by their
    marks; a side for which neither file is given stays as it is. Offsets are `begin:end-begin:end`.
    """

    links: str = arg("File of links.", file="in")
    output: str = output()
    from_: str = opt("words", "What the given links are about.", choices=KINDS)
    to: str = opt("words", "What the new links are about.", choices=KINDS)
    source_from: str | None = _tokens("Source", "given")
    source_to: str | None = _tokens("Source", "new")
    target_from: str | None = _tokens("Target", "given")
    target_to: str | None = _tokens("Target", "new")
    skip: bool = opt(False, "Where tokens and text differ, write an empty line and go on.")
    format: str | None = link_format()
    pairs: int | None = pairs()
    computing: Computing = bundle(Computing, "errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.work()

    def work(self) -> Remapping:
        """Return what is carried where, checked."""
        sides = Side(self.source_from, self.source_to), Side(self.target_from, self.target_to)
        return Remapping(self.links, self.from_, self.to, *sides, self.format, self.pairs)

    def run(self, tell: Reporter) -> int:
        """Carry links, line by line; return how many lines were skipped."""
        skipped = 0
        lines = remapped(self.work(), tell.warn, self.computing.errors)
        with open_output(self.output) as stream:
            for line, problem in tell.counted(lines, "remap"):
                if problem is not None:
                    if not self.skip:
                        raise problem
                    skipped += 1
                    tell.note(f"skipped: {problem}")
                stream.write(line + "\n")
        if skipped:
            were = "was" if skipped == 1 else "were"
            tell.note(f"{number_of(skipped, 'lines')} {were} left empty: tokens and text differ")
        return skipped
