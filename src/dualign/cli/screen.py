"""What verbs that have not moved to `dualign.commands` show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dualign._core.memory import return_memory
from dualign.cli.flags import as_typed
from dualign.commands.console import Console
from dualign.jobs.running import Run


@contextmanager
def on_screen(
    quiet: bool,
    output: str = "",
    threads: int | None = None,
    errors: str = "strict",
    *,
    rate: bool = False,
    **settings: Any,
) -> Iterator[Run]:
    """Settings of a job that is shown on stderr."""
    console = Console(quiet=quiet, output=output, rate=rate)
    run = Run(threads, errors, warn=lambda text: console.warn(as_typed(text)), **settings)
    if run.memory is not None:
        return_memory()
    with console.watching():
        yield replace(
            run,
            note=lambda text: console.note(as_typed(text)),
            progress=console.progress,
            round=console.round,
            tasks=console.tasks,
        )
