"""`Run`: settings and callbacks of the functions of `dualign.jobs`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualign.hmm.training import Progress


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """Settings that all jobs share. The callbacks do nothing unless given, except `warn`, which logs."""

    threads: int | None = None
    """Threads to compute with, all processors if None; the result is the same."""
    errors: str = "strict"
    """Bytes that are not UTF-8: `strict` refuses them, `replace` reads U+FFFD."""
    note: Callable[[str], None] = _ignore
    """Called with each message for the user."""
    progress: Callable[[int, str], None] = _ignore
    """Called as `progress(done, what)` after each line, or several; `done` is 0 when the work begins."""
    round: Callable[[Progress], None] = _ignore
    """Called after each round of training."""
    warn: Callable[[str], None] = logging.getLogger("dualign").warning
    """Called when the result is probably not what was wanted."""
    memory: int | str | None = None
    """How much memory to use, in bytes or as `4G`; what does not fit lies in scratch files. The result is the
    same. By default, most of what the machine has."""
    scratch: str | None = None
    """The folder for scratch files."""
    device: str = "cpu"
    """Where `align` and `train` compute: `cpu`, `cuda` for a graphics card, or `auto` for one if there is."""
    device_memory: int | str | None = None
    """How much of the card's memory to use, in bytes or as `8G`; by default, most of what is free."""
    profile: str | None = None
    """A file to write, as JSON, where the time went, phase by phase, and how much memory it took."""
    cluster: str | None = None
    """A Dask cluster: the address of its scheduler, its file, or `local:4`, workers on this machine; the
    result is the same."""
    work: str | None = None
    """A folder that all machines of the cluster share: what is done there need not be done again."""
    tasks: Callable[[str, int, int, int], None] = _ignore
    """Called as `tasks(what, done, all, bytes written)` while a cluster works."""

    def __repr__(self) -> str:
        changed = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return f"Run({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"


SILENT = Run()
"""The default settings, without callbacks."""
