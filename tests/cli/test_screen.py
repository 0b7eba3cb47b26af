"""What a job tells, on stderr."""

from __future__ import annotations

import io
import logging
from types import SimpleNamespace

import pytest

from dualign.cli import exits, screen
from dualign.cli.screen import on_screen
from dualign.core.compile_watch import announce, expecting
from dualign.learn.training import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def streams(monkeypatch):
    # Not `sys.stderr` itself: pytest sets it anew between fixture and test.
    both = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    monkeypatch.setattr(screen, "sys", both)
    monkeypatch.setattr(exits, "sys", both)
    monkeypatch.setattr(screen, "PAUSE", 0)
    return both


def count(lines: int = 600, *, output: str = "x", quiet: bool = False, **more: bool) -> None:
    with on_screen(quiet, output, **more) as run:
        assert list(run.counted(range(lines), "convert")) == list(range(lines))


def test_items_go_by_and_their_number_is_shown_then_cleared(streams):
    count()
    assert streams.stderr.getvalue() == "\rconvert: 256 lines\rconvert: 512 lines\r\x1b[K"


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
    assert streams.stderr.getvalue() == "\rconvert: 256 lines\r\x1b[Kdualign: note: so it is\n"


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


def test_pairs_are_counted_in_one_line_of_the_terminal_that_stays(streams):
    with on_screen(False, "x", rate=True) as run:
        for done in (0, 2, 3):
            run.progress(done, "align")
    shown = streams.stderr.getvalue()
    assert shown.startswith("\r\x1b[Kaligned 2 pairs, ")
    assert "\r\x1b[Kaligned 3 pairs, " in shown
    assert shown.count("\n") == 1


def test_rounds_are_lines_without_a_terminal_and_bars_on_one(streams, monkeypatch):
    progress = Progress("hmm", 1, 5, -8.0, 4, 2)
    streams.stderr = io.StringIO()
    with on_screen(False) as run:
        run.round(progress)
    assert streams.stderr.getvalue().endswith(" s  hmm round 1/5: objective -8, 2.8854 bits per word\n")
    streams.stderr = Terminal()
    monkeypatch.setattr("sys.stderr", streams.stderr)  # rich's
    with on_screen(False) as run:
        run.round(progress)
    assert "objective -8, 2.8854 bits per word" in streams.stderr.getvalue()


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
