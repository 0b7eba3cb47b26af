"""Sentence pairs from two files, or from one with a separator."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from dualign._core.errors import DataError, UsageError
from dualign.text.blocks import read_pairs


def write(path: Path, text: str) -> str:
    path.write_bytes(text.encode())
    return str(path)


def one(tmp_path: Path, text: str) -> list[tuple[list[str], list[str]]]:
    return list(read_pairs(write(tmp_path / "both", text)))


def two(tmp_path: Path, source: str, target: str) -> list[tuple[list[str], list[str]]]:
    return list(read_pairs(write(tmp_path / "source", source), write(tmp_path / "target", target)))


def test_parallel_files(tmp_path: Path) -> None:
    pairs = two(tmp_path, "das Haus\n\nja\n", "the house\nempty\n\n")
    assert pairs == [(["das", "Haus"], ["the", "house"]), ([], ["empty"]), (["ja"], [])]


def test_both_sides_follow_the_same_unicode_rules(tmp_path: Path) -> None:
    text = "\ufeffa\u00a0b\u3000cafe\u0301\r\n"
    assert two(tmp_path, text, text) == [(["a", "b", "café"], ["a", "b", "café"])]


def test_last_line_may_lack_its_end_on_one_side(tmp_path: Path) -> None:
    assert two(tmp_path, "a\nb", "c\nd\n") == [(["a"], ["c"]), (["b"], ["d"])]


def test_bars_in_parallel_files_are_words(tmp_path: Path) -> None:
    assert two(tmp_path, "a ||| b\n", "c\td\n") == [(["a", "|||", "b"], ["c", "d"])]


@pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (0, 2), (2, 0), (3, 4), (4, 3)])
def test_different_lengths_name_both_files_and_both_counts(tmp_path: Path, source: int, target: int) -> None:
    with pytest.raises(DataError, match=rf"source has {source} lines but \S*target has {target};"):
        two(tmp_path, "a\n" * source, "b\n" * target)


def test_pairs_before_the_end_of_the_shorter_file_are_given(tmp_path: Path) -> None:
    pairs = read_pairs(write(tmp_path / "s", "a\nb\n"), write(tmp_path / "t", "c\n"))
    assert next(pairs) == (["a"], ["c"])
    with pytest.raises(DataError):
        next(pairs)


def test_two_empty_files_have_no_pairs(tmp_path: Path) -> None:
    assert two(tmp_path, "", "") == []


def test_one_side_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "file", "c d\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
    assert list(read_pairs("-", path)) == [(["a", "b"], ["c", "d"])]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n")))
    assert list(read_pairs(path, "-")) == [(["c", "d"], ["a", "b"])]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a ||| b\n")))
    assert list(read_pairs("-")) == [(["a"], ["b"])]


def test_both_sides_from_standard_input_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="both be standard input; name a file"):
        read_pairs("-", "-")


def test_bars(tmp_path: Path) -> None:
    text = "das Haus ||| the house\n\na |||\n||| b\n|||\n  \nc\t|||\u00a0d\n"
    assert one(tmp_path, text) == [
        (["das", "Haus"], ["the", "house"]),
        ([], []),
        (["a"], []),
        ([], ["b"]),
        ([], []),
        ([], []),
        (["c"], ["d"]),
    ]


def test_tabs(tmp_path: Path) -> None:
    text = "das Haus\tthe house\n\na\t\n\tb\n\t\n  \na|||b\tc |||\n"
    assert one(tmp_path, text) == [
        (["das", "Haus"], ["the", "house"]),
        ([], []),
        (["a"], []),
        ([], ["b"]),
        ([], []),
        ([], []),
        (["a|||b"], ["c", "|||"]),
    ]


def test_bars_win_over_a_tab(tmp_path: Path) -> None:
    assert one(tmp_path, "a\tb ||| c\n") == [(["a", "b"], ["c"])]


def test_bars_inside_a_word_are_no_separator(tmp_path: Path) -> None:
    assert one(tmp_path, "a|||b\tc\n") == [(["a|||b"], ["c"])]


def test_the_first_line_that_is_not_empty_decides(tmp_path: Path) -> None:
    assert one(tmp_path, "\n \n\t\na\tb\n") == [([], []), ([], []), ([], []), (["a"], ["b"])]


def test_no_separator_names_file_line_and_both_forms(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"both:2: no separator; .*source \|\|\| target.*source<TAB>target"):
        one(tmp_path, "\nonly one side\n")


@pytest.mark.parametrize(("line", "found"), [("x y", 0), ("x ||| y ||| z", 2), ("x|||y", 0), ("x\ty", 0)])
def test_later_line_without_exactly_one_pair_of_bars(tmp_path: Path, line: str, found: int) -> None:
    with pytest.raises(DataError, match=rf"both:3: {found or 'no'} separators? `\|\|\|` on this line"):
        one(tmp_path, f"a ||| b\n\n{line}\n")


@pytest.mark.parametrize(("line", "found"), [("x y", 0), ("x\ty\tz", 2), ("\t\t", 2), ("x ||| y", 0)])
def test_later_line_without_exactly_one_tab(tmp_path: Path, line: str, found: int) -> None:
    with pytest.raises(DataError, match=rf"both:3: {found or 'no'} separators? `<TAB>` on this line"):
        one(tmp_path, f"a\tb\n\n{line}\n")


def test_empty_file_has_no_pairs(tmp_path: Path) -> None:
    assert one(tmp_path, "") == []
    assert one(tmp_path, "\n\n") == [([], []), ([], [])]


def test_compressed_file(tmp_path: Path) -> None:
    path = tmp_path / "both.gz"
    path.write_bytes(gzip.compress(b"a ||| b\n"))
    assert list(read_pairs(str(path))) == [(["a"], ["b"])]


def test_invalid_utf8_names_the_right_file_and_can_be_replaced(tmp_path: Path) -> None:
    source, target = write(tmp_path / "source", "a\nb\n"), str(tmp_path / "target")
    Path(target).write_bytes(b"c\n\xff\n")
    with pytest.raises(DataError, match="target:2: invalid UTF-8"):
        list(read_pairs(source, target))
    assert list(read_pairs(source, target, errors="replace"))[1] == (["b"], ["\ufffd"])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="absent: no such file"):
        list(read_pairs(str(tmp_path / "absent")))
