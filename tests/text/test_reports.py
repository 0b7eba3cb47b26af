from __future__ import annotations

import json

import pytest

from dualign._core.errors import DataError
from dualign.text.reports import read_records, record_of, trace_of


@pytest.fixture
def read(tmp_path):
    def made(text, count=None):
        path = tmp_path / "r.jsonl"
        path.write_text(text, encoding="utf-8")
        return read_records(str(path), count)

    return made


def test_lines_are_put_in_their_places(read):
    found = read('{"line": 3}\n\n{"line": 1, "x": "é"}\n', 4)
    assert [None if line is None else record_of(line)["line"] for line in found] == [1, None, 3, None]
    assert len(read('{"line": 3}\n')) == 3


def test_records_without_line_stand_in_their_place(read):
    assert [record_of(line)["score"] for line in read('{"score": 1}\n{"score": 2}\n')] == [1, 2]


def test_infinity_and_nan_become_null_which_browsers_can_read(read):
    [line] = read('{"line": 1, "score": -Infinity, "trace": [[Infinity, NaN]], "more": {"a": [NaN]}}\n')
    assert json.loads(line, parse_constant=pytest.fail) == {
        "line": 1, "score": None, "trace": [[None, None]], "more": {"a": [None]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n", ":1: not JSON"),
        ('{"line": 1}\n{"line" 2}\n', ":2: not JSON: Expecting ':' delimiter at character 9;"),
        ("[1]\n", ":1: `[1]` is not a JSON object"),
        ('{"line": 0}\n', "is not a line number"),
        ('{"line": true}\n', "is not a line number"),
        ('{"line": "1"}\n', "is not a line number"),
        ('{"line": 9}\n', "line 9, but the text has 2 lines"),
        ('{"line": 1}\n{"line": 1}\n', ":2: line 1 is reported twice"),
        ("\n", "no report at all"),
        ('{"trace": [[1]]}\n', ":1: its trace is not a list"),
        ('{"trace": [[1, 2], [1, 2, 3]]}\n', "its trace is not a list"),
        ('{"trace": [1]}\n', "its trace is not a list"),
        ('{"trace": "x"}\n', "its trace is not a list"),
        ('{"trace": 5}\n', "its trace is not a list"),
        ("[" * 100000 + "\n", "not JSON"),
        (f'{{"score": {"9" * 400}}}\n', "999… has 400 digits"),
        (f'{{"line": {"9" * 400}}}\n', "999… has 400 digits"),
    ],
)
def test_what_is_no_report_is_said_with_its_line(read, text, message):
    with pytest.raises(DataError, match=r"r\.jsonl") as caught:
        read(text, 2)
    assert message in str(caught.value)


def test_line_number_beyond_all_bounds_does_not_fill_memory(read):
    assert len(read('{"line": 1000000}\n')) == 1000000
    with pytest.raises(DataError, match=r"r\.jsonl:1: entry 1 is about sentence 1,000,000,000;"):
        read('{"line": 1000000000}\n')


def test_many_digits_in_a_text_are_no_number(read):
    assert read(f'{{"line": 1, "x": "{"1" * 500}"}}\n') == [f'{{"line": 1, "x": "{"1" * 500}"}}']


def test_traces(read):
    assert trace_of({"trace": [[2, 1], [1.5, 1]]}) == [(2.0, 1.0), (1.5, 1.0)]
    assert trace_of({}) == []
