"""`dualign transfer tags`."""

from __future__ import annotations

from typing import Annotated, TextIO

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Output, Pairs, Quiet, one_standard_input
from dualign.cli.transfer.options import (
    Discontinuous,
    FileFormat,
    Gap,
    LinksFile,
    OnDiscontinuous,
    Pos,
    PosFilter,
    ReportFile,
    Surface,
    Target,
    TargetFormat,
    Threshold,
    as_conllu,
    write,
)
from dualign.core.errors import UsageError


def tags(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="CoNLL-U, or lines of tags, one for each word.", show_default=False
        ),
    ],
    target: Target,
    links: LinksFile,
    output: Output = "-",
    column: Annotated[
        str,
        typer.Option(
            "--column",
            metavar="NAME",
            help="Where CoNLL-U has the tags: upos, xpos, lemma, feats, or an attribute in MISC such as NER.",
        ),
    ] = "upos",
    bio: Annotated[
        bool, typer.Option("--bio", help="Tags are BIO (B-PER I-PER O): carry whole spans.")
    ] = False,
    discontinuous: Discontinuous = OnDiscontinuous.LARGEST,
    gap: Gap = 2,
    default: Annotated[
        str, typer.Option("--default", metavar="TAG", help="Tag of words that get none (without --bio).")
    ] = "_",
    threshold: Threshold = 0.0,
    pos: Pos = PosFilter.ANY,
    surface: Surface = False,
    source_format: Annotated[
        FileFormat | None, typer.Option("--source-format", help="What SOURCE is. By its name if not given.")
    ] = None,
    target_format: TargetFormat = None,
    report: ReportFile = None,
    format: LinkFormat = None,
    pairs: Pairs = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Carry the tags of words from a source to its translation.

    A word gets the tag that most of its links, by probability, stand for. The output is CoNLL-U if SOURCE or
    TARGET is, otherwise a line of tags for each line.
    """
    one_standard_input(source, target, links)
    from dualign.text.conllu import Sentence, write_sentence
    from dualign.transfer import runs
    from dualign.transfer.sentences import Settings, as_column

    is_conllu = as_conllu(source_format, source), as_conllu(target_format, target)
    if pos is not PosFilter.ANY and not all(is_conllu):
        raise UsageError(
            "--pos compares parts of speech, which only CoNLL-U has; give SOURCE and TARGET as such"
        )
    if default.split() != [default]:
        raise UsageError(f"--default `{default}` is no tag: it is empty or has blanks")
    column = as_column(column)
    if bio and any(is_conllu) and column == "upos":
        raise UsageError("BIO tags are no parts of speech; say where CoNLL-U has them, as in --column NER")
    files = runs.Files(source, target, links, *is_conllu, format, pairs, errors)
    how = runs.TagSettings(column, bio, discontinuous, gap, default)

    def put(stream: TextIO, result: Sentence | list[str]) -> None:
        if isinstance(result, Sentence):
            write_sentence(stream, result)
        else:
            stream.write(" ".join(result) + "\n")

    write(runs.tags(files, Settings(threshold, pos, surface), how), put, output, report, "transfer", quiet)
