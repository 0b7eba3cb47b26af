"""`dualign compile`: kernels, before they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dualign._core.fields import opt
from dualign._core.files.streams import open_output
from dualign.commands.command import Command
from dualign.commands.console import Reporter


@dataclass(frozen=True)
class Compile(Command):
    """Compile kernels now, so that the first run need not.

    Does what the first `dualign align` would do before its work, for images of machines and for
    clusters. Prints the folder that the kernels are kept in; what is there already is not compiled again.
    """

    everything: bool = opt(False, "Also those of other decoders, phrases and translation.", flag="--all")

    def run(self, tell: Reporter) -> Path:
        """Return the folder of the kernels."""
        from dualign.commands.warming import compile_ahead

        return compile_ahead(self.everything, tell.note)

    def show(self, result: Path, tell: Reporter) -> None:
        """Print the folder."""
        with open_output("-") as stream:
            stream.write(f"{result}\n")
