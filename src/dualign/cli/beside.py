"""Texts beside the one that a command is about: to tune on, to learn from, to check sizes by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dualign import jobs

if TYPE_CHECKING:
    from dualign.jobs.running import Run


@contextmanager
def plain_beside(source: str | None, target: str | None, run: Run) -> Iterator[tuple[str | None, str | None]]:
    """The plain files of a text of any kind (`dualign.jobs.plain_text`) that need not be given."""
    if source is None:
        yield None, None
        return
    with jobs.plain_text(source, target, run=run) as text:
        yield text.source, text.target
