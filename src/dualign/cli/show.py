"""`dualign show`."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

from dualign._core.errors import UsageError
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import open_output
from dualign.cli.options import Columns, Errors, LinkFormat, OnErrors, Output, Quiet, Source, Target, option
from dualign.cli.screen import on_screen
from dualign.cli.showing import First, Gold, GoldFormat, Links, Probabilities
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.show.dataset import Dataset


class Colour(StrEnum):
    """When to write colours."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def show(
    source: Source,
    target: Target = None,
    columns: Columns = None,
    links: Links = None,
    gold: Gold = None,
    probabilities: Probabilities = None,
    model: Annotated[
        str | None, option("MODEL", "Saved model: its links of the pairs that are shown.", "--model")
    ] = None,
    output: Output = "-",
    lines: Annotated[str | None, option("N[-M][,…]", "Which pairs: `3`, `1-5`, `2,7,9-12`. [1-3]")] = None,
    colour: Annotated[
        Colour, option(None, "Colours: if the output is a terminal (auto), always or never.", "--color")
    ] = Colour.AUTO,
    width: Annotated[
        int | None, option("N", "Columns to use; those of the terminal if not given.", min=20)
    ] = None,
    format: LinkFormat = None,
    gold_format: GoldFormat = None,
    first: First = False,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Print sentence pairs with their links, in colour and as a grid."""
    wanted = [1, 2, 3] if lines is None else _numbers(lines)
    from dualign.jobs import ShownFiles, plain_text
    from dualign.jobs.viewing import read_all, with_model

    systems = links or (), probabilities or ()
    with kept_apart(), on_screen(quiet, output, None, errors) as run:
        with plain_text(source, target, columns=columns, run=run) as text:
            files = ShownFiles(text.source, text.target, *systems, (), gold, format, gold_format, first)
            dataset = read_all(files, run)
        if lines is None:
            wanted = wanted[: len(dataset)]
        if max(wanted) > len(dataset):
            raise UsageError(
                f"--lines {lines}: there is no line {max(wanted)}; the text has "
                f"{number_of(len(dataset), 'lines')}"
            )
        if model is not None:
            dataset = with_model(dataset, model, wanted, run)
        _print(dataset, wanted, output, colour, width, quiet)


def _print(
    dataset: Dataset, wanted: list[int], output: str, colour: Colour, width: int | None, quiet: bool
) -> None:
    from rich.console import Console as RichConsole

    from dualign.show.terminal import Shown, legend, pair_on_terminal
    from dualign.text.links import Alignment

    terminal = output == "-" and sys.stdout is not None and sys.stdout.isatty()
    # https://no-color.org: set to anything but nothing.
    coloured = colour is Colour.ALWAYS or (
        colour is Colour.AUTO and terminal and not os.environ.get("NO_COLOR")
    )

    class Console(RichConsole):
        def on_broken_pipe(self) -> NoReturn:
            """Rich would exit with 1; the command line knows how to end quietly."""
            raise BrokenPipeError

    with open_output(output) as stream:
        console = Console(
            file=stream,
            force_terminal=coloured,
            no_color=not coloured,
            color_system="standard" if coloured else None,
            width=width or (None if terminal else 100),
            highlight=False,
            markup=False,
            emoji=False,
        )
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
        if not quiet:
            console.print("   ".join(legend(gold=dataset.gold is not None)), style="dim")


def _numbers(text: str) -> list[int]:
    """The lines that `2,7,9-12` names."""
    numbers: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        fits = low.isascii() and low.isdigit() and (not dash or (high.isascii() and high.isdigit()))
        if not fits or len(low) > 9 or len(high) > 9 or int(low) < 1 or (dash and int(high) < int(low)):
            raise UsageError(f"--lines {text}: write line numbers from 1, as in 3, 1-5 or 2,7,9-12")
        numbers += range(int(low), int(high or low) + 1)
    return numbers
