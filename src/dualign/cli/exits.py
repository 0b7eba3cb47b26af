"""How the program ends: an exit code, and a short message on stderr, for whatever happens.

| code | what happened | message |
|---|---|---|
| 0 | all went well | none |
| 1 | bad data, or the machine refused: disk full, out of memory | what is wrong, and a remedy |
| 2 | wrong usage | what is wrong, and where to read on |
| 70 | a bug in dualign (`EX_SOFTWARE` in sysexits.h) | please report it; the traceback if DUALIGN_DEBUG=1 |
| 130 | Ctrl-C | one line |
| 143 | told to end (SIGTERM), as by `timeout` or a batch system | one line |
| 141 | the reader of our output went away, as in `dualign … | head -1` | none |

141 (128 + SIGPIPE) is what the shell reports for `cat` and similar programs in that place, so scripts with
`pipefail` can treat them the same way.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

from dualign._core.errors import DualignError
from dualign.cli.signals import Terminated

_INTERRUPTED: list[BaseException] = []
"""Interruptions, kept with their tracebacks: what they hit may be half built; taking it apart may crash."""


def guarded(action: Callable[[], int]) -> int:
    """Run `action` and return its exit code, or the one for the exception it raised, explained on stderr."""
    try:
        code = action()
    except (Exception, KeyboardInterrupt) as error:
        if _interruption(error) is not None:
            _INTERRUPTED.append(error)
        code = _explain(error)
    try:
        # Now, because what goes wrong when the interpreter does it at exit cannot be caught.
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        _discard_output()
        code = code or _explain(error)
    return code


def say(message: str) -> None:
    """Write `dualign: message` to stderr; without a stderr there is nobody to tell."""
    # `print` would fall back on stdout where the caller has closed stderr.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"dualign: {message}", file=sys.stderr, flush=True)


def _explain(error: BaseException) -> int:
    error = _interruption(error) or error
    match error:
        case DualignError():
            say(f"error: {error}")
            return error.exit_code
        case Terminated():
            say("terminated")
            return 143
        case KeyboardInterrupt():
            say("interrupted")
            return 130
        case BrokenPipeError():
            return 141
        case MemoryError():
            say("error: out of memory; use fewer or shorter lines at a time, or a machine with more of it")
            return 1
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            say(f"error: {place}{error.strerror or error}; check the disk and the rights on the files")
            return 1
        case _:
            debug = os.environ.get("DUALIGN_DEBUG") == "1"
            if debug:
                say("".join(traceback.format_exception(error)).rstrip())
            advice = "" if debug else " with what DUALIGN_DEBUG=1 in the environment adds to it"
            say(
                f"internal error: {type(error).__name__}: {error}\n"
                f"This is a bug in dualign. Please report this message{advice}, and the command."
            )
            return 70


def _interruption(error: BaseException | None) -> KeyboardInterrupt | None:
    """Ctrl-C, if it is at the bottom of it: compiled code that it hits may report something else."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return error
        error = error.__cause__ or error.__context__
    return None


def _discard_output() -> None:
    """Give what is left in stdout's buffer somewhere to go: the interpreter flushes it again at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
