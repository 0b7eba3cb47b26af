"""Blocks of lines hold the pairs that `read_pairs` reads, with the same errors, however they are cut."""

from __future__ import annotations

import gzip
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign.text import blocks as line_blocks
from dualign.text.blocks import Position, TextFiles, read_blocks, read_pairs

pytestmark = pytest.mark.kernel

PIECES = [
    *"aé ", "\u00a0", "\u3000", "\u2028", "\ufeff", "e\u0301", "\u0301", "\r", "\n", "\n", "\t", " ||| ",
    "|||", "語", "🙂", "\u212b", "가", "\u11a8", "Ж", "b\x00", "\u0085",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
BYTES = st.one_of(
    TEXTS.map(str.encode),
    st.lists(st.sampled_from([*map(str.encode, PIECES), b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])).map(
        b"".join
    ),
)


def outcome(read):
    try:
        return [tuple(map(list, pair)) for pair in read()]
    except DataError as error:
        return str(error)


def pairs_in_blocks(source, target, lines, errors, begin=line_blocks.BEGINNING):
    for block in read_blocks(TextFiles(source, target, errors=errors), lines, begin):
        sides = [side.decode().split("\n") for side in block.normalised()]
        assert [len(side) for side in sides] == [len(block) + 1] * 2
        yield from ((s.split(), t.split()) for s, t in zip(*(side[:-1] for side in sides), strict=True))


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return folder / "s", folder / "t"


@given(BYTES, BYTES, st.integers(1, 5), st.sampled_from(["strict", "replace"]))
def test_two_files_are_read_alike(paths, source, target, lines, errors):
    for path, content in zip(paths, (source, target), strict=True):
        path.write_bytes(content)
    names = [str(path) for path in paths]
    expected = outcome(lambda: read_pairs(*names, errors=errors))
    found = outcome(lambda: pairs_in_blocks(*names, lines, errors))
    if isinstance(expected, str) and isinstance(found, str):
        return  # of two errors, which comes first depends on the blocks
    assert found == expected


@given(BYTES, st.integers(1, 5), st.sampled_from(["strict", "replace"]))
def test_one_file_is_read_alike(paths, content, lines, errors):
    paths[0].write_bytes(content)
    name = str(paths[0])
    expected = outcome(lambda: read_pairs(name, errors=errors))
    found = outcome(lambda: pairs_in_blocks(name, None, lines, errors))
    if isinstance(expected, str) and isinstance(found, str):
        return
    assert found == expected


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 5))
@pytest.mark.parametrize("name", ["s", "s.gz"])
def test_reading_goes_on_from_the_end_of_any_block(paths, name, pairs, lines, which):
    lists = [
        [text.replace("\n", " ").replace("\0", "") for text in side] for side in zip(*pairs, strict=True)
    ]
    contents = ["".join(f"{line}\n" for line in side).encode() for side in lists]
    names = [str(paths[0].with_name(name)), str(paths[1].with_name(name.replace("s", "t")))]
    for path, content in zip(names, contents, strict=True):
        with open(path, "wb") as file:
            file.write(gzip.compress(content) if path.endswith(".gz") else content)
    blocks = list(read_blocks(TextFiles(*names), lines))
    begin = blocks[which % len(blocks)].end
    whole = list(pairs_in_blocks(*names, lines, "strict"))
    assert list(pairs_in_blocks(*names, lines, "strict", begin)) == whole[begin.line :]


