"""`dualign phrases extract`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli import options
from dualign.cli.options import argument, option
from dualign.cli.phrases.options import MaxLength
from dualign.cli.screen import on_screen
from dualign.text.checks import number_of


def extract(
    files: Annotated[
        list[str],
        argument(
            "SOURCE [TARGET] LINKS",
            "Two parallel files, or one with both sides; links of each line, as `align` writes.",
        ),
    ],
    columns: options.Columns = None,
    output: options.Output = "-",
    reordering: Annotated[str | None, option("FILE", "Also write a reordering table (wbe-msd).")] = None,
    dictionary: Annotated[
        str | None, option("PREFIX", "Also write word translations, PREFIX.s2t and PREFIX.t2s.")
    ] = None,
    max_length: MaxLength = 7,
    scratch: Annotated[str | None, option("DIR", "For temporary files, 40 kB per sentence pair.")] = None,
    format: options.LinkFormat = None,
    cluster: options.Cluster = None,
    work: options.Work = None,
    threads: options.Threads = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Extract phrase pairs from linked text, and write a Moses phrase table.

    The table is sorted, and compressed if its name ends in .gz, .bz2, .xz or .zst. Memory does not grow with
    the text.
    """
    if not 2 <= len(files) <= 3:
        raise UsageError(
            f"{number_of(len(files), 'files')} named; write SOURCE TARGET LINKS, or BITEXT LINKS"
        )
    source, *others, links = files
    with (
        on_screen(quiet, output, threads, errors, cluster=cluster, work=work) as run,
        jobs.plain_text(source, *others, columns=columns, run=run) as text,
    ):
        jobs.extract_phrases(
            jobs.LinkedText(text.source, text.target, links, format),
            output,
            reordering=reordering,
            dictionary=dictionary,
            max_length=max_length,
            scratch=scratch,
            run=run,
        )
