"""`dualign show`: sentence pairs and their links in the terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from dualign._core.errors import UsageError
from dualign._core.fields import bundle, opt
from dualign._core.files.streams import open_output, plain_name
from dualign.commands.bundles import SHOWN, Computing, columns, output, read_all
from dualign.commands.command import Command
from dualign.commands.console import Reporter
from dualign.show.dataset import Files
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from rich.console import Console

    from dualign.show.dataset import Dataset


@dataclass(frozen=True)
class Show(Command):
    """Print sentence pairs with their links, in colour and as a grid."""

    shown: Files = bundle(Files, SHOWN)
    columns: str | None = columns()
    model: str | None = opt(
        None, "Saved model: its links of the pairs that are shown.", metavar="MODEL", file="in"
    )
    output: str = output()
    lines: str | None = opt(None, "Which pairs: `3`, `1-5`, `2,7,9-12`. [1-3]", metavar="N[-M][,…]")
    colour: str = opt(
        "auto", "Colours: if the output is a terminal (auto), always or never.",
        flag="--color", choices=("auto", "always", "never"),
    )  # fmt: skip
    width: int | None = opt(
        None, "Columns to use; those of the terminal if not given.", metavar="N", least=20
    )
    computing: Computing = bundle(Computing, "errors")

    def run(self, tell: Reporter) -> None:
        """Read the files and print the pairs."""
        wanted = [1, 2, 3] if self.lines is None else _numbers(self.lines)
        dataset = read_all(self.shown, self.columns, self.computing, tell)
        if self.lines is None:
            wanted = wanted[: len(dataset)]
        if max(wanted) > len(dataset):
            raise UsageError(
                "{lines=}: there is no line {last}; the text has {count}",
                lines=self.lines, last=max(wanted), count=number_of(len(dataset), "lines"),
            )  # fmt: skip
        if self.model is not None:
            dataset = self._with_model(dataset, self.model, wanted, tell)
        with open_output(self.output) as stream:
            console = self._console(stream)
            _print(console, dataset, wanted)
            if not tell.is_quiet:
                from dualign.show.terminal import legend

                console.print("   ".join(legend(gold=dataset.gold is not None)), style="dim")

    def _with_model(self, dataset: Dataset, model: str, lines: Sequence[int], tell: Reporter) -> Dataset:
        """Return the dataset with a further system: what a saved model links in the pairs of these lines."""
        from dualign.aligner import Aligner
        from dualign.commands.warming import WORD_ALIGNER, compile_kernels
        from dualign.show.dataset import System, cells_of
        from dualign.text.links import Alignment

        compile_kernels(tell.note, *WORD_ALIGNER)
        chosen = sorted({line - 1 for line in lines})
        aligner = Aligner.load(model, threads=self.computing.threads)
        links = dict(zip(chosen, aligner.align([dataset.pairs[n] for n in chosen]), strict=True))
        every = [links.get(n, Alignment()) for n in range(len(dataset))]
        mine = System(plain_name(model), every, cells_of(every))
        return replace(dataset, systems=[*dataset.systems, mine])

    def _console(self, stream: object) -> Console:
        from rich import console

        class PairConsole(console.Console):
            def on_broken_pipe(self) -> NoReturn:
                """Rich would exit with 1; the command line knows how to end quietly."""
                raise BrokenPipeError

        terminal = self.output == "-" and sys.stdout is not None and sys.stdout.isatty()
        # https://no-color.org: set to anything but nothing.
        coloured = self.colour == "always" or (
            self.colour == "auto" and terminal and not os.environ.get("NO_COLOR")
        )
        return PairConsole(
            file=stream,  # type: ignore[arg-type]
            force_terminal=coloured,
            no_color=not coloured,
            color_system="standard" if coloured else None,
            width=self.width or (None if terminal else 100),
            highlight=False,
            markup=False,
            emoji=False,
        )


def _print(console: Console, dataset: Dataset, wanted: Sequence[int]) -> None:
    from dualign.show.terminal import Shown, pair_on_terminal
    from dualign.text.links import Alignment

    for number in wanted:
        n = number - 1
        reference = None if dataset.gold is None else dataset.gold[n]
        shown = [(system.name, system.links[n], system.cells) for system in dataset.systems]
        if not shown:
            shown = [("gold", reference or Alignment(), None)]
        for name, alignment, cells in shown:
            if len(shown) > 1:
                console.print(name, style="dim")
            pair = Shown(
                number, *dataset.pairs[n], alignment,
                reference if dataset.systems else None, None if cells is None else cells[n],
            )  # fmt: skip
            for line in pair_on_terminal(pair, console.width):
                console.print(line, soft_wrap=len(line) > console.width)
            console.print()


def _numbers(text: str) -> list[int]:
    """Return the lines that `2,7,9-12` names."""
    numbers: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,9})(?:-([0-9]{1,9}))?\s*", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high:
            raise UsageError("{lines=}: write line numbers from 1, as in 3, 1-5 or 2,7,9-12", lines=text)
        numbers += range(low, high + 1)
    return numbers
