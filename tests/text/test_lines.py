"""Lines and tokens: what ends a line, what ends a token, and which bytes are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign._core.files import streams
from dualign.text import utf8 as lines
from dualign.text.blocks import read_pairs
from dualign.text.utf8 import read_lines, tokenize


def lines_of(tmp_path: Path, data: bytes, errors: str = "strict") -> list[str]:
    path = tmp_path / "text"
    path.write_bytes(data)
    return list(read_lines(str(path), errors))


def naive_lines(data: bytes) -> list[str]:
    """One line after the other, in the simplest way."""
    pieces = data.decode().split("\n")
    if pieces[-1] == "":
        pieces.pop()
    return [piece.removesuffix("\r").removeprefix("\ufeff") for piece in pieces]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\r", ["a\rb"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", [""]),
        ("a\u2028b\u0085c\x0bd\x0ce\x1cf\n".encode(), ["a\u2028b\u0085c\x0bd\x0ce\x1cf"]),
    ],
)
def test_what_ends_a_line(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert lines_of(tmp_path, data) == expected


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 18])
def test_block_borders_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(lines, "_BLOCK", block)
    data = "\ufeffein Haus\r\n\n\n日本語\u3000の\n\ufeff𝔘nicode\nlast".encode()
    assert lines_of(tmp_path, data) == naive_lines(data)


@settings(deadline=None)
@given(text=st.text(alphabet="a\n\r\ufeffé日𝔘 \t", max_size=60), block=st.integers(1, 9))
def test_lines_match_the_naive_reader(
    tmp_path_factory: pytest.TempPathFactory, text: str, block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        assert list(read_lines(str(path))) == naive_lines(text.encode())


def test_a_line_longer_than_many_blocks(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    assert lines_of(tmp_path, b"a\n" + data + b"\nb\n") == ["a", data.decode(), "b"]


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"caf\xe9 noir"])
@pytest.mark.parametrize("before", [0, 1, 70_000])
def test_invalid_utf8_names_file_and_line_after_the_good_lines(
    tmp_path: Path, bad: bytes, before: int
) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"good line\n" * before + bad + b"\nmore\n")
    seen: list[str] = []
    with pytest.raises(DataError, match=rf"text:{before + 1}: invalid UTF-8 .*use --errors replace"):
        seen.extend(read_lines(str(path)))
    assert seen == ["good line"] * before


def test_invalid_utf8_in_a_last_line_without_end(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"text:2: invalid UTF-8 \(0xe9, byte 4 of the line\)"):
        lines_of(tmp_path, b"a\ncaf\xe9")


def test_utf16_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"text: looks like UTF-16; convert it"):
        lines_of(tmp_path, "häuser\n".encode("utf-16"))


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_compressed_data_without_suffix_are_recognised(tmp_path: Path, errors: str) -> None:
    text = b"das Haus\n"
    for method, data, suffix in (
        ("gzip", gzip.compress(text), "gz"),
        ("bzip2", bz2.compress(text), "bz2"),
        ("bzip2", bz2.compress(b"", 1), "bz2"),
        ("xz", lzma.compress(text), "xz"),
        ("zstd", b"\x28\xb5\x2f\xfd rest", "zst"),
    ):
        with pytest.raises(DataError, match=rf"text: looks like {method} data; name the file \.{suffix}"):
            lines_of(tmp_path, data, errors)


@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_spreadsheets_and_other_documents_are_said_by_what_they_are(tmp_path: Path, errors: str) -> None:
    for beginning, what in (
        (b"PK\x03\x04\x14\x00", "a zip archive, as spreadsheets are; name a spreadsheet .xlsx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Office document; save it as .xlsx"),
        (b"%PDF-1.7\n", "a PDF document; save it as text"),
    ):
        with pytest.raises(DataError, match=f"text: looks like {what}"):
            lines_of(tmp_path, beginning + b"\xff\n", errors)


def test_replace_makes_replacement_characters(tmp_path: Path) -> None:
    data = b"a\xff\nb\xc3\n\0c\n"
    assert lines_of(tmp_path, data, "replace") == ["a\ufffd", "b\ufffd", "\ufffdc"]


def test_nul_names_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"text:2: NUL character.*use --errors replace"):
        lines_of(tmp_path, b"a\nb\0c\n")


def test_the_first_bad_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="text:2: NUL"):
        lines_of(tmp_path, b"a\nb\0\n\xff\n")


def test_unknown_error_handling_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match='errors="ignore"'):
        read_lines("never opened", "ignore")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="absent: no such file"):
        list(read_lines(str(tmp_path / "absent")))


def test_truncated_gzip_in_the_middle_of_reading(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % number**5 for number in range(300_000)))[:-50])
    with pytest.raises(DataError, match=r"text\.gz: corrupt or truncated"):
        for _ in read_lines(str(path)):
            pass


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\r\nb")))
    assert list(read_lines("-")) == ["a", "b"]


def test_a_file_left_half_read_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def remember(path: str) -> io.BufferedReader:
        opened.append(streams.open_input(path))
        return opened[-1]

    monkeypatch.setattr(lines, "open_input", remember)
    (tmp_path / "text").write_bytes(b"a\nb\n")
    reader = read_lines(str(tmp_path / "text"))
    assert next(reader) == "a"
    reader.close()  # type: ignore[attr-defined]
    assert opened[0].closed


@pytest.mark.parametrize(
    "space", [" ", "\t", "\u00a0", "\u202f", "\u3000", "\u2003", "\x85", "\x1c", "\x1f", "\r"]
)
def test_every_white_space_separates(space: str) -> None:
    assert tokenize(f"{space}das{space}{space}Haus{space}") == ["das", "Haus"]


def test_zero_width_space_does_not_separate() -> None:
    assert tokenize("a\u200bb c") == ["a\u200bb", "c"]


def test_tokens_are_composed() -> None:
    assert tokenize("cafe\u0301 Ha\u0308user") == ["café", "Häuser"]


def test_a_combining_mark_stays_in_its_own_token() -> None:
    assert tokenize("e \u0301a") == ["e", "\u0301a"]


def test_byte_order_mark_is_never_at_the_edge_of_a_token() -> None:
    assert tokenize("\ufeffa\ufeff \ufeff\ufeff b\ufeffc") == ["a", "b\ufeffc"]
    assert tokenize("\ufeff") == []


@settings(deadline=None)
@given(st.text())
def test_tokens_are_stable_normal_and_never_empty(line: str) -> None:
    tokens = tokenize(line)
    assert all(tokens)
    assert all(unicodedata.is_normalized("NFC", token) for token in tokens)
    assert tokenize(" ".join(tokens)) == tokens


@settings(deadline=None)
@given(st.text())
def test_normalising_the_line_is_normalising_its_tokens(line: str) -> None:
    each = [unicodedata.normalize("NFC", token).strip("\ufeff") for token in line.split()]
    assert tokenize(line) == [token for token in each if token]


def test_a_line_without_an_end_is_refused_before_it_fills_memory(tmp_path: Path, monkeypatch) -> None:
    for module in ("utf8", "blocks"):
        monkeypatch.setattr(f"dualign.text.{module}.LONGEST_LINE", 1 << 22)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"short\n" + b"a" * (1 << 25)))
    for read in (read_lines, lambda name: read_pairs(name, name)):
        with pytest.raises(DataError, match=r"bomb\.gz:2: a line of more than 4 MiB; is this a text file\?"):
            list(read(str(path)))
