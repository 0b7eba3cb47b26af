"""A count of lines that grows on the terminal while a long file goes by."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from time import monotonic
from typing import TypeVar

Item = TypeVar("Item")
Chunk = TypeVar("Chunk", bound=Sized)

_PAUSE = 0.5  # seconds; a short file shows nothing at all
_CLOCK_EVERY = 256  # items between two looks at the clock


def counted(items: Iterable[Item], verb: str, *, output: str, quiet: bool) -> Iterator[Item]:
    """Pass `items` on; if stderr is a terminal and not `quiet`, show how many have gone by.

    Nothing is shown where `output` itself goes to the terminal.
    """
    terminal = sys.stderr
    if quiet or not _is_terminal(terminal) or (output == "-" and _is_terminal(sys.stdout)):
        yield from items
        return
    due, shown = monotonic() + _PAUSE, False
    try:
        for number, item in enumerate(items, 1):
            yield item
            if number % _CLOCK_EVERY == 0 and monotonic() >= due:
                print(f"\r{verb}: {number:,} lines", end="", file=terminal, flush=True)
                due, shown = monotonic() + _PAUSE, True
    finally:
        if shown:
            # Back to the start of the line, and clear it: a message may follow.
            print("\r\x1b[K", end="", file=terminal, flush=True)


def metered(chunks: Iterable[Chunk], output: str, quiet: bool) -> Iterator[Chunk]:
    """Pass chunks of sentence pairs on; on a terminal, as in `counted`, show how many pairs, and how fast."""
    terminal = sys.stderr
    show = not quiet and _is_terminal(terminal) and not (output == "-" and _is_terminal(sys.stdout))
    began, pairs = monotonic(), 0
    for chunk in chunks:
        yield chunk
        pairs += len(chunk)
        if show:
            rate = pairs / max(monotonic() - began, 1e-9)
            print(f"\r\x1b[Kaligned {pairs:,} pairs, {rate:,.0f} pairs/s", end="", file=terminal, flush=True)
    if show and pairs:
        print(file=terminal)


def _is_terminal(stream: object) -> bool:
    # A stream is None if the caller has closed its descriptor.
    return stream is not None and bool(getattr(stream, "isatty", lambda: False)())
