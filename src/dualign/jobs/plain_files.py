"""`plain_text` with a `Run`."""

from __future__ import annotations

from contextlib import AbstractContextManager

from dualign.commands import plain_text as plain
from dualign.commands.console import Reporter
from dualign.commands.plain_text import PlainText as PlainText
from dualign.commands.plain_text import names_of as names_of
from dualign.jobs.running import SILENT, Run


def plain_text(
    source: str,
    target: str | None = None,
    *,
    columns: str | None = None,
    model: str | None = None,
    run: Run = SILENT,
) -> AbstractContextManager[PlainText]:
    """The text of one or two files of any kind, as plain files: see `dualign.commands.plain_text`."""
    return plain.plain_text(
        source,
        target,
        columns=columns,
        model=model,
        errors=run.errors,
        scratch=run.scratch,
        tell=Reporter(run.note),
    )
