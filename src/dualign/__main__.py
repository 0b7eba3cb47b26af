"""The `dualign` command, also as `python -m dualign`: Ctrl-C and SIGTERM, then the command line.

Importing the command line takes a moment. A signal in that time must not end in a traceback, so this file
imports nothing else before it has taken care of signals. From then on the first signal raises, and what
cleans up after it is left in peace.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from types import FrameType
from typing import Any, NoReturn

GRACE = 2.0
"""Seconds after a signal in which others are not heeded: files that are half written are being removed."""

LATER = 0.01
"""Seconds after which a signal is heeded if it came at a bad moment, or what it raised was lost."""

_WORDS = {signal.SIGINT: b"interrupted", signal.SIGTERM: b"terminated"}
_COMPILED = ("llvmlite", "numba", "numpy")


def _leave(number: int, _: object) -> NoReturn:
    """End at once, as `dualign.commands.cli` would: nothing has been begun yet."""
    try:
        os.write(2, b"dualign: " + _WORDS[signal.Signals(number)] + b"\n")
    finally:
        os._exit(128 + number)


class Heeding:
    """Raises for a signal; `since` runs from the last one that was heeded, `waiting` is one that was not."""

    def __init__(self) -> None:
        self.since: Any = None
        self.waiting = signal.SIGINT

    def signalled(self, number: int, frame: FrameType | None) -> None:
        """Raise, unless it is too early for another signal, or a bad moment."""
        if self.since is not None and self.since.seconds < GRACE:
            return
        if _must_wait(frame):
            self.postpone(number)
            return
        from dualign._core.errors import Terminated
        from dualign._core.progress import Clock

        self.since = Clock()
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def lost(self, what: Any) -> None:
        """Heed a signal again: nobody can catch what is raised while an object vanishes."""
        from dualign._core.errors import Terminated

        if not isinstance(what.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(what)
            return
        self.since = None
        self.postpone(signal.SIGTERM if isinstance(what.exc_value, Terminated) else signal.SIGINT)

    def postpone(self, number: int) -> None:
        """Heed it a little later: by a timer, as no thread could be started while another one is."""
        self.waiting = signal.Signals(number)
        signal.setitimer(signal.ITIMER_REAL, LATER)

    def again(self, _: int, frame: FrameType | None) -> None:
        """Heed the one that was postponed."""
        self.signalled(self.waiting, frame)


def _must_wait(frame: FrameType | None) -> bool:
    """Whether this is a bad moment to raise an exception; it passes in milliseconds.

    LLVM asks for machine code by calling Python. What is raised there is lost, and so is the code; whoever
    calls it then crashes. Compiled modules that are being imported take whatever is raised for a module that
    is missing. What is raised while a lost signal is taken care of would be lost as well. And while several
    outputs get their names, one after the other, a signal must not leave some new and some old.
    """
    while frame is not None:
        name, function = str(frame.f_globals.get("__name__")), frame.f_code.co_name
        imported = function == "<module>" and name.startswith(_COMPILED)
        closing = function == "__exit__" and isinstance(frame.f_locals.get("self"), ExitStack)
        heeding = isinstance(frame.f_locals.get("self"), Heeding)
        if imported or closing or heeding or name.startswith("llvmlite.binding"):
            return hasattr(signal, "setitimer")
        frame = frame.f_back
    return False


def heed() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` and SIGTERM `Terminated`.

    Signals that whoever started us has us ignore, as a shell does in the background, stay ignored.
    """
    heeding = Heeding()
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, heeding.signalled)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, heeding.again)
        sys.unraisablehook = heeding.lost


def main() -> NoReturn:
    """Run the command line of this process."""
    for number in _WORDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)

    from dualign._core.errors import Terminated
    from dualign.commands import cli

    try:
        heed()
        cli.main()
    except KeyboardInterrupt as interruption:  # between the two
        _leave(signal.SIGTERM if isinstance(interruption, Terminated) else signal.SIGINT, None)


if __name__ == "__main__":
    main()
