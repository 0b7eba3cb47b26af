"""Tables in Markdown."""

from __future__ import annotations

import pytest

from dualign._core.errors import UsageError
from dualign.measure.table import markdown


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


def test_a_short_row_is_an_error_that_names_it():
    with pytest.raises(UsageError, match="row 2 has 1 cells for 2 columns"):
        markdown(("a", "b"), [("1", "2"), ("3",)])
