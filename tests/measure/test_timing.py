"""Time and memory of commands; tables in Markdown."""

from __future__ import annotations

import sys

import pytest

from dualign._core.errors import DataError
from dualign.measure.timing import Usage, markdown, measure


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script, *arguments]


def test_sleeping_takes_time_but_no_processor():
    usage = measure(python("import time; time.sleep(0.3)"))
    assert usage.seconds >= 0.3
    assert usage.cpu_seconds < 0.2


def test_work_of_a_child_process_counts():
    work = "import time\nwhile time.process_time() < 0.3: pass"
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {work!r}])"
    assert measure(python(script)).cpu_seconds >= 0.3


def test_memory_is_that_of_the_command_and_not_of_the_caller():
    ballast = bytearray(b"x" * 200_000_000)
    small = measure(python("pass")).peak_bytes
    large = measure(python("x = bytearray(b'x' * 100_000_000)")).peak_bytes
    assert len(ballast) == 200_000_000
    assert small < 50_000_000
    assert 100_000_000 <= large - small < 250_000_000


def test_output_goes_to_the_file(tmp_path):
    measure(python("print('a line')"), output=tmp_path / "out")
    assert (tmp_path / "out").read_text() == "a line\n"


def test_environment_is_added_to_the_callers(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRST", "1")
    script = "import os; print(os.environ['FIRST'], os.environ['SECOND'])"
    measure(python(script), output=tmp_path / "out", environment={"SECOND": "2"})
    assert (tmp_path / "out").read_text() == "1 2\n"


def test_a_command_that_fails_is_an_error_with_its_last_words():
    with pytest.raises(DataError, match=r"ended with 3: last$"):
        measure(python("import sys; print('first\\nlast', file=sys.stderr); sys.exit(3)"))


def test_a_silent_failure_is_said_to_be_one():
    with pytest.raises(DataError, match="ended with 3: it wrote no message"):
        measure(python("import sys; sys.exit(3)"))


def test_a_command_that_does_not_exist_is_an_error_that_names_it():
    with pytest.raises(DataError, match="no-such-command-here: cannot be run: No such file"):
        measure(["no-such-command-here"])


def test_commands_in_a_row_add_their_times_and_share_the_larger_peak():
    assert Usage(1.0, 2.0, 30) + Usage(0.5, 0.25, 40) == Usage(1.5, 2.25, 40)


def test_names_are_set_left_and_numbers_right():
    assert markdown(("system", "s"), [("a", "1.5"), ("longer name", "10.25")]).splitlines() == [
        "| system      |     s |",
        "| ----------- | ----: |",
        "| a           |   1.5 |",
        "| longer name | 10.25 |",
    ]


def test_a_table_without_rows_has_its_head():
    assert markdown(("a", "b"), [], left=2).splitlines() == ["| a   | b   |", "| --- | --- |"]


def test_a_bar_in_a_cell_does_not_end_it():
    assert markdown(("a",), [("x|y",)]).splitlines()[-1] == "| x\\|y |"


def test_a_short_row_is_an_error():
    with pytest.raises(ValueError, match="shorter"):
        markdown(("a", "b"), [("1", "2"), ("3",)])
