"""`dualign phrases evaluate`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import open_output
from dualign.cli import options
from dualign.cli.beside import plain_beside
from dualign.cli.options import argument, flag, option
from dualign.cli.phrases.options import MaxLength
from dualign.cli.screen import on_screen

if TYPE_CHECKING:
    from dualign.measure.phrases import PhraseEvaluation


def evaluate(
    answer: Annotated[
        str,
        argument("ANSWER", "Links, whose phrases are extracted; with --phrases, what `phrases align` wrote."),
    ],
    gold: options.GoldFile,
    phrases: Annotated[bool, flag("--phrases", "ANSWER has phrase links i:j-k:l, used as they are.")] = False,
    output: options.Output = "-",
    as_json: options.AsJson = False,
    max_length: MaxLength = 7,
    tight: Annotated[bool, flag("--tight", "Count only phrases whose edge words have gold links.")] = False,
    source: Annotated[str | None, option("FILE", "Source text of GOLD, or bitext, for its lengths.")] = None,
    target: Annotated[str | None, option("FILE", "Target text of GOLD, for its lengths.")] = None,
    first: Annotated[
        bool, flag("--first", "GOLD is for the first lines of ANSWER; ignore the rest.")
    ] = False,
    format: options.LinkFormat = None,
    gold_format: options.GoldFormat = None,
    errors: options.Errors = options.OnErrors.STRICT,
    quiet: options.Quiet = False,
) -> None:
    """Compare phrase pairs with those of gold links: precision, recall and F1.

    Possible links may be cut by a phrase pair, sure ones may not; words without links may stand at an edge.
    Without the texts, a sentence ends with its last word that has a link.
    """
    if target is not None and source is None:
        raise UsageError("--target needs --source; give both")
    files = jobs.PhraseAnswer(answer, gold, phrases, format, gold_format, first)
    with (
        kept_apart(),
        on_screen(quiet, "", None, errors) as run,
        plain_beside(source, target, run) as (left, right),
    ):
        result = jobs.evaluate_phrases(
            files, source=left, target=right, max_length=max_length, tight=tight, run=run
        )
        with open_output(output) as stream:
            stream.write(json.dumps(result.as_dict()) + "\n" if as_json else _text(result))


def _text(result: PhraseEvaluation) -> str:
    """Lines for people; rates are per cent."""
    return (
        f"precision  {100 * result.precision:6.2f}\n"
        f"recall     {100 * result.recall:6.2f}\n"
        f"F1         {100 * result.f1:6.2f}\n\n"
        f"{result.phrases} phrase pairs, {result.right} of them possible; {result.found} of {result.sure} "
        f"sure ones found; {result.pairs} sentence pairs\n"
    )
