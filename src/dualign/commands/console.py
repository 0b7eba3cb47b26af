"""What a command tells while it runs: `Reporter` hears it, `Console` shows it on stderr.

Notes and warnings are templates with values, as in `dualign._core.errors`; a shell sees the flags of its
command.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dualign._core.errors import Spell, as_keyword, message
from dualign._core.progress import Clock, Watcher, in_words, watched
from dualign.text.checks import number_of

if TYPE_CHECKING:
    from dualign.hmm.training import Progress

Item = TypeVar("Item")

LOG = logging.getLogger("dualign")

PAUSE = 0.5  # seconds; a short file shows nothing at all
WIDTH = 24  # of the bar that shows how much has been compiled
_CLOCK_EVERY = 256  # lines between two looks at the clock


def _ignore(*_: object) -> None:
    pass


class Reporter:
    """Hears what a command tells, and calls these functions; none need be given, and warnings are logged."""

    def __init__(
        self,
        note: Callable[[str], None] = _ignore,
        progress: Callable[[int, str], None] = _ignore,
        round: Callable[[Progress], None] = _ignore,
        warn: Callable[[str], None] = LOG.warning,
        tasks: Callable[[str, int, int, int], None] = _ignore,
        spell: Spell = as_keyword,
    ) -> None:
        self._note, self._progress, self._round, self._warn, self._tasks = note, progress, round, warn, tasks
        self.spell, self.is_quiet = spell, False

    def note(self, template: str, **values: Any) -> None:
        """Tell something worth knowing."""
        self._note(message(template, values, self.spell))

    def warn(self, template: str, **values: Any) -> None:
        """Tell that the result is probably not what was wanted."""
        self._warn(message(template, values, self.spell))

    def progress(self, done: int, what: str) -> None:
        """Tell how many lines are done, 0 when the work begins."""
        self._progress(done, what)

    def round(self, progress: Progress) -> None:
        """Tell about a round of training."""
        self._round(progress)

    def tasks(self, what: str, done: int, tasks: int, written: int) -> None:
        """Tell how far a cluster is with tasks of one kind, and how many bytes it has written."""
        self._tasks(what, done, tasks, written)

    def wrote(self, count: int, units: str, output: str) -> None:
        """Tell how much a file has got; nothing where it went to standard output, and can be seen."""
        if output != "-":
            self.note(f"{number_of(count, units)}: {{output}}", output=output)

    def counted(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Pass `items` on, and tell how many are done."""
        self.progress(0, what)
        for number, item in enumerate(items, 1):
            yield item
            self.progress(number, what)


SILENT = Reporter()
"""Hears nothing; warnings are logged."""


def say(text: str) -> None:
    """Write `dualign: text` to stderr; without a stderr there is nobody to tell."""
    # `print` would fall back on stdout where the caller has closed stderr.
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(f"dualign: {text}", file=sys.stderr, flush=True)


class Console(Reporter, Watcher):
    """Shows a command in a shell; as a `Watcher`, also how far it is within a round.

    `quiet` leaves only warnings. Counts of lines are shown on a terminal, but not where the `output` itself
    goes there: they come and go; with `rate` they have the number of sentence pairs per second, and the time
    left where that is known.
    """

    def __init__(
        self, spell: Spell = as_keyword, *, quiet: bool = False, output: str = "", rate: bool = False
    ) -> None:
        super().__init__(spell=spell)
        self.is_quiet, self._rate = quiet, rate
        self._is_counting = (
            not quiet and _is_terminal(sys.stderr) and not (output == "-" and _is_terminal(sys.stdout))
        )
        if not quiet:
            self._clock, self._since = Clock(), Clock()
        self._line = self._bar = ""
        self._share = 0.0
        self._bars: _Bars | None = None
        self._compiles = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show what happens in the block: what is compiled, rounds, and what the library logs."""
        with _logged(self.warn):
            if self.is_quiet:
                yield
                return
            try:
                with watched(self):
                    yield
            finally:
                self.clear()

    def note(self, template: str, **values: Any) -> None:
        """Show a message for the user."""
        if not self.is_quiet:
            self._say(message(template, values, self.spell))

    def warn(self, template: str, **values: Any) -> None:
        """Show a warning."""
        self._say(f"warning: {message(template, values, self.spell)}")

    def _say(self, text: str) -> None:
        self.clear()
        say(text)

    def progress(self, done: int, what: str) -> None:
        """Show how many lines are done."""
        if done == 0 and not self.is_quiet:
            self.clear()
            self._share = 0.0
            self._clock.restart()
            self._since.restart()
        if not done or not self._is_counting:
            return
        if not self._rate and (done % _CLOCK_EVERY or self._since.seconds < PAUSE):
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
        """Show a bar where it is known how long it will be; else a note, once."""
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
        """Show that a stage of training begins."""
        if not _is_terminal(sys.stderr):
            return
        self._bars = self._bars or _Bars()
        self._bars.begin(stage, rounds)

    def advance(self, share: float) -> None:
        """Show how much of a round, or of the work, is done."""
        self._share = share
        if self._bars is not None:
            self._bars.advance(share)

    def tasks(self, what: str, done: int, tasks: int, written: int) -> None:
        """Show how far a cluster is with tasks of one kind."""
        if not self._is_counting:
            return
        if done == 0:
            self._since.restart()
            return
        left = in_words(self._since.seconds * (tasks - done) / done)
        self._line = (
            f"{what.replace('_', ' ')}: {done}/{tasks} tasks, {written / 1e6:,.1f} MB written, {left} left"
        )
        print(f"\r\x1b[K{self._line}", end="", file=sys.stderr, flush=True)

    def round(self, progress: Progress) -> None:
        """Show a round of training."""
        if self.is_quiet:
            return
        self.begin(progress.stage, progress.rounds)
        if self._bars is not None:
            self._bars.show(progress)
        else:
            text = f"log-likelihood {progress.likelihood:.6g}, {progress.bits:.4f} bits per word"
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


def _is_terminal(stream: Any) -> bool:
    # A stream is None if the caller has closed its descriptor.
    return stream is not None and bool(stream.isatty())
