"""Sentence pairs with both sides in one file: on lines with a separator between them, or in tables.

A line `source ||| target` or `source<TAB>target` has both sides and nothing else. Tables are TSV, CSV, JSON
lines and XLSX, with ids and whatever other columns there are.

The kind of file goes by its name: `.csv`, `.jsonl` or `.ndjson`, `.xlsx`. Of any other, with columns named,
it goes by `format=csv`, `jsonl` or `tsv` among them, or else by the first line: `{` begins JSON; without a
tab, but with a comma or semicolon, it is CSV; otherwise there are tabs between the cells.

`source=2,target=3,id=1` names columns by their number, from 1 on, or by the title that they have in the first
row; keys of JSON may be paths, `translation.de`. With `header`, the first row has titles although columns go
by number. Without columns, the titles `source` and `target` are looked for, and a table of two columns
without these has the source in the first.

A line break or tab in a cell is a blank. A quoted cell of CSV may have several lines.

JSON, one value per line.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.files.streams import open_input, plain_name
from dualign.text.utf8 import parsed, read_lines, tokenize

_LONGEST = 300
"""Digits of an integer; a few more, and it would not be a float any more."""

_MANY_DIGITS = re.compile(rf"[0-9]{{{_LONGEST}}}")


def is_json(path: str) -> bool:
    """Whether a file is JSON lines by its name, which may have a compression suffix."""
    return plain_name(path).endswith((".jsonl", ".ndjson"))


def parse_json(line: str, expected: str, *, finite: bool = False, computed: bool = True) -> Any:
    """The value on a line; `expected` says in messages what it should be.

    Integers that are too large to be `computed` with, as floats, are refused.

    With `finite`, NaN and infinities are refused, and so is half of a character beyond U+FFFF, which JSON
    can escape but UTF-8 cannot hold.
    """
    try:
        # A function for every integer would take time; it is called where one may be too large for a float.
        integer = _integer if computed and _MANY_DIGITS.search(line) else None
        value = json.loads(line, parse_constant=_refuse if finite else None, parse_int=integer)
        if finite and "\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        cause = str(error)
        if isinstance(error, json.JSONDecodeError):  # whose own text counts lines within this line
            cause = f"{error.msg} at character {error.pos + 1}"
        raise DataError(f"not JSON: {cause}; {expected}") from None
    return value


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise ValueError(f"{digits[:20]}… has {len(digits)} digits, too many for a usable number")
    return int(digits)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")


KINDS = {".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".xlsx": "xlsx"}
_NAMES = ("source", "target", "id")
_FORMATS = {"csv": "csv", "tsv": "tsv", "jsonl": "json", "json": "json"}
_BLANKS = str.maketrans(dict.fromkeys("\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))

_BARS = "|||"

SEPARATED = "write `source ||| target` or `source<TAB>target` on each line"
OR_TWO_FILES = f"{SEPARATED}, or name two files"
"""A remedy for lines without a separator."""

Rows = Iterator[tuple[str, list[str]]]
"""The cells of each row, with its place, `FILE:LINE`."""


class Columns(NamedTuple):
    """Source, target and perhaps id, by their numbers from 0 on, or by title; `header`: there are titles.

    `kind` is that of the file, if it was named.
    """

    names: tuple[int | str, ...]
    header: bool = False
    kind: str | None = None

    @property
    def has_id(self) -> bool:
        """Whether the pairs have ids."""
        return len(self.names) == 3


def kind_of(path: str, columns: str | None = None) -> str | None:
    """The kind of table that a file is; None for plain text."""
    name = plain_name(path)
    found = next((kind for suffix, kind in KINDS.items() if name.lower().endswith(suffix)), None)
    return found or ("tsv" if columns is not None else None)


def parse_columns(text: str) -> Columns:
    """What `source=2,target=3,id=1` says."""
    found: dict[str, int | str] = {}
    header, kind = False, None
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name == "header" and not equals:
            header = True
            continue
        if name == "format":
            if value not in _FORMATS or kind is not None:
                raise UsageError("{columns=}: write one format, csv, jsonl or tsv", columns=text)
            kind = _FORMATS[value]
            continue
        if name not in _NAMES or not value or name in found:
            raise UsageError("{columns=}: write source=…,target=…, and id=… if there are ids", columns=text)
        if value.isdecimal() and int(value) < 1:
            raise UsageError("{columns=}: columns are counted from 1", columns=text)
        found[name] = int(value) - 1 if value.isdecimal() else value
    if kind is not None and not found and not header:
        found = {"source": "source", "target": "target"}
    if "source" not in found or "target" not in found:
        raise UsageError("{columns=}: name both source=… and target=…", columns=text)
    names = tuple(found[name] for name in _NAMES if name in found)
    return Columns(names, header or any(isinstance(name, str) for name in names), kind)


def read_rows(
    path: str, columns: Columns | None = None, *, errors: str = "strict"
) -> Generator[list[str], None, None]:
    """Source, target and, if the columns name one, id of each pair of a table."""
    kind = kind_of(path) if columns is None or columns.kind is None else columns.kind
    lines = read_lines(path, errors)
    if kind is None:
        begin = list(islice(lines, 1))
        kind, lines = _kind_by_line("".join(begin)), chain(begin, lines)
    if kind == "json":
        yield from _of_objects(path, columns or Columns(("source", "target")), lines)
        return
    rows = {"csv": _csv, "tsv": _tsv, "xlsx": _xlsx}[kind](path, lines)
    first = next(rows, None)
    if first is None:
        return
    places = _places(first, columns)
    titled = columns.header if columns is not None else places.pop()
    for place, cells in rows if titled else chain([first], rows):
        yield [_cell(cells, at, place) for at in places]


def _kind_by_line(first: str) -> str:
    if "\t" not in first and first.lstrip().startswith("{"):
        return "json"
    return "csv" if "\t" not in first and ("," in first or ";" in first) else "tsv"


def _places(first: tuple[str, list[str]], columns: Columns | None) -> list[int]:
    """The numbers of the columns, by the first row; without `columns`, then 1 if that has titles, or 0."""
    place, cells = first
    titles = [cell.strip().lower() for cell in cells]
    if columns is None:
        if titles.count("source") == titles.count("target") == 1:
            return [titles.index("source"), titles.index("target"), 1]
        if len(cells) == 2:
            return [0, 1, 0]
        raise DataError(
            f"{place}: which of these {len(cells)} columns are source and target? Name them, as in "
            "--columns source=1,target=2"
        )
    for name in columns.names:
        if isinstance(name, str) and (found := titles.count(name.lower())) != 1:
            raise DataError(
                f"{place}: {f'{found} columns are' if found else 'no column is'} titled `{name}`; "
                f"the first row is {', '.join(cells)}"
            )
    return [titles.index(name.lower()) if isinstance(name, str) else name for name in columns.names]


def _cell(cells: Sequence[str], at: int, place: str) -> str:
    if at >= len(cells):
        if not any(cells):
            return ""  # a blank line
        raise DataError(f"{place}: no column {at + 1}, the row has {len(cells)}; check the columns")
    return cells[at].translate(_BLANKS)


def _tsv(path: str, lines: Iterator[str]) -> Rows:
    for number, line in enumerate(lines, 1):
        yield f"{path}:{number}", line.split("\t")


def _csv(path: str, lines: Iterator[str]) -> Rows:
    first = next(lines, None)
    if first is None:
        return
    # Where commas are decimal points, spreadsheets write semicolons.
    separator = max(",;\t", key=first.count)
    reader = csv.reader((f"{line}\n" for line in chain([first], lines)), delimiter=separator, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}:{number}: cannot be read as CSV ({error}); check its quotes") from None
        if cells is None:
            return
        yield f"{path}:{number}", cells


def _xlsx(path: str, lines: Iterator[str]) -> Rows:
    missing = "reading a spreadsheet needs openpyxl; install it with: pip install 'dualign[xlsx]'"
    with refusing(ImportError, by=UsageError, what=missing, place=path):
        from openpyxl import load_workbook
    with open_input(path) as stream:
        content = io.BytesIO(stream.read())
    try:
        sheet = load_workbook(content, read_only=True, data_only=True).worksheets[0]
        empty = 0
        for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
            cells = ["" if value is None else str(value) for value in values]
            if not any(cells):
                empty += 1  # a sheet often has some at its end
                continue
            yield from ((f"{path}, row {number - back}", [""]) for back in range(empty, 0, -1))
            empty = 0
            yield f"{path}, row {number}", cells
    except (DataError, UsageError):
        raise
    except Exception as error:  # whatever the library finds in a damaged archive
        raise DataError(
            f"{path}: cannot be read as a spreadsheet ({error}); save it again as .xlsx"
        ) from None


def _of_objects(path: str, columns: Columns, lines: Iterator[str]) -> Iterator[list[str]]:
    def cells(line: str) -> list[str]:
        if not line.strip():
            return [""] * len(columns.names)
        record = parse_json(line, "write one object on each line", computed=False)
        return [_value(record, name) for name in columns.names]

    return parsed(path, lines, cells)


def _value(record: Any, name: int | str) -> str:
    """A text, or tokens with blanks between them, by a path of keys."""
    value, key = record, str(name + 1 if isinstance(name, int) else name)
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            raise DataError(f"no `{key}`; name the keys, as in --columns source=de,target=en")
        value = value[part]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = " ".join(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise DataError(f"`{key}` is neither a text nor a list of tokens")
    return value.translate(_BLANKS)


def separator_of(path: str, lines: Iterable[str], before: int) -> bool | None:
    """Whether lines, with this many before them, have bars, by the first that is not empty."""
    for number, line in enumerate(lines, before + 1):
        if tokens := tokenize(line):
            if _BARS not in tokens:
                check_separator(line, f"{path}:{number}", bars=False)
            return _BARS in tokens
    return None


def split_line(line: str, bars: bool, place: str) -> tuple[list[str], list[str]]:
    """Return the tokens of both sides of a line."""
    tokens = tokenize(line)
    if not tokens and (bars or "\t" not in line):
        return [], []
    if (found := tokens.count(_BARS) if bars else line.count("\t")) != 1:
        raise wrong_separators(place, found, bars)
    if bars:
        at = tokens.index(_BARS)
        return tokens[:at], tokens[at + 1 :]
    left, right = line.split("\t")
    return tokenize(left), tokenize(right)


def check_first_line(path: str, errors: str) -> None:
    """Refuse a file in whose first line that is not empty nothing can be a separator."""
    for number, line in enumerate(read_lines(path, errors), 1):
        if tokenize(line):
            check_separator(line, f"{path}:{number}")
            return


def check_separator(line: str, place: str, *, bars: bool = True) -> None:
    """Refuse a line, the first of its file that is not empty, in which nothing can be a separator."""
    if "\t" not in line and not (bars and _BARS in line):
        raise DataError("no separator", place=place, remedy=OR_TWO_FILES)


def wrong_separators(place: str, found: int, bars: bool) -> DataError:
    """Return the error of a line that has not one separator."""
    name = _BARS if bars else "<TAB>"
    count = f"{found} separators" if found else "no separator"
    return DataError(f"{count} `{name}` on this line", place=place, remedy="write one")
