"""`plain_text` with a `Run`."""

from __future__ import annotations

from contextlib import AbstractContextManager

from dualign.commands import plain_text as plain
from dualign.commands.console import Reporter
from dualign.commands.plain_text import PlainText as PlainText
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
    """The text of one or two files of any kind, as plain files: see `dualign.commands.plain_text`."""
    text = TextFiles(source, target, columns, errors=run.errors)
    return plain.plain_text(text, model, run.scratch, Reporter(run.note))
