"""Rounds of training on the terminal: a bar with the objective, or a line for each round."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

from dualign.cli.exits import say
from dualign.learn.training import Progress


@contextmanager
def show_rounds(quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Give a function to report rounds to; a progress bar if stderr is a terminal, else a line a round."""
    if quiet:
        yield lambda progress: None
    elif sys.stderr is not None and sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        began = perf_counter()
        yield lambda progress: say(f"{perf_counter() - began:6.1f} s  {_text(progress)}")


def _text(progress: Progress) -> str:
    return (
        f"{progress.stage} round {progress.number}/{progress.rounds}: "
        f"objective {progress.likelihood:.6g}, {progress.bits:.4f} bits a word"
    )


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=False) as bars:
        tasks: dict[str, TaskID] = {}
        began = perf_counter()

        def report(progress: Progress) -> None:
            nonlocal began
            if progress.stage not in tasks:
                tasks[progress.stage] = bars.add_task(progress.stage, total=progress.rounds, text="")
            now = perf_counter()
            rate = progress.pairs / max(now - began, 1e-9)
            began = now
            text = (
                f"objective {progress.likelihood:.6g}, {progress.bits:.4f} bits a word, {rate:,.0f} pairs/s"
            )
            bars.update(tasks[progress.stage], completed=progress.number, text=text)

        yield report
