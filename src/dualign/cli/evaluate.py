"""`dualign evaluate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Quiet, one_standard_input
from dualign.core.errors import DataError, UsageError
from dualign.jobs.gold import Compared, LinkFile, read_with_gold
from dualign.text.pairs import read_pairs
from dualign.text.streams import open_output

if TYPE_CHECKING:
    from dualign.measure.breakdown import Breakdown

_RARE = 4  # so Graça et al. 2010: less than five times


def evaluate(
    links: Annotated[str, typer.Argument(metavar="LINKS", help="File of links.", show_default=False)],
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="Gold links, sure and possible.", show_default=False)
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; rates are fractions, not per cent.")
    ] = False,
    format: LinkFormat = None,
    gold_format: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for GOLD.")
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="GOLD is for the first lines of LINKS; ignore the rest of LINKS.")
    ] = False,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", min=0, metavar="N", help="Resamples for AER's interval; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the resampling.")] = 1,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="FILE",
            help="Source text of LINKS, all its lines; rare words are counted here.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="FILE", help="Target text of LINKS, all its lines.")
    ] = None,
    rare: Annotated[
        int | None,
        typer.Option(
            "--rare", min=0, metavar="N", help=f"A word is rare that occurs at most N times ({_RARE})."
        ),
    ] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Compare links with gold links: AER, precision, recall and F1.

    The interval around AER holds 95 % of its values when the sentence pairs are resampled. With the texts,
    links of rare words and links of common words are scored apart as well.
    """
    one_standard_input(links, gold, source, target)
    if (source is None) != (target is None):
        raise UsageError("--source and --target go together; give both")
    if rare is not None and source is None:
        raise UsageError("--rare needs the words; give --source and --target too")
    rare = _RARE if rare is None else rare

    from dualign.cli.report import Report
    from dualign.measure import bootstrap as resampling
    from dualign.measure import quality

    files = LinkFile(links, format, errors), LinkFile(gold, gold_format, errors)
    compared = read_with_gold(*files, first=first, quiet=quiet)
    evaluation = quality.evaluate(compared.links, compared.gold)
    interval = None
    if bootstrap:
        interval = resampling.confidence_interval(compared.links, compared.gold, samples=bootstrap, seed=seed)
    breakdown = None
    if source is not None and target is not None:
        breakdown = _by_frequency(compared, links, source, target, errors, rare)
    report = Report(evaluation, interval, breakdown, rare)
    with open_output("-") as stream:
        stream.write((report.as_json() if as_json else report.as_text()) + "\n")


def _by_frequency(
    compared: Compared, links: str, source: str, target: str, errors: str, rare: int
) -> Breakdown:
    """Split by the frequencies in the whole texts; of their sentences, those with gold are kept in memory."""
    from dualign.measure.breakdown import by_frequency

    frequencies: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    sentences: tuple[list[Sequence[str]], list[Sequence[str]]] = [], []
    lines = 0
    for lines, pair in enumerate(read_pairs(source, target, errors=errors), 1):
        for words, counts, kept in zip(pair, frequencies, sentences, strict=True):
            counts.update(words)
            if lines <= len(compared.gold):
                kept.append(words)
    if lines != compared.lines:
        raise DataError(
            f"{source} and {target} have {lines} lines but {links} has links for {compared.lines} sentence "
            "pairs; give the whole text that was aligned"
        )
    try:
        return by_frequency(
            compared.links,
            compared.gold,
            *sentences,
            source_frequencies=frequencies[0],
            target_frequencies=frequencies[1],
            rare=rare,
        )
    except DataError as error:
        raise DataError(f"{links} with the words of {source} and {target}: {error}") from None
