"""`dualign remap`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from dualign import jobs
from dualign.cli.options import Errors, LinkFormat, LinksFile, OnErrors, Output, Pairs, Quiet, flag, option
from dualign.cli.screen import on_screen


class Kind(StrEnum):
    """What links are about; see `dualign.transfer.tokens.SCHEMES` and `dualign.transfer.remapping.UNITS`."""

    WORDS = "words"
    SENTENCEPIECE = "sentencepiece"
    WORDPIECE = "wordpiece"
    BPE = "bpe"
    CHARACTERS = "characters"
    BYTES = "bytes"
    UTF16 = "utf16"


def _side(side: str, what: str) -> Any:
    text = f"{side.capitalize()} tokens (or text, for offsets) that the {what} links are about."
    return option("FILE", text)


def remap(
    links: LinksFile,
    output: Output = "-",
    from_: Annotated[Kind, option(None, "What the given links are about.", "--from")] = Kind.WORDS,
    to: Annotated[Kind, option(None, "What the new links are about.")] = Kind.WORDS,
    source_from: Annotated[str | None, _side("source", "given")] = None,
    source_to: Annotated[str | None, _side("source", "new")] = None,
    target_from: Annotated[str | None, _side("target", "given")] = None,
    target_to: Annotated[str | None, _side("target", "new")] = None,
    skip: Annotated[
        bool, flag("--skip", "Where tokens and text differ, write an empty line and go on.")
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
    sides = jobs.Side(source_from, source_to), jobs.Side(target_from, target_to)
    work = jobs.Remapping(links, from_, to, *sides, format, pairs)
    with on_screen(quiet, output, None, errors) as run:
        jobs.remap(work, output, skip=skip, run=run)
