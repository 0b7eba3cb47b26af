"""What a command costs: wall time, CPU time and peak memory, its child processes included.

CPU time and peak memory are those of `wait4`. CPU time adds up over the command and the children it waited
for; peak memory is that of the largest one of them. A new process inherits the peak of the one that starts
it until it loads its program, so a caller with much in memory would spoil the measure: a small interpreter
of about ten megabytes stands between, starts the command and waits for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from tempfile import TemporaryFile

from dualign.core.errors import DataError, UsageError

_LAUNCHER = """
import json, os, sys, time
report, *command = sys.argv[1:]
began = time.perf_counter()
try:
    child = os.posix_spawnp(command[0], command, os.environ)
except OSError as error:
    result = {"error": error.strerror}
else:
    _, status, used = os.wait4(child, 0)
    result = {
        "seconds": time.perf_counter() - began,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "code": os.waitstatus_to_exitcode(status),
    }
with open(int(report), "w") as stream:
    json.dump(result, stream)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one or more commands took."""

    seconds: float
    """From start to end, by the clock on the wall."""
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
        """The fields by name, ready for JSON."""
        return asdict(self)


def measure(
    command: Sequence[str],
    *,
    output: str | os.PathLike[str] = os.devnull,
    environment: Mapping[str, str] | None = None,
) -> Usage:
    """Run a command and say what it took; `output` is where its standard output goes.

    `environment` is added to the caller's. A command that cannot be started, or that fails, is a `DataError`
    with the last line of its standard error.
    """
    if not hasattr(os, "wait4"):
        raise UsageError("time and memory of a command cannot be measured here: the system has no wait4")
    readable, writable = os.pipe()
    with open(readable) as report, open(output, "wb") as out, TemporaryFile() as complaints:
        try:
            subprocess.run(
                [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(writable), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=complaints,
                env={**os.environ, **(environment or {})},
                pass_fds=[writable],
                check=False,
            )
        finally:
            os.close(writable)
        result = json.loads(report.read() or '{"error": "the measuring process was killed"}')
        complaints.seek(0)
        lines = complaints.read().decode("utf-8", "replace").strip().splitlines()
    if "error" in result:
        raise DataError(f"{command[0]}: cannot be run: {result['error']}")
    if code := result.pop("code"):
        raise DataError(f"{command[0]} ended with {code}: {lines[-1] if lines else 'it said nothing'}")
    return Usage(**result)
