"""`Run`: settings and callbacks of the functions of `dualign.jobs`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dualign.commands.bundles import Computing
from dualign.commands.console import Reporter

if TYPE_CHECKING:
    from dualign.hmm.training import Progress


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, repr=False)
class Run(Computing):
    """Where and how to compute, and callbacks. These do nothing unless given, except `warn`, which logs."""

    note: Callable[[str], None] = _ignore
    """Called with each message for the user."""
    progress: Callable[[int, str], None] = _ignore
    """Called as `progress(done, what)` after each line, or several; `done` is 0 when the work begins."""
    round: Callable[[Progress], None] = _ignore
    """Called after each round of training."""
    warn: Callable[[str], None] = logging.getLogger("dualign").warning
    """Called when the result is probably not what was wanted."""
    tasks: Callable[[str, int, int, int], None] = _ignore
    """Called as `tasks(what, done, all, bytes written)` while a cluster works."""

    @property
    def reporter(self) -> Reporter:
        """What tells the callbacks."""
        return Reporter(self.note, self.progress, self.round, self.warn, self.tasks)


SILENT = Run()
"""The default settings, without callbacks."""
