"""`plain_text` with a `Run`."""

from __future__ import annotations

from contextlib import AbstractContextManager

from dualign.commands.plain_text import PlainText
from dualign.commands.plain_text import plain_text as plain_text_of
from dualign.jobs.running import SILENT, Run
from dualign.text.text_files import TextFiles


def plain_text(
    source: str,
    target: str | None = None,
    *,
    columns: str | None = None,
    model: str | None = None,
    run: Run = SILENT,
) -> AbstractContextManager[PlainText]:
    """Give the text of one or two files as plain files; those that are plain already stay.

    A copy is made of a table with `columns`, and of text for a `model` whose own text was cut by a tokeniser,
    which is cut in the same way.
    """
    text = TextFiles(source, target, columns, errors=run.errors)
    return plain_text_of(text, model, run.scratch, run.reporter)
