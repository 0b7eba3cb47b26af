"""Where the time of a job goes, and how much memory it takes: a file that users can send us."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from operator import index
from typing import TYPE_CHECKING, Any

from dualign._core import release
from dualign._core.files.streams import check_output, open_output
from dualign._core.memory import machine_memory
from dualign._core.progress import Clock, Phases, all_processor_seconds, measuring
from dualign._core.threads import available

if TYPE_CHECKING:
    from dualign.commands.bundles import Computing


class Profile:
    """Measures a job. `contents` says nothing about the text or the names of files.

    A profile that cannot be written is refused when it is made: before the work.
    """

    def __init__(self, job: str, computing: Computing) -> None:
        if computing.profile is not None:
            check_output(os.fspath(computing.profile))
        self._job, self._computing = job, computing
        self._clock = Clock()
        self._phases = Phases()
        self._seconds = self._processor = 0.0

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure what is done in the block."""
        self._clock.restart()
        before = all_processor_seconds()
        with measuring() as self._phases:
            yield
        self._seconds, self._processor = self._clock.seconds, all_processor_seconds() - before

    def contents(self) -> dict[str, Any]:
        """What is written: seconds by the clock, processor seconds, and both for each phase.

        A phase's seconds by the clock are added up over threads: where they are more than its processor
        seconds, threads had to wait.
        """
        memory = self._computing.memory
        return {
            "job": self._job,
            "versions": {"dualign": release(), "python": platform.python_version()}
            | {name: version(name) for name in ("numba", "numpy")},
            "machine": {
                "system": f"{platform.system()} {platform.machine()}",
                "processors": os.cpu_count(),
                "memory": machine_memory(),
            },
            "threads": available(self._computing.threads),
            "memory": memory if memory is None or isinstance(memory, str) else index(memory),
            "seconds": round(self._seconds, 3),
            "processor_seconds": round(self._processor, 3),
            "peak_memory": _peak_memory(),
            "phases": {
                name: {
                    "seconds": round(phase.seconds, 3),
                    "processor_seconds": round(phase.processor, 3),
                    "calls": phase.calls,
                }
                for name, phase in self._phases.items()
            },
        }

    def write(self, path: str) -> None:
        """Write the contents as JSON."""
        with open_output(os.fspath(path)) as stream:
            stream.write(json.dumps(self.contents(), indent=1) + "\n")


def _peak_memory() -> int | None:
    """The most bytes that this process has used; None where the system does not say (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
