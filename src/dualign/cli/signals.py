"""Ctrl-C and SIGTERM: the first one raises, and what cleans up after it is left in peace."""

from __future__ import annotations

import os
import signal
import sys
from threading import Timer
from types import FrameType
from typing import Any

from dualign.core.clocks import Clock

GRACE = 2.0
"""Seconds after a signal in which others are not heeded: files that are half written are being removed."""

LATER = 0.01
"""Seconds after which a signal is sent again if it came at a bad moment, or what it raised was lost."""


class Terminated(KeyboardInterrupt):
    """Somebody sent SIGTERM."""


class _Heeding:
    """Raises for a signal; `since` runs from the last one that was heeded."""

    def __init__(self) -> None:
        self.since: Clock | None = None

    def signalled(self, number: int, frame: FrameType | None) -> None:
        if self.since is not None and self.since.seconds < GRACE:
            return
        if _is_linking(frame):
            _send_again(number)
            return
        self.since = Clock()
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def lost(self, what: Any) -> None:
        """Nobody can catch what is raised while an object vanishes: if it was a signal's, send it again."""
        if not isinstance(what.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(what)
            return
        self.since = None
        _send_again(signal.SIGTERM if isinstance(what.exc_value, Terminated) else signal.SIGINT)


def _send_again(number: int) -> None:
    again = Timer(LATER, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def _is_linking(frame: FrameType | None) -> bool:
    """Whether LLVM is being given machine code, which it asks for by calling Python.

    What is raised there is lost, and so is the code; whoever calls it then crashes. It takes milliseconds.
    """
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("llvmlite.binding.executionengine"):
            return True
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
    sys.unraisablehook = heeding.lost
