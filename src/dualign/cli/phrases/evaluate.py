"""`dualign phrases evaluate`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from dualign.cli.options import Errors, LinkFormat, OnErrors, Quiet, one_standard_input
from dualign.cli.phrases.files import MaxLength
from dualign.core.errors import DataError, UsageError
from dualign.text.alignment import Alignment
from dualign.text.formats import read_links
from dualign.text.pairs import read_pairs
from dualign.text.streams import open_output

if TYPE_CHECKING:
    from dualign.measure.phrase_quality import PhraseEvaluation
    from dualign.phrase.alignment.weighted import PhraseLink


def evaluate(
    answer: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER",
            help="Links, whose phrase pairs are extracted; with --phrases, what `phrases align` wrote.",
            show_default=False,
        ),
    ],
    gold: Annotated[
        str, typer.Argument(metavar="GOLD", help="Gold links, sure and possible.", show_default=False)
    ],
    phrases: Annotated[
        bool, typer.Option("--phrases", help="ANSWER has phrase links i:j-k:l, which are taken as they are.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; rates are fractions, not per cent.")
    ] = False,
    max_length: MaxLength = 7,
    tight: Annotated[
        bool, typer.Option("--tight", help="Count only phrase pairs whose edge words have gold links.")
    ] = False,
    source: Annotated[
        str | None, typer.Option("--source", metavar="FILE", help="Source text of GOLD, for its lengths.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="FILE", help="Target text of GOLD, for its lengths.")
    ] = None,
    first: Annotated[
        bool,
        typer.Option("--first", help="GOLD is for the first lines of ANSWER; ignore the rest of ANSWER."),
    ] = False,
    format: LinkFormat = None,
    gold_format: Annotated[
        str | None, typer.Option("--gold-format", metavar="FORMAT", help="The same for GOLD.")
    ] = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Compare phrase pairs with those of gold links: precision, recall and F1.

    Possible links may be cut by a phrase pair, sure ones may not; words without links may stand at an edge.
    Without the texts, a sentence ends with its last word that has a link.
    """
    one_standard_input(answer, gold, source, target)
    if (source is None) != (target is None):
        raise UsageError("--source and --target go together; give both")

    from dualign.measure.phrase_quality import evaluate_phrases, phrases_of_links
    from dualign.phrase.alignment.forced import read_alignments

    references = list(read_links(gold, gold_format, errors))
    links = [] if phrases else list(read_links(answer, format, errors))
    given = list(read_alignments(answer, errors)) if phrases else []
    count = len(given) if phrases else len(links)
    if count != len(references) and not (first and count > len(references)):
        raise DataError(
            f"{answer} has {count} sentence pairs but {gold} has {len(references)}; both must be of the same "
            "pairs (or use --first if gold is for the first ones)"
        )
    if source is not None and target is not None:
        lengths = [(len(s), len(t)) for s, t in read_pairs(source, target, errors=errors)]
        if len(lengths) < len(references):
            raise DataError(f"{source} has {len(lengths)} lines, but there are {len(references)} gold pairs")
    else:
        lengths = list(map(_ends, references, given or links))
    number = len(references)
    try:
        pairs: Sequence[Iterable[PhraseLink]] = given[:number]
        if not phrases:
            pairs = phrases_of_links(links[:number], lengths[:number], max_length=max_length)
        result = evaluate_phrases(pairs, references, lengths[:number], max_length=max_length, tight=tight)
    except DataError as error:
        raise DataError(f"{answer} with {gold}: {error}") from None
    with open_output("-") as stream:
        stream.write(json.dumps(result.as_dict()) + "\n" if as_json else _text(result))


def _ends(gold: Alignment, answer: Alignment | list[PhraseLink]) -> tuple[int, int]:
    """How far the links of a sentence pair reach, on both sides."""
    ends = [(i + 1, j + 1) for i, j in chain(gold.links, gold.possible)]
    if isinstance(answer, Alignment):
        ends += [(i + 1, j + 1) for i, j in answer.links]
    else:
        ends += [(j, l) for _, j, _, l in answer]
    return max((i for i, _ in ends), default=0), max((j for _, j in ends), default=0)


def _text(result: PhraseEvaluation) -> str:
    """Lines for people; rates are per cent."""
    return (
        f"precision  {100 * result.precision:6.2f}\n"
        f"recall     {100 * result.recall:6.2f}\n"
        f"F1         {100 * result.f1:6.2f}\n\n"
        f"{result.phrases} phrase pairs, {result.right} of them possible; {result.found} of {result.sure} "
        f"sure ones found; {result.pairs} sentence pairs\n"
    )
