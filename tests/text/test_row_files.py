"""Tables of sentence pairs: the same rows from every kind of file, and errors that name the row."""

from __future__ import annotations

import csv
import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign.text.tables import Columns, parse_columns, read_rows

TITLES = ["id", "German", "other", "English"]
ROWS = [
    ["a1", "das Haus", "x", "the house"],
    ["a2", 'ein "Buch"; ja', "", "a book, yes"],
    ["a3", "", "z", "no"],
]
EXPECTED = [[row[1], row[3], row[0]] for row in ROWS]
BY_TITLE = "source=german,target=English,id=id"
BY_NUMBER = "id=1,source=2,target=4,header"


def write(path, delimiter=","):
    if path.name.endswith(".xlsx"):
        workbook = pytest.importorskip("openpyxl").Workbook()
        for row in [TITLES, *ROWS, [None] * 4]:
            workbook.active.append(row)
        workbook.save(path)
        return str(path)
    text = io.StringIO(newline="")
    if path.name.endswith((".tsv", ".gz")):
        text.write("".join("\t".join(row) + "\n" for row in [TITLES, *ROWS]))
    else:
        csv.writer(text, delimiter=delimiter).writerows([TITLES, *ROWS])
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return str(path)


@pytest.mark.parametrize("columns", [BY_TITLE, BY_NUMBER])
@pytest.mark.parametrize("name", ["t.tsv", "t.txt.gz", "t.csv", "T.CSV", "t.xlsx"])
def test_every_kind_has_the_same_rows(tmp_path, name, columns):
    assert list(read_rows(write(tmp_path / name), parse_columns(columns))) == EXPECTED


def test_semicolons_separate_as_well(tmp_path):
    assert list(read_rows(write(tmp_path / "t.csv", ";"), parse_columns(BY_TITLE))) == EXPECTED


def test_a_number_of_any_size_is_text(tmp_path):
    (tmp_path / "t.jsonl").write_text(f'{{"de": "a", "en": {"7" * 400}, "other": 1{"0" * 400}}}\n')
    rows = read_rows(str(tmp_path / "t.jsonl"), parse_columns("source=de,target=en"))
    assert list(rows) == [["a", "7" * 400]]


def test_json_may_nest_and_may_have_tokens(tmp_path):
    path = tmp_path / "t.jsonl"
    records = [
        {"t": {"de": "das\nHaus", "en": ["the", "house"]}, "n": 7},
        {"t": {"de": "a", "en": "b"}, "n": "x"},
    ]
    path.write_text(
        "\n".join(json.dumps(record) for record in [records[0]]) + "\n\n" + json.dumps(records[1])
    )
    columns = parse_columns("source=t.de,target=t.en,id=n")
    expected = [["das Haus", "the house", "7"], ["", "", ""], ["a", "b", "x"]]
    assert list(read_rows(str(path), columns)) == expected


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5))
def test_csv_is_what_python_writes_without_line_breaks(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "target"])
        writer.writerows(rows)
    found = list(read_rows(str(path)))
    assert [[cell.split() for cell in row] for row in found] == [
        [cell.split() for cell in row] for row in rows
    ]
    assert all(
        len(a) == len(b)
        for row, given in zip(found, rows, strict=True)
        for a, b in zip(row, given, strict=True)
    )


def test_without_columns_titles_or_two_columns_tell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Target,n,Source\nthe,1,das\n")
    assert list(read_rows(str(path))) == [["das", "the"]]
    path.write_text("das,the\nein,a\n")
    assert list(read_rows(str(path))) == [["das", "the"], ["ein", "a"]]
    path.write_text("")
    assert list(read_rows(str(path))) == []


@pytest.mark.parametrize(
    ("name", "content", "columns", "message"),
    [
        ("t.csv", "a,b,c\n", None, r"t\.csv:1: which of these 3 columns"),
        ("t.csv", "a,b\nc\n", "source=1,target=2", r"t\.csv:2: no column 2, the row has 1"),
        ("t.csv", 'a,"b\nc,d\n', "source=1,target=2", r"t\.csv:1: cannot be read as CSV"),
        (
            "t.tsv",
            "a\tb\n",
            "source=de,target=en",
            r"t\.tsv:1: no column is titled `de`; the first row is a, b",
        ),
        ("t.jsonl", '{"source": 1}\n', None, r"t\.jsonl:1: no `target`"),
        ("t.jsonl", '{"source": [1], "target": ""}\n', None, "neither a text nor a list of tokens"),
        ("t.jsonl", "[]\n", None, r"t\.jsonl:1: no `source`"),
        ("t.jsonl", "{\n", None, r"t\.jsonl:1: not JSON"),
        ("t.xlsx", "no archive", None, r"t\.xlsx: "),
    ],
)
def test_bad_tables_are_errors_with_their_place(tmp_path, name, content, columns, message):
    if name.endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        list(read_rows(str(tmp_path / name), None if columns is None else parse_columns(columns)))


@pytest.mark.parametrize(
    "text", ["", "source=1", "source=0,target=2", "source=1,target=2,ids=3", "source=1,source=2"]
)
def test_bad_columns_are_wrong_usage(text):
    with pytest.raises(UsageError, match="columns="):
        parse_columns(text)


def test_columns_count_from_one():
    assert parse_columns("target=3, source=2") == Columns((1, 2))
    assert parse_columns("source=a,target=3").header


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('de,en\n"das, hier",the\n', "source=de,target=en"),
        ('de;en\n"das, hier";the\n', "source=de,target=en"),
        ('"das, hier",the\n', "source=1,target=2"),
        ('{"de": "das, hier", "en": "the"}\n', "source=de,target=en"),
        ('{"source": "das, hier", "target": "the"}\n', "format=jsonl"),
        ('source,target\n"das, hier",the\n', "format=csv"),
        ("das, hier\tthe\n", "source=1,target=2"),
    ],
)
def test_standard_input_is_of_any_kind(monkeypatch, text, columns):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    (row,) = read_rows("-", parse_columns(columns))
    assert row == ["das, hier", "the"]
