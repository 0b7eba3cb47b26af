"""Ctrl-C and SIGTERM: the first one raises, and what cleans up after it is left in peace."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack
from types import FrameType
from typing import Any

from dualign._core.progress import Clock

GRACE = 2.0
"""Seconds after a signal in which others are not heeded: files that are half written are being removed."""

LATER = 0.01
"""Seconds after which a signal is heeded if it came at a bad moment, or what it raised was lost."""


_COMPILED = ("llvmlite", "numba", "numpy")


class Terminated(KeyboardInterrupt):
    """Somebody sent SIGTERM."""


class _Heeding:
    """Raises for a signal; `since` runs from the last one that was heeded, `waiting` is one that was not."""

    def __init__(self) -> None:
        self.since: Clock | None = None
        self.waiting = signal.SIGINT

    def signalled(self, number: int, frame: FrameType | None) -> None:
        if self.since is not None and self.since.seconds < GRACE:
            return
        if _must_wait(frame):
            self.postpone(number)
            return
        self.since = Clock()
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def lost(self, what: Any) -> None:
        """Nobody can catch what is raised while an object vanishes: if it was a signal's, heed it again."""
        if not isinstance(what.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(what)
            return
        self.since = None
        self.postpone(signal.SIGTERM if isinstance(what.exc_value, Terminated) else signal.SIGINT)

    def postpone(self, number: int) -> None:
        # By a timer of the system: a thread could not be started while another one is being started.
        self.waiting = signal.Signals(number)
        signal.setitimer(signal.ITIMER_REAL, LATER)

    def again(self, _: int, frame: FrameType | None) -> None:
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
        if imported or closing or name.startswith(("llvmlite.binding", __name__)):
            return hasattr(signal, "setitimer")
        frame = frame.f_back
    return False


def heed() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` and SIGTERM `Terminated`.

    Signals that whoever started us has us ignore, as a shell does in the background, stay ignored.
    """
    heeding = _Heeding()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, heeding.signalled)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, heeding.again)
        sys.unraisablehook = heeding.lost
