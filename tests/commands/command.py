"""Run the `dualign` command as users do, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DUALIGN = [sys.executable, "-m", "dualign"]

# Whoever runs the tests in the background may have them ignore Ctrl-C, and Python would go on to do so.
HEED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
INTERRUPTIBLE = [sys.executable, "-c", f"{HEED}; from dualign.__main__ import main; main()"]


def environment(**more: str) -> dict[str, str]:
    """The caller's environment, without what changes messages or hides what is left in a buffer at exit."""
    without = ("DUALIGN_DEBUG", "PYTHONUNBUFFERED")
    return {**{name: value for name, value in os.environ.items() if name not in without}, **more}


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
