"""Texts beside the one that a command is about: to tune on, to learn from, to check sizes by."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dualign import jobs

if TYPE_CHECKING:
    from dualign.jobs.gold_tuning import Tuning
    from dualign.jobs.knowledge import Knowledge
    from dualign.jobs.running import Run


@contextmanager
def plain_beside(source: str | None, target: str | None, run: Run) -> Iterator[tuple[str | None, str | None]]:
    """The plain files of a text of any kind (`dualign.jobs.plain_text`) that need not be given."""
    if source is None:
        yield None, None
        return
    with jobs.plain_text(source, target, run=run) as text:
        yield text.source, text.target


@contextmanager
def plain_for_training(
    tuning: Tuning | None, known: Knowledge, run: Run
) -> Iterator[tuple[Tuning | None, Knowledge]]:
    """The same settings, with plain files of the text to tune on and of the background."""
    own: tuple[str | None, str | None] = (None, None) if tuning is None else (tuning.source, tuning.target)
    others: tuple[str | None, str | None] = (None, None) if known.background is None else known.background
    with plain_beside(*own, run) as text, plain_beside(*others, run) as other:
        if tuning is not None:
            tuning = replace(tuning, source=text[0], target=text[1])
        if other[0] is not None and other[1] is not None:
            known = replace(known, background=(other[0], other[1]))
        yield tuning, known
