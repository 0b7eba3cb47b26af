"""What a job tells, on stderr."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from dualign._core import progress as advancing
from dualign._core.progress import advance, announce, begin, expecting
from dualign.commands import console as screen
from dualign.commands.console import Console, Reporter
from dualign.hmm.training import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def streams(monkeypatch):
    # Not `sys.stderr` itself: pytest sets it anew between fixture and test.
    both = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    monkeypatch.setattr(screen, "sys", both)
    monkeypatch.setattr(screen, "PAUSE", 0)
    return both


@contextmanager
def on_screen(quiet: bool, output: str = "", **more: bool) -> Iterator[Reporter]:
    console = Console(quiet=quiet, output=output, **more)
    with console.watching():
        yield console


def count(lines: int = 600, *, output: str = "x", quiet: bool = False, **more: bool) -> None:
    with on_screen(quiet, output, **more) as run:
        assert list(run.counted(range(lines), "convert")) == list(range(lines))


def test_items_go_by_and_their_number_is_shown_then_cleared(streams):
    count()
    assert streams.stderr.getvalue() == "\r\x1b[Kconvert: 256 lines\r\x1b[Kconvert: 512 lines\r\x1b[K"


def test_line_is_cleared_before_an_error_message(streams):
    def failing():
        yield from range(300)
        raise ValueError

    with pytest.raises(ValueError), on_screen(False, "x") as run:
        list(run.counted(failing(), "convert"))
    assert streams.stderr.getvalue().endswith("\r\x1b[K")


def test_line_is_cleared_before_a_note(streams):
    with on_screen(False, "x") as run:
        list(run.counted(range(300), "convert"))
        run.note("note: so it is")
    assert streams.stderr.getvalue() == "\r\x1b[Kconvert: 256 lines\r\x1b[Kdualign: note: so it is\n"


def test_short_file_shows_nothing(streams, monkeypatch):
    monkeypatch.setattr(screen, "PAUSE", 60)
    count()
    assert streams.stderr.getvalue() == ""


def test_quiet(streams):
    with on_screen(True, "x") as run:
        list(run.counted(range(600), "convert"))
        run.note("note: nobody hears it")
        run.round(Progress("hmm", 1, 5, -8.0, 4, 2))
    assert streams.stderr.getvalue() == ""


def test_result_on_the_terminal_is_not_disturbed(streams):
    streams.stdout = Terminal()
    count(output="-")
    assert streams.stderr.getvalue() == ""


def test_result_through_a_pipe_leaves_the_terminal_to_the_count(streams):
    count(output="-")
    assert streams.stderr.getvalue() != ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_no_terminal_no_progress(stream, streams):
    streams.stderr = stream
    count()
    assert stream is None or stream.getvalue() == ""


def test_pairs_are_counted_in_one_line_with_the_time_left(streams):
    with on_screen(False, "x", rate=True) as run:
        run.progress(0, "align")
        run.progress(2, "align")
        advance(0.25)
        run.progress(3, "align")
        run.note("3 pairs, 4 links, 0.1 s")
    first, second, _ = streams.stderr.getvalue().split("\r\x1b[K")[1:]
    assert re.fullmatch(r"aligned 2 pairs, [\d,]+ pairs/s", first)
    assert re.fullmatch(r"aligned 3 pairs, [\d,]+ pairs/s, 0\.0 s left", second)
    assert streams.stderr.getvalue().endswith("\r\x1b[Kdualign: 3 pairs, 4 links, 0.1 s\n")


def test_rounds_are_lines_without_a_terminal_and_bars_on_one(streams, monkeypatch):
    progress = Progress("hmm", 1, 5, -8.0, 4, 2)
    streams.stderr = io.StringIO()
    with on_screen(False) as run:
        run.round(progress)
    assert streams.stderr.getvalue().endswith(" s  hmm round 1/5: log-likelihood -8, 2.8854 bits per word\n")
    streams.stderr = Terminal()
    monkeypatch.setattr("sys.stderr", streams.stderr)  # rich's
    with on_screen(False) as run:
        run.round(progress)
    assert "2.8854 bits per word" in streams.stderr.getvalue()


def test_compilation_is_a_bar_that_goes_away(streams):
    with on_screen(False, "x") as run, expecting(4):
        run.note("compiling")
        for name in ("first", "second", "third"):
            announce(name)
        run.note("compiled")
    first, *_, last = (shown := streams.stderr.getvalue()).split("\r\x1b[K")
    assert f"[{'#' * (screen.WIDTH // 2)}{'.' * (screen.WIDTH // 2)}] compiling third" in shown
    assert (first, last) == ("dualign: compiling\n", "dualign: compiled\n")


def test_compilation_that_nobody_expected_is_noted_once(streams):
    streams.stderr = io.StringIO()
    for quiet in (False, True):
        with on_screen(quiet, "x"):
            announce("first")
            announce("second")
    assert streams.stderr.getvalue() == "dualign: compiling kernels, once for this version of dualign …\n"


@pytest.mark.parametrize("quiet", [True, False])
def test_what_the_library_logs_looks_like_other_warnings(streams, quiet):
    with on_screen(quiet, "x"):
        logging.getLogger("dualign").warning("mind the %s", "gap")
    assert streams.stderr.getvalue() == "dualign: warning: mind the gap\n"


def test_bars_move_within_a_round_and_fit_80_columns(streams, monkeypatch):
    monkeypatch.setattr("sys.stderr", streams.stderr)  # rich's
    monkeypatch.setenv("COLUMNS", "80")
    shown = []
    with on_screen(False) as run:
        begin("HMM", 12)
        [task] = advancing._watcher._bars._bars.tasks
        for share in (0.0, 0.5, 1.0):
            advance(share)
            shown.append(task.completed)
        run.round(Progress("HMM", 1, 12, -8.0e8, 4 * 10**7, 2))
        shown.append(task.completed)
        begin("HMM", 12)  # the same stage goes on
        advance(0.5)
        shown.append(task.completed)
    assert shown == sorted(shown)
    assert shown[:3] == pytest.approx([0, 0.495, 0.99])
    assert shown[3:] == pytest.approx([1, 1.495])
    lines = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", streams.stderr.getvalue()).split("\n")
    last = [line for line in lines if "HMM" in line][-1]
    assert "1/12" in last
    assert "bits per word" in last
    assert max(len(line.split("\r")[-1].rstrip()) for line in lines) <= 80
