from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from dualign.cli import progress
from dualign.cli.progress import counted, metered


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def streams(monkeypatch):
    # Not `sys.stderr` itself: pytest sets it anew between fixture and test.
    both = SimpleNamespace(stderr=Terminal(), stdout=io.StringIO())
    monkeypatch.setattr(progress, "sys", both)
    monkeypatch.setattr(progress, "_PAUSE", 0)
    return both


def test_items_go_by_and_their_number_is_shown_then_cleared(streams):
    assert list(counted(range(600), "convert", output="x", quiet=False)) == list(range(600))
    assert streams.stderr.getvalue() == "\rconvert: 256 lines\rconvert: 512 lines\r\x1b[K"


def test_line_is_cleared_before_an_error_message(streams):
    def failing():
        yield from range(300)
        raise ValueError

    with pytest.raises(ValueError):
        list(counted(failing(), "convert", output="x", quiet=False))
    assert streams.stderr.getvalue().endswith("\r\x1b[K")


def test_short_file_shows_nothing(streams, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 60)
    assert len(list(counted(range(600), "convert", output="x", quiet=False))) == 600
    assert streams.stderr.getvalue() == ""


def test_quiet(streams):
    assert len(list(counted(range(600), "convert", output="x", quiet=True))) == 600
    assert streams.stderr.getvalue() == ""


def test_result_on_the_terminal_is_not_disturbed(streams):
    streams.stdout = Terminal()
    assert len(list(counted(range(600), "convert", output="-", quiet=False))) == 600
    assert streams.stderr.getvalue() == ""


def test_result_through_a_pipe_leaves_the_terminal_to_the_count(streams):
    assert len(list(counted(range(600), "convert", output="-", quiet=False))) == 600
    assert streams.stderr.getvalue() != ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_no_terminal_no_progress(stream, streams):
    streams.stderr = stream
    assert len(list(counted(range(600), "convert", output="x", quiet=False))) == 600
    assert stream is None or stream.getvalue() == ""


def test_chunks_are_counted_in_one_line_of_the_terminal(streams):
    assert list(metered([[1, 2], [3]], output="x", quiet=False)) == [[1, 2], [3]]
    shown = streams.stderr.getvalue()
    assert shown.startswith("\r\x1b[Kaligned 2 pairs, ")
    assert "\r\x1b[Kaligned 3 pairs, " in shown
    assert shown.count("\n") == 1
