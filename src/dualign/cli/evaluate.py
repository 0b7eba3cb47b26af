"""`dualign evaluate`."""

from __future__ import annotations

from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import open_output
from dualign.cli import options
from dualign.cli.beside import plain_beside
from dualign.cli.options import argument, flag, option
from dualign.cli.screen import on_screen
from dualign.options import RARE
from dualign.text.checks import number_of


def evaluate(
    files: Annotated[
        list[str], argument("LINKS [OTHER] GOLD", "One or two files of links; gold links, sure and possible.")
    ],
    output: options.Output = "-",
    as_json: options.AsJson = False,
    format: options.LinkFormat = None,
    gold_format: options.GoldFormat = None,
    swap: Annotated[bool, flag("--swap", "LINKS are written target word first.")] = False,
    first: Annotated[bool, flag("--first", "GOLD is for the first lines of LINKS; ignore the rest.")] = False,
    bootstrap: Annotated[int, option("N", "Resamples for AER's interval; 0 for none.", min=0)] = 1000,
    seed: Annotated[int, option("N", "Seed of the resampling.", min=0)] = 1,
    source: Annotated[
        str | None, option("FILE", "Source text of LINKS, or bitext, all lines; rare words are counted here.")
    ] = None,
    target: Annotated[str | None, option("FILE", "Target text of LINKS, all its lines.")] = None,
    rare: Annotated[int | None, option("N", f"The most occurrences of a rare word ({RARE}).", min=0)] = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Compare links with gold links: AER, precision, recall and F1.

    The interval around AER holds 95 % of its values when the sentence pairs are resampled. With the texts,
    links of rare words and links of common words are scored apart as well. With two files of links, the
    difference between them gets an interval, and p: how likely it would be by chance.
    """
    if not 2 <= len(files) <= 3:
        raise UsageError(
            f"{number_of(len(files), 'files')} named; write LINKS GOLD, or LINKS OTHER GOLD to compare two"
        )
    links, *others, gold = files
    if target is not None and source is None:
        raise UsageError("--target needs --source; give both")
    if rare is not None and source is None:
        raise UsageError("--rare needs the words; give --source and --target too")
    read = jobs.LinkFile(links, format, swap), jobs.LinkFile(gold, gold_format)
    if others and source is not None:
        raise UsageError("rare words are counted for one file of links; leave out --source and --target")
    report: jobs.Report | jobs.PairedReport
    with (
        kept_apart(),
        on_screen(quiet, "", None, errors) as run,
        plain_beside(source, target, run) as (left, right),
    ):
        words = None if left is None else jobs.Words(left, right, RARE if rare is None else rare)
        if others:
            three = read[0], jobs.LinkFile(others[0], format), read[1]
            report = jobs.compare(*three, only_first=first, bootstrap=bootstrap, seed=seed, run=run)
        else:
            report = jobs.evaluate(*read, first=first, bootstrap=bootstrap, seed=seed, words=words, run=run)
        with open_output(output) as stream:
            stream.write((report.as_json() if as_json else report.as_text()) + "\n")