def test_blocks_end_where_they_are_large_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 10)
    for name, lines in (("s", ["a" * 4, "b" * 30, "c", "d"]), ("t", ["x"] * 4)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    names = str(tmp_path / "s"), str(tmp_path / "t")
    blocks = list(read_blocks(TextFiles(*names), 100))
    assert [len(block) for block in blocks] == [1, 1, 2]
    assert blocks[-1].end == Position(4, 40, 8)


@pytest.mark.parametrize(("lines", "others"), [(5, 3), (3, 5), (0, 2), (40, 3)])
def test_files_of_different_length_are_noticed_at_the_end(tmp_path, lines, others):
    names = str(tmp_path / "s"), str(tmp_path / "t")
    for name, count in zip(names, (lines, others), strict=True):
        with open(name, "w") as file:
            file.write("a\n" * count)
    found = []
    with pytest.raises(DataError, match=f"s has {lines} lines? but .*t has {others};"):
        found.extend(pairs_in_blocks(*names, 2, "strict"))
    assert len(found) == min(lines, others)


def test_packed_data_without_a_suffix_are_refused(tmp_path):
    (tmp_path / "s").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "t").write_bytes(b"x\n")
    names = str(tmp_path / "s"), str(tmp_path / "t")
    with pytest.raises(DataError, match="looks like gzip data"):
        list(pairs_in_blocks(*names, 2, "strict"))


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: data.decode().encode("utf-16")])
@pytest.mark.parametrize("side", [0, 1])
def test_other_data_are_told_before_their_number_of_lines(tmp_path, pack, side):
    text = b"".join(b"line %d\n" % n for n in range(3000))
    (tmp_path / "st"[side]).write_bytes(pack(text))
    (tmp_path / "ts"[side]).write_bytes(b"x\n" * 29)
    for reader in (lambda *names: read_blocks(TextFiles(*names), 100), read_pairs):
        with pytest.raises(DataError, match=f"{'st'[side]}: looks like (gzip data|UTF-16)"):
            list(reader(str(tmp_path / "s"), str(tmp_path / "t")))


def test_an_unknown_way_to_treat_errors_is_refused(paths):
    with pytest.raises(UsageError, match='errors="ignore"'):
        next(read_blocks(TextFiles(*map(str, paths), errors="ignore"), 2))


@pytest.mark.parametrize("width", [10, 3000])
def test_two_pipes_that_one_program_fills_line_by_line_are_read_to_their_end(width):
    """It must not wait for one side while the other is full."""
    ends = [os.pipe(), os.pipe()]
    lines = 4000

    def fill() -> None:
        writers = [os.fdopen(end[1], "wb", buffering=0) for end in ends]
        for n in range(lines):
            writers[0].write(b"%d\n" % n)
            writers[1].write(b"%d %s\n" % (n, b"x" * width))
        for writer in writers:
            writer.close()

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    blocks = list(read_blocks(TextFiles(*(f"/dev/fd/{end[0]}" for end in ends)), 3072))
    thread.join(10)
    for end in ends:
        os.close(end[0])
    assert sum(len(block) for block in blocks) == lines


@pytest.mark.parametrize("last", ["", "\n"])
def test_the_place_after_the_last_line_is_the_end_of_the_file(tmp_path, last):
    files = []
    for name, text in (("s", "a\nb c\nd"), ("t", "x\ny\nz w")):
        (tmp_path / name).write_text(text + last)
        files.append(str(tmp_path / name))
    *_, end = [block.end for block in read_blocks(TextFiles(*files), 2)]
    assert end == (3, *(os.path.getsize(file) for file in files))
    assert list(read_blocks(TextFiles(*files), 2, end)) == []
    (tmp_path / "one").write_text("a\tb\n" * 3)
    one = TextFiles(str(tmp_path / "one"))
    *_, alone = [block.end for block in read_blocks(one, 2)]
    assert list(read_blocks(one, 2, alone)) == []


@pytest.mark.parametrize("at_once", [True, False])
def test_bad_lines_are_the_same_ones_whether_they_come_together_or_one_by_one(tmp_path, at_once):
    lines = [b"junk\n", b"\n", b"a\tb\tc\n", b"d ||| e\n", b"f\tg\n"]
    ends = os.pipe()
    told: list[str] = []
    with os.fdopen(ends[1], "wb", buffering=0) as writer, open(ends[0], "rb") as reader:
        writer.write(b"".join(lines) if at_once else lines.pop(0))
        blocks = read_blocks(TextFiles(f"/dev/fd/{reader.fileno()}", tell=told.append), 10)
        pairs = []
        while at_once or lines:
            pairs += next(blocks).pairs()
            if at_once:
                break
            writer.write(lines.pop(0))
        writer.close()
        pairs += [pair for block in blocks for pair in block.pairs()]
    assert list(map(tuple, pairs)) == [([], [])] * 4 + [(["f"], ["g"])]
    assert [message.split(":")[1] for message in told] == ["1", "3", "4"]
    assert "no separator `<TAB>`" in told[2]
