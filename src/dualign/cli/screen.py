"""What a job tells while it runs, on stderr: notes, rounds of training, and lines done on a terminal."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dualign._core import compile_watch
from dualign._core import progress as advancing
from dualign._core.memory import return_memory
from dualign._core.progress import Clock, in_words
from dualign.cli.exits import say
from dualign.cli.flags import as_typed
from dualign.jobs.running import Run

if TYPE_CHECKING:
    from dualign.hmm.training import Progress

PAUSE = 0.5  # seconds; a short file shows nothing at all
WIDTH = 24  # of the bar that shows how much has been compiled
_CLOCK_EVERY = 256  # lines between two looks at the clock


@contextmanager
def on_screen(
    quiet: bool,
    output: str = "",
    threads: int | None = None,
    errors: str = "strict",
    *,
    rate: bool = False,
    **settings: Any,
) -> Iterator[Run]:
    """Settings of a job that is shown on stderr; `quiet` leaves only warnings. Further ones as in `Run`.

    Counts of lines are shown on a terminal, but not where the `output` itself goes there: they come and go;
    with `rate` they have the number of sentence pairs per second, and the time left where that is known.
    """
    screen = _Screen(rate)
    run = Run(threads, errors, warn=screen.warn, **settings)
    if run.memory is not None:
        return_memory()
    with _logged(screen.warn):
        if quiet:
            yield run
            return
        shown = _is_terminal(sys.stderr) and not (output == "-" and _is_terminal(sys.stdout))
        progress = screen.progress if shown else screen.start
        rounds = advancing.watched(screen) if _is_terminal(sys.stderr) else nullcontext()
        try:
            with compile_watch.watched(screen.compiling), rounds:
                tasks = screen.tasks if shown else run.tasks
                yield replace(run, note=screen.note, progress=progress, round=screen.round, tasks=tasks)
        finally:
            screen.clear()


@contextmanager
def _logged(warn: Callable[[str], None]) -> Iterator[None]:
    """Show what the library logs, warnings or worse."""
    log, handler = logging.getLogger("dualign"), LogLine(logging.WARNING)
    handler.warn = warn
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class LogLine(logging.Handler):
    """Shows a warning of the log."""

    warn: Callable[[str], None]

    def emit(self, record: logging.LogRecord) -> None:
        self.warn(record.getMessage())


class _Screen:
    """Shows a job; as a `Watcher`, also how far it is within a round."""

    def __init__(self, rate: bool) -> None:
        self._rate = rate
        self._clock, self._since = Clock(), Clock()
        self._line = self._bar = ""
        self._share = 0.0
        self._bars: _Bars | None = None
        self._compiles = False

    def note(self, text: str) -> None:
        self.clear()
        say(as_typed(text))

    def warn(self, text: str) -> None:
        self.note(f"warning: {text}")

    def start(self, done: int, what: str) -> None:
        if done == 0:
            self.clear()
            self._share = 0.0
            self._clock.restart()
            self._since.restart()

    def progress(self, done: int, what: str) -> None:
        self.start(done, what)
        if not done or (not self._rate and (done % _CLOCK_EVERY or self._since.seconds < PAUSE)):
            return
        self._line = f"{what}: {done:,} lines"
        if self._rate:
            spent = max(self._clock.seconds, 1e-9)
            self._line = f"aligned {done:,} pairs, {done / spent:,.0f} pairs/s"
            if 0 < self._share < 1:
                self._line += f", {in_words(spent * (1 - self._share) / self._share)} left"
        print(f"\r\x1b[K{self._line}", end="", file=sys.stderr, flush=True)
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

    def begin(self, stage: str, rounds: int) -> None:
        self._bars = self._bars or _Bars()
        self._bars.begin(stage, rounds)

    def advance(self, share: float) -> None:
        self._share = share
        if self._bars is not None:
            self._bars.advance(share)

    def tasks(self, what: str, done: int, tasks: int, written: int) -> None:
        """How far a cluster is with tasks of one kind."""
        if done == 0:
            self._since.restart()
            return
        left = in_words(self._since.seconds * (tasks - done) / done)
        self._line = (
            f"{what.replace('_', ' ')}: {done}/{tasks} tasks, {written / 1e6:,.1f} MB written, {left} left"
        )
        print(f"\r\x1b[K{self._line}", end="", file=sys.stderr, flush=True)

    def round(self, progress: Progress) -> None:
        if _is_terminal(sys.stderr):
            self.begin(progress.stage, progress.rounds)
            assert self._bars is not None
            self._bars.show(progress)
        else:
            text = f"objective {progress.likelihood:.6g}, {progress.bits:.4f} bits per word"
            where = f"{progress.stage} round {progress.number}/{progress.rounds}"
            say(f"{self._clock.seconds:6.1f} s  {where}: {text}")

    def clear(self) -> None:
        """End what is shown: a message may follow."""
        if self._bars is not None:
            self._bars.stop()
        if self._line or self._bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._bars, self._line, self._bar = None, "", ""


class _Bars:
    """A bar for each stage of training, in a line of at most 80 columns."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description:6}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[done]:>2}/{task.total:.0f}"),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns, console=Console(stderr=True), transient=False)
        self._tasks: dict[str, Any] = {}
        self._stage, self._done = "", 0
        self._bars.start()
        self.stop = self._bars.stop

    def begin(self, stage: str, rounds: int) -> None:
        if stage != self._stage:
            self._stage, self._done = stage, 0
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=rounds, text="", done=0)

    def advance(self, share: float) -> None:
        if self._stage in self._tasks:
            self._bars.update(self._tasks[self._stage], completed=self._done + 0.99 * share)

    def show(self, progress: Progress) -> None:
        self._done = progress.number
        text = f"{progress.bits:.4f} bits per word"
        task = self._tasks[progress.stage]
        self._bars.update(task, completed=progress.number, done=progress.number, text=text)


def _is_terminal(stream: Any) -> bool:
    # A stream is None if the caller has closed its descriptor.
    return stream is not None and bool(stream.isatty())
