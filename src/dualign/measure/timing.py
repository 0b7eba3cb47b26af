"""What a command costs: wall time, CPU time and peak memory, its child processes included; tables of figures.

CPU time and peak memory are those of `wait4`: CPU time is summed over the command and the children it waited
for; peak memory is that of the largest of them. A new process inherits the peak of its parent until it loads
its program, so a parent with much in memory would spoil the measurement. Therefore a small interpreter of
about ten megabytes starts the command and waits for it. It writes a line just before, and the result after.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile

from dualign._core.errors import DataError, UsageError
from dualign._core.progress import Clock

_LAUNCHER = """
import json, os, sys
report = open(int(sys.argv[1]), "w")
print(file=report, flush=True)
try:
    child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
except OSError as error:
    result = {"error": error.strerror}
else:
    _, status, used = os.wait4(child, 0)
    result = {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
    }
print(json.dumps(result), file=report, flush=True)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or more commands took."""

    seconds: float
    """Wall-clock time from start to end."""
    cpu_seconds: float
    """Of all processors together, user and system."""
    peak_bytes: int
    """Largest resident set of a process."""

    def __add__(self, other: Usage) -> Usage:
        """Both, one after the other."""
        return Usage(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_bytes, other.peak_bytes),
        )

    def as_dict(self) -> dict[str, float | int]:
        """Return the fields by name, ready for JSON."""
        return asdict(self)


def measure(
    command: Sequence[str],
    *,
    output: str | os.PathLike[str] = os.devnull,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Run a command and return what it took; its standard output goes to `output`.

    `environment` is added to the caller's. A command that cannot be started, or that fails, is a `DataError`
    with the last line of its standard error.
    """
    if not hasattr(os, "wait4"):
        raise UsageError("time and memory of a command cannot be measured here: the system has no wait4")
    readable, writable = os.pipe()
    with open(readable) as report, open(output, "wb") as out, TemporaryFile() as complaints:
        try:
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writable), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=complaints,
                env={**os.environ, **(environment or {})},
                pass_fds=[writable],
            )
        finally:
            os.close(writable)
        with launcher:
            report.readline()
            clock = Clock()
            line = report.readline()
            seconds = clock.seconds
        result = json.loads(line or '{"error": "the measuring process was killed"}')
        complaints.seek(0)
        lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    if "error" in result:
        raise DataError(f"{command[0]}: cannot be run: {result['error']}")
    if code := result.pop("code"):
        raise DataError(f"{command[0]} ended with {code}: {lines[-1] if lines else 'it wrote no message'}")
    return Usage(seconds, **result)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table whose first `left` columns are aligned left and the others, mostly numbers, right."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * width if number < left else "-" * (width - 1) + ":" for number, width in enumerate(widths)]
    aligned = [
        [f"{cell:{'<' if number < left else '>'}{widths[number]}}" for number, cell in enumerate(row)]
        for row in (cells[0], rule, *cells[1:])
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in aligned)
