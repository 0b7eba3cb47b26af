"""Where and how a command computes: `Computing`, the settings that all have, with flags or without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dualign._core.errors import UsageError
from dualign._core.fields import OptionRecord, opt
from dualign.commands.console import Reporter

if TYPE_CHECKING:
    from dualign._core.memory import Workspace
    from dualign.engines.dask.workers import Workers

PANEL = "Computing"


@dataclass(frozen=True, repr=False)
class Computing(OptionRecord):
    """Threads, memory, devices and machines; none of them changes the result."""

    threads: int | None = opt(
        None, "Number of threads; it does not change the result.", metavar="N", least=1, panel=PANEL
    )
    errors: str = opt(
        "strict", "Bytes that are not UTF-8: stop, or replace them by U+FFFD.",
        choices=("strict", "replace"), panel=PANEL,
    )  # fmt: skip
    memory: int | str | None = opt(
        None,
        "Memory to use, such as 4G; what does not fit goes to scratch files.",
        metavar="SIZE",
        panel=PANEL,
    )
    device: str = opt(
        "cpu", "Where to compute: the processor, a graphics card, or a card if there is one.",
        choices=("cpu", "cuda", "auto"), panel=PANEL,
    )  # fmt: skip
    device_memory: int | str | None = opt(
        None, "Memory of the card to use, such as 8G.", metavar="SIZE", panel=PANEL
    )
    scratch: str | None = opt(None, "Folder for scratch files.", metavar="DIR", panel=PANEL)
    cluster: str | None = opt(
        None, "Compute on a Dask cluster: tcp://scheduler:8786, a scheduler file, or local:4.",
        metavar="ADDRESS", panel=PANEL,
    )  # fmt: skip
    work: str | None = opt(
        None,
        "With --cluster: a folder that all its machines share, to go on from.",
        metavar="DIR",
        panel=PANEL,
    )
    profile: str | None = opt(
        None, "Also write a JSON profile: where the time went, and how much memory was used.",
        metavar="FILE", file="out", panel=PANEL,
    )  # fmt: skip

    def __repr__(self) -> str:
        changed = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def workspace(self) -> Workspace:
        """Return room for large arrays, as `memory` and `scratch` say; refuse what cannot be had."""
        from dualign._core.memory import Workspace, as_bytes, return_memory
        from dualign._core.threads import available

        memory = self.memory
        if memory is not None:
            return_memory()
        if isinstance(memory, str):
            try:
                memory = as_bytes(memory)
            except UsageError as error:
                raise UsageError("{memory=}: {error}", memory=memory, error=error) from None
        if memory is not None and (isinstance(memory, bool) or not hasattr(memory, "__index__")):
            raise UsageError("{memory=} must be a number of bytes, or a size such as 4G", memory=memory)
        return Workspace(memory, self.scratch, available(self.threads))

    def check_device(self) -> None:
        """Refuse a card that cannot be used before the work."""
        if self.device == "cuda":
            from dualign.engines.cuda.device import card_of

            card_of(self.device, self.device_memory)

    def aligner_keywords(self) -> dict[str, Any]:
        """Return the keywords of an `Aligner` that say where it computes."""
        return {"threads": self.threads, "device": self.device, "device_memory": self.device_memory}

    @contextmanager
    def crew(self, tell: Reporter) -> Iterator[Workers | None]:
        """Give the workers of the cluster, if there is one."""
        if self.cluster is None:
            yield None
            return
        from dualign.engines.dask.workers import connected

        with connected(self.cluster, self.work, tell.tasks) as crew:
            yield crew
