"""The `dualign` command, also as `python -m dualign`.

Importing the command line takes a tenth of a second. A signal in that time must not end in a traceback, so
this file imports nothing else before it has taken care of signals.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

_WORDS = {signal.SIGINT: b"interrupted", signal.SIGTERM: b"terminated"}


def _leave(number: int, _: object) -> NoReturn:
    """End at once, as `dualign.commands.cli` would: nothing has been begun yet."""
    try:
        os.write(2, b"dualign: " + _WORDS[signal.Signals(number)] + b"\n")
    finally:
        os._exit(128 + number)


def main() -> NoReturn:
    """Run the command line of this process."""
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)

    from dualign.commands import cli

    cli.main()


if __name__ == "__main__":
    main()
