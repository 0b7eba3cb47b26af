"""`dualign remap`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dualign.cli.exits import say
from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.progress import counted
from dualign.text.streams import open_output


class Kind(StrEnum):
    """What links are about; see `dualign.transfer.tokens.SCHEMES` and `dualign.transfer.remapping.UNITS`."""

    WORDS = "words"
    SENTENCEPIECE = "sentencepiece"
    WORDPIECE = "wordpiece"
    BPE = "bpe"
    CHARACTERS = "characters"
    BYTES = "bytes"
    UTF16 = "utf16"


def _side(side: str, what: str) -> typer.models.OptionInfo:
    text = f"{side.capitalize()} tokens (or text, for offsets) that the {what} links are about."
    return typer.Option(f"--{side}-{'from' if what == 'given' else 'to'}", metavar="FILE", help=text)


def remap(
    links: Annotated[str, typer.Argument(metavar="LINKS", help="File of links.", show_default=False)],
    output: Output = "-",
    from_: Annotated[Kind, typer.Option("--from", help="What the given links are about.")] = Kind.WORDS,
    to: Annotated[Kind, typer.Option("--to", help="What the new links are about.")] = Kind.WORDS,
    source_from: Annotated[str | None, _side("source", "given")] = None,
    source_to: Annotated[str | None, _side("source", "new")] = None,
    target_from: Annotated[str | None, _side("target", "given")] = None,
    target_to: Annotated[str | None, _side("target", "new")] = None,
    skip: Annotated[
        bool,
        typer.Option(
            "--skip", help="Where tokens and text differ, write an empty line and a note, and go on."
        ),
    ] = False,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry links between words, subwords and character offsets.

    Give the tokens before and after, of the same text. Of subwords alone, words are put together by their
    marks; a side for which neither file is given stays as it is. Offsets are `begin:end-begin:end`.
    """
    one_standard_input(links, source_from, source_to, target_from, target_to)
    from dualign.transfer.remap_files import Remapping, Side, remapped

    work = Remapping(
        links,
        from_,
        to,
        Side("source", source_from, source_to),
        Side("target", target_from, target_to),
        format,
        pairs,
        errors,
    )

    def warn(message: str) -> None:
        if not quiet:
            say(f"warning: {message}")

    skipped = 0
    with open_output(output) as stream:
        for line, problem in counted(remapped(work, warn), "remap", output=output, quiet=quiet):
            if problem is not None:
                if not skip:
                    raise problem
                skipped += 1
                if not quiet:
                    say(f"skipped: {problem}")
            stream.write(line + "\n")
    if skipped and not quiet:
        say(f"{skipped:,} {'line was' if skipped == 1 else 'lines were'} left empty: tokens and text differ")
