"""Run the `dualign` command as users do, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

DUALIGN = [sys.executable, "-m", "dualign"]


def environment(**more: str) -> dict[str, str]:
    """The caller's environment, without what changes messages or hides what is left in a buffer at exit."""
    without = ("DUALIGN_DEBUG", "PYTHONUNBUFFERED")
    return {**{name: value for name, value in os.environ.items() if name not in without}, **more}


def heed_interrupts() -> None:
    """In a new process: whoever runs the tests in the background may have them ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def dualign(*arguments: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DUALIGN, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment(**more),
        timeout=300,
    )


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)
