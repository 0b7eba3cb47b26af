"""What dualign says: help, and messages about wrong command lines, in `messages.txt`.

    python -m tests.golden.messages       # run each command of the file again, and write what it says now

A command is a line that begins with `$ `. Below it stand the exit code, if it is not 0, and what is printed;
of a command that succeeds only what it says on standard error. To add a command, add its line and record.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.golden.runner import HERE, Runner

FILE = HERE / "messages.txt"


@cache
def recorded() -> dict[str, str]:
    """What follows each command of the file."""
    parts = re.split(r"^\$ dualign ?(.*)\n", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def said(runner: Runner, line: str) -> str:
    """What a command prints, in the form of the file: without seconds, folders, and what it compiled."""
    code, out, errors = runner.shown(line)
    text = errors if code == 0 and "--help" not in line else out + errors
    text = re.sub(r"\b\d+(\.\d)? s\b", "… s", text.replace(str(runner.folder), "FOLDER"))
    text = re.sub(r"FOLDER/\d+/here", "FOLDER", text)
    text = re.sub(r"^dualign: (compiling kernels|kernels compiled).*\n", "", text, flags=re.MULTILINE)
    return (f"exit {code}\n" if code else "") + text.rstrip("\n") + "\n\n"


def main() -> None:
    with TemporaryDirectory(prefix="dualign-golden-") as place:
        runner = Runner(sys.executable, Path(place) / "runs")
        texts = [f"$ dualign {line}\n{said(runner, line)}" for line in recorded()]
        runner.close()
    before, text = FILE.read_text("utf-8"), "".join(texts)
    FILE.write_text(text, "utf-8")
    print(f"{FILE}: {len(texts)} commands, {'unchanged' if text == before else 'changed'}")


if __name__ == "__main__":
    main()
