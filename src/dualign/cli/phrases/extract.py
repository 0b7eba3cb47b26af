"""`dualign phrases extract`."""

from __future__ import annotations

from typing import Annotated

import typer

from dualign.cli.exits import say
from dualign.cli.options import (
    Errors,
    LinkFormat,
    OnErrors,
    Output,
    Quiet,
    Threads,
    one_standard_input,
    separate_outputs,
)
from dualign.cli.phrases.files import LinkedText, MaxLength, compile_kernels


def extract(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Source text.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Target text.", show_default=False)],
    links: Annotated[
        str,
        typer.Argument(metavar="LINKS", help="Links of each line, as `align` writes.", show_default=False),
    ],
    output: Output = "-",
    reordering: Annotated[
        str | None,
        typer.Option(
            "--reordering", metavar="FILE", help="Also write a reordering table (wbe-msd, both ways)."
        ),
    ] = None,
    dictionary: Annotated[
        str | None,
        typer.Option("--dictionary", metavar="PREFIX", help="Also write PREFIX.s2t and PREFIX.t2s: words."),
    ] = None,
    max_length: MaxLength = 7,
    scratch: Annotated[
        str | None,
        typer.Option(
            "--scratch", metavar="DIR", help="Where temporary files go; some 40 kB a sentence pair."
        ),
    ] = None,
    format: LinkFormat = None,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Extract phrase pairs from linked text, and write a Moses phrase table.

    The table is sorted, and compressed if its name ends in .gz, .xz or .zst. Memory does not grow with the
    text.
    """
    one_standard_input(source, target, links)
    words = [] if dictionary is None else [f"{dictionary}.s2t", f"{dictionary}.t2s"]
    separate_outputs(output, reordering, *words)

    from dualign.cli.progress import counted
    from dualign.phrase.table.building import build_table

    compile_kernels("extract", quiet)
    text = LinkedText(source, target, links, format, errors)
    built = build_table(
        counted(text, "read", output=output, quiet=quiet),
        output,
        max_length=max_length,
        reordering=reordering,
        dictionary=dictionary,
        threads=threads,
        place=f"{links}, line",
        scratch=scratch,
    )
    if not quiet:
        say(
            f"{built.phrase_pairs:,} phrase pairs, {built.instances:,} times in all, of "
            f"{built.sentence_pairs:,} sentence pairs"
        )
