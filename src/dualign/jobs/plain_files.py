"""`plain_text` with a `Run`."""

from __future__ import annotations

from contextlib import AbstractContextManager

from dualign.commands.plain_text import PlainText
from dualign.commands.plain_text import plain_text as plain_text_of
from dualign.jobs.running import SILENT, Run


def plain_text(
    source: str,
    target: str | None = None,
    *,
    columns: str | None = None,
    model: str | None = None,
    run: Run = SILENT,
) -> AbstractContextManager[PlainText]:
    """Give the text of one or two files of any kind as plain files; those that are plain already stay.

    A single file may be TSV, CSV, JSON lines or XLSX, with `columns`; of a pair of files, either may be
    CoNLL-U. Text for a `model` whose own text was cut by a tokeniser is cut in the same way.
    """
    about = {"columns": columns, "model": model, "errors": run.errors, "scratch": run.scratch}
    return plain_text_of(source, target, tell=run.reporter, **about)  # type: ignore[arg-type]
