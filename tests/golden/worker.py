"""Run commands of the dualign that this interpreter has, each in a fork of this process.

A fork has NumPy, Numba and the kernels of `align` in memory, and is otherwise like a process of its own.
Reads a line of JSON for each command (arguments, folder, where its standard streams are) and writes its exit
code.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NoReturn

SIX = ["a b", "b c", "c a", "a c b", "b", "c b a"]


def main() -> None:
    """Answer line by line until the end of standard input."""
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nobody else may write an answer
    import dualign
    from dualign.__main__ import main as command

    dualign.align(SIX, SIX, threads=1)
    for line in orders:
        if (child := os.fork()) == 0:
            perform(command, **json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)


def perform(
    command: Any, arguments: list[str], folder: str, stdin: str, stdout: str, stderr: str
) -> NoReturn:
    """Be the process of one command."""
    os.chdir(folder)
    for number, (path, flags) in enumerate(
        [(stdin, os.O_RDONLY), *((path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for path in (stdout, stderr))]
    ):
        os.dup2(os.open(path, flags), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
    sys.argv = ["dualign", *arguments]
    try:
        command()
    finally:
        os._exit(70)  # `command` leaves by itself


if __name__ == "__main__":
    main()
