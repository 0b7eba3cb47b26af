"""`dualign dictionary`."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

from dualign import jobs
from dualign._core.errors import UsageError
from dualign.cli.options import Columns, Errors, OnErrors, Output, Quiet, Threads, argument, option
from dualign.cli.screen import on_screen


def dictionary(
    given: Annotated[str, argument("MODEL|LINKS", "A saved model, or a file of links with its text.")],
    output: Output = "-",
    source: Annotated[str | None, option("FILE", "Source text of the links, or bitext.")] = None,
    target: Annotated[str | None, option("FILE", "Target text of the links.")] = None,
    columns: Columns = None,
    form: Annotated[
        str,
        option(
            "tsv|lex|shortlist|eflomal",
            "A glossary; FILE.s2t and FILE.t2s as Moses' lex; `target source p`; eflomal's priors.",
            "--to",
        ),
    ] = "tsv",
    least_count: Annotated[float, option("N", "Leave out entries that are linked less often.", min=0)] = 0,
    least_probability: Annotated[
        float | None,
        option(
            "P", "Leave out less probable entries; default for a glossary: 0.05 in both directions.", min=0
        ),
    ] = None,
    relative: Annotated[
        float,
        option("R", "Leave out translations less probable than this share of the word's best one.", min=0),
    ] = 0,
    threads: Threads = None,
    errors: Errors = OnErrors.STRICT,
    quiet: Quiet = False,
) -> None:
    """Write a dictionary of words, from a model or from links.

    A glossary has counts and both probabilities; with the text, words as they are written there and the
    shortest example. A model with a text aligns it first.
    """
    if target is not None and source is None:
        raise UsageError("--target needs --source")
    if columns is not None and source is None:
        raise UsageError("--columns needs --source")
    usual = jobs.USUAL_PROBABILITY if form == "tsv" else 0.0
    least = usual if least_probability is None else least_probability
    with on_screen(quiet, output, threads, errors) as run, ExitStack() as stack:
        text = None
        if source is not None:
            plain = stack.enter_context(jobs.plain_text(source, target, columns=columns, run=run))
            text = jobs.DictionaryText(plain.source, plain.target)
        cut_offs = jobs.CutOffs(least_count, least, relative)
        count = jobs.dictionary(given, output, text=text, form=form, cut_offs=cut_offs, run=run)
        run.wrote(count, "entries", output)
