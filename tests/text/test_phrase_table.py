"""Reading phrase tables: what is accepted, and what is said about what is not."""

from __future__ import annotations

import gzip

import pytest

from dualign import DataError
from dualign.text.phrase_table import escape, read_table


def table(tmp_path, text: str) -> str:
    path = tmp_path / "table"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_lines_with_three_and_more_fields(tmp_path):
    text = "a b ||| x ||| 0.5 1e-3 ||| 0-0 ||| 1 1 1 ||| |||\nc ||| y z ||| 1 0\nd ||| w ||| 1 1 |||\r\n"
    lines = list(read_table(table(tmp_path, "\ufeff" + text)))
    assert [(line.number, line.source, line.target, line.scores) for line in lines] == [
        (1, "a b", "x", [0.5, 0.001]),
        (2, "c", "y z", [1.0, 0.0]),
        (3, "d", "w", [1.0, 1.0]),
    ]


def test_blanks_and_normal_forms_do_not_matter(tmp_path):
    (line,) = read_table(table(tmp_path, "e\u0301te\u0301  a |||  x\ty  ||| 1 ||| ||| |||\n"))
    assert (line.source, line.target) == ("\u00e9t\u00e9 a", "x y")


def test_compressed_tables_and_only_the_lines_that_are_wanted(tmp_path):
    (tmp_path / "table.gz").write_bytes(
        gzip.compress(b"a ||| x ||| 1\nb ||| y ||| nonsense\nc ||| z ||| 0.5\n")
    )
    chosen = read_table(str(tmp_path / "table.gz"), wanted=lambda s, t: [phrase != "b" for phrase in s])
    assert [(line.number, line.source) for line in chosen] == [(1, "a"), (3, "c")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| x", "2 fields"),
        ("a x 0.5", "1 fields"),
        ("", "1 fields"),
        ("a |||x||| 0.5", "1 fields"),
        ("a ||| x ||| much", "not a list of numbers"),
        ("a ||| x ||| nan 0.5", "negative or not finite"),
        ("a ||| x ||| -1 0.5", "negative or not finite"),
        ("a ||| x ||| inf 0.5", "negative or not finite"),
        ("a ||| x ||| 0.5", "1 score; the first line has 2; give all lines the same number of scores"),
        ("a ||| x ||| 0.5 1 1", "3 scores; the first line has 2"),
        ("a |||  ||| 0.5 1 ||| |||", "an empty phrase"),
        ("a ||| ||| 0.5 1", "an empty phrase"),
        ("a |||  ||| 0.5 1 ||| 0-0 ||| 1", "an empty phrase"),
        (" ||| x ||| 0.5 1", "an empty phrase"),
        (" ||| x ||| 0.5 1 ||| 0-0 ||| 1", "an empty phrase"),
        ("  ||| x ||| 0.5 1 ||| 0-0", "an empty phrase"),
        ("||| x ||| 0.5 1", "an empty phrase"),
    ],
)
def test_wrong_lines_are_named(tmp_path, line, message):
    path = table(tmp_path, f"a ||| x ||| 0.5 0.5 ||| 0-0\n{line}\n")
    with pytest.raises(DataError, match=f"table:2: .*({message})"):
        list(read_table(path))


def test_the_first_line_is_checked_though_nobody_wants_it(tmp_path):
    with pytest.raises(DataError, match=r"table:1: `nonsense` is not a list of numbers"):
        list(read_table(table(tmp_path, "a ||| x ||| nonsense\n"), wanted=lambda s, t: [False] * len(s)))


def test_a_table_without_a_line_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"table: no phrase pairs"):
        list(read_table(table(tmp_path, "")))


def test_bars_in_words_are_escaped():
    assert escape("a|b") == "a&#124;b"
    assert escape("ab") == "ab"
