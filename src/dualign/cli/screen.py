"""What a job tells while it runs, on stderr: notes, rounds of training, and lines done on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dualign.cli.exits import say
from dualign.cli.flags import as_typed
from dualign.core.clocks import Clock
from dualign.core.compile_watch import watched
from dualign.jobs.running import Run

if TYPE_CHECKING:
    from dualign.learn.training import Progress

PAUSE = 0.5  # seconds; a short file shows nothing at all
WIDTH = 24  # of the bar that shows how much has been compiled
_CLOCK_EVERY = 256  # lines between two looks at the clock


@contextmanager
def on_screen(
    quiet: bool, output: str = "", threads: int | None = None, errors: str = "strict", *, rate: bool = False
) -> Iterator[Run]:
    """Settings of a job that is shown on stderr; `quiet` leaves only warnings.

    Counts of lines are shown on a terminal, but not where the `output` itself goes there: they come and go,
    or with `rate` they stay, with the number of sentence pairs per second.
    """
    screen = _Screen(rate)
    run = Run(threads, errors, warn=screen.warn)
    with _logged(screen.warn):
        if quiet:
            yield run
            return
        shown = _is_terminal(sys.stderr) and not (output == "-" and _is_terminal(sys.stdout))
        progress = screen.progress if shown else screen.begin
        try:
            with watched(screen.compiling):
                tasks = screen.tasks if shown else run.tasks
                yield replace(run, note=screen.note, progress=progress, round=screen.round, tasks=tasks)
        finally:
            screen.clear()


@contextmanager
def _logged(warn: Callable[[str], None]) -> Iterator[None]:
    """Show what the library logs, warnings or worse."""
    log, handler = logging.getLogger("dualign"), _Handler(logging.WARNING)
    handler.warn = warn
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Handler(logging.Handler):
    warn: Callable[[str], None]

    def emit(self, record: logging.LogRecord) -> None:
        self.warn(record.getMessage())


class _Screen:
    def __init__(self, rate: bool) -> None:
        self._rate = rate
        self._clock, self._since = Clock(), Clock()
        self._line = self._bar = ""
        self._bars: _Bars | None = None
        self._compiles = False

    def note(self, text: str) -> None:
        self.clear()
        say(as_typed(text))

    def warn(self, text: str) -> None:
        self.note(f"warning: {text}")

    def begin(self, done: int, what: str) -> None:
        if done == 0:
            self.clear()
            self._clock.restart()
            self._since.restart()

    def progress(self, done: int, what: str) -> None:
        self.begin(done, what)
        if not done or (not self._rate and (done % _CLOCK_EVERY or self._since.seconds < PAUSE)):
            return
        if self._rate:
            speed = done / max(self._clock.seconds, 1e-9)
            self._line = f"\r\x1b[Kaligned {done:,} pairs, {speed:,.0f} pairs/s"
        else:
            self._line = f"\r{what}: {done:,} lines"
        print(self._line, end="", file=sys.stderr, flush=True)
        self._since.restart()

    def compiling(self, done: int, expected: int, name: str) -> None:
        """A bar where it is known how long it will be; else a note, once."""
        if not expected and not self._compiles:
            self.note("compiling kernels, once for this version of dualign …")
        self._compiles = True
        if not _is_terminal(sys.stderr):
            return
        filled = min(WIDTH, WIDTH * done // expected) if expected else 0
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] " if expected else ""
        self._bar = f"\r\x1b[K{bar}compiling {name:.40s}"
        print(self._bar, end="", file=sys.stderr, flush=True)

    def tasks(self, what: str, done: int, tasks: int, written: int) -> None:
        """How far a cluster is with tasks of one kind."""
        if done == 0:
            self._since.restart()
            return
        left = self._since.seconds * (tasks - done) / done
        name = what.replace("_", " ")
        self._line = (
            f"\r\x1b[K{name}: {done}/{tasks} tasks, {written / 1e6:,.1f} MB written, {left:.0f} s left"
        )
        print(self._line, end="", file=sys.stderr, flush=True)

    def round(self, progress: Progress) -> None:
        text = f"objective {progress.likelihood:.6g}, {progress.bits:.4f} bits per word"
        if _is_terminal(sys.stderr):
            speed = progress.pairs / max(self._since.restart(), 1e-9)
            self._bars = self._bars or _Bars()
            self._bars.show(progress, f"{text}, {speed:,.0f} pairs/s")
        else:
            where = f"{progress.stage} round {progress.number}/{progress.rounds}"
            say(f"{self._clock.seconds:6.1f} s  {where}: {text}")

    def clear(self) -> None:
        """End what is shown: a message may follow."""
        if self._bars is not None:
            self._bars.stop()
        if self._line:
            print("\n" if self._rate else "\r\x1b[K", end="", file=sys.stderr, flush=True)
        if self._bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._bars, self._line, self._bar = None, "", ""


class _Bars:
    """A bar for each stage of training."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
        )
        self._bars = Progress(*columns, console=Console(stderr=True), transient=False)
        self._tasks: dict[str, Any] = {}
        self._bars.start()
        self.stop = self._bars.stop

    def show(self, progress: Progress, text: str) -> None:
        if progress.stage not in self._tasks:
            self._tasks[progress.stage] = self._bars.add_task(progress.stage, total=progress.rounds, text="")
        self._bars.update(self._tasks[progress.stage], completed=progress.number, text=text)


def _is_terminal(stream: Any) -> bool:
    # A stream is None if the caller has closed its descriptor.
    return stream is not None and bool(stream.isatty())
