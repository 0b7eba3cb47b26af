"""Words numbered from bytes, and links printed by a kernel: the same as by way of Python's strings."""

import gzip
import lzma
import os
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualign
from dualign._core.jit import kernel
from dualign._core.memory import Workspace
from dualign.hmm.model import Unknowns, Vocabulary
from dualign.text import numbering
from dualign.text.blocks import TextFiles, read_blocks, read_pairs
from dualign.text.corpus import numbered
from dualign.text.links import Links
from dualign.text.numbering import (
    LINES,
    SideNumbering,
    encode_text,
    number_block,
    number_lines,
    place_words,
    renumber_block,
    room_for_words,
    slot_of,
    table_of,
)
from dualign.text.utf8_kernels import print_links

compiled_slot_of = kernel(slot_of)

pytestmark = pytest.mark.kernel

SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]
OTHERS = "\n \ufeff\0aAbéÉİ日\u200b\u2010\u2060\u00ac\u1681\u3001\U0001f600"
PIECES = st.sampled_from([*SPACES, *OTHERS, "\n", " ", "\r\n", "ab", "e\u0301", "日本", "x" * 9])


def written(tmp_path, source, target):
    paths = tmp_path / "s", tmp_path / "t"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    return [str(path) for path in paths]


def add(side, words):
    renumber_block(*side.place(number_block((" ".join(words) + "\n").encode())))


def number_files(text, lowercase, *, blocks=None, **how):
    return encode_text(text, read_blocks(text, LINES) if blocks is None else blocks, lowercase, **how)


def outcome(run):
    """What a reader gives, or what it complains of."""
    try:
        text = run()
    except dualign.DataError as error:
        return type(error)
    sides = (text.source, text.target)
    return (
        text.source_words,
        text.target_words,
        [(side.tokens.tolist(), side.offsets.tolist()) for side in sides],
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(PIECES, max_size=25).map("".join),
    st.booleans(),
    st.sampled_from(["strict", "replace"]),
    st.integers(3, 40),
    st.integers(1, 60),
)
def test_the_same_as_encoding_tokens(tmp_path_factory, source, target, lowercase, errors, piece, block):
    paths = written(tmp_path_factory.mktemp("texts"), source.encode(), target.encode())
    expected = outcome(lambda: numbered(read_pairs(*paths, errors=errors), lowercase))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualign.text.blocks._READ", piece)
        patch.setattr("dualign.text.blocks.BLOCK_BYTES", block)
        for threads in (1, 3):
            found = outcome(
                lambda n=threads: number_files(TextFiles(*paths, errors=errors), lowercase, threads=n)
            )
            assert found == expected


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=30), st.sampled_from(["strict", "replace"]), st.integers(1, 2))
def test_any_bytes(tmp_path_factory, data, errors, threads):
    paths = written(tmp_path_factory.mktemp("texts"), data, data)
    found = outcome(lambda: number_files(TextFiles(*paths, errors=errors), False, threads=threads))
    assert found == outcome(lambda: numbered(read_pairs(*paths, errors=errors), False))


@given(
    st.lists(
        st.lists(st.text("ab", min_size=1, max_size=3).map(lambda word: word * 8), max_size=9), max_size=9
    ),
    st.lists(st.integers(0, 26), min_size=1, max_size=9),
)
def test_words_that_differ_late_are_different(lines, cuts):
    """Sizes around eight and sixteen bytes, where words are compared in other ways."""
    lines = [[word[: cuts[k % len(cuts)] + 1] for k, word in enumerate(line)] for line in lines]
    side = SideNumbering()
    for line in lines:
        add(side, line)
    sentences, names = side.finished()
    assert [names[token] for token in sentences.tokens] == [word for line in lines for word in line]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("bits", [0, 1, 63])
def test_hashes_that_collide_do_no_harm(bits):
    """Long words are compared by their letters, short ones by hashes that are never the same."""
    hashes = number_block(b"abcdefgh abcdefgha abcdefghb abcdefghabcdefgh\n").words.hashes
    assert len(set(hashes[:4].tolist())) == 4
    words = room_for_words(numbering.octets(b"longer-than-8 longer-than-9 short\n"), 4)
    code = np.uint64(1) << np.uint64(bits)
    for word, (begin, size) in enumerate([(0, 13), (14, 13), (28, 5)]):
        assert words.slots[compiled_slot_of(words, words.letters, begin, size, code), 1] == 0
        words.begins[word], words.sizes[word], words.hashes[word] = begin, size, code
        words.slots[:] = 0
        place_words(words, word + 1)
    for word, (begin, size) in enumerate([(0, 13), (14, 13), (28, 5)]):
        slot = compiled_slot_of(words, words.letters, begin, size, code)
        assert words.slots[slot, 1] >> np.uint64(1) == word + 1


def test_the_same_for_any_number_of_threads_and_any_budget(tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    texts = []
    for _ in range(2):
        lines = (
            " ".join(f"{'W' if n % 3 else 'w'}é{n * n}" for n in rng.zipf(1.3, rng.integers(0, 9)) % 5000)
            for _ in range(3000)
        )
        texts.append("".join(f"{line}\n" for line in lines).encode())
    paths = written(tmp_path, *texts)
    monkeypatch.setattr("dualign.text.blocks.BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("dualign.text.blocks._READ", 1 << 10)
    monkeypatch.setattr("dualign._core.memory.SMALL", 1 << 10)
    monkeypatch.setattr("dualign._core.memory.SEGMENT", 1 << 9)
    for lowercase in (False, True):
        expected = outcome(lambda low=lowercase: numbered(read_pairs(*paths), low))
        for threads in (1, 2, 5):
            for room in (None, Workspace(1, str(tmp_path))):
                text = number_files(TextFiles(*paths), lowercase, threads=threads, workspace=room)
                assert outcome(lambda text=text: text) == expected
                assert room is None or room.on_disk > 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("pack", [(gzip.compress, "gz"), (lzma.compress, "xz")], ids=["gz", "xz"])
def test_compressed_files(tmp_path, pack, threads):
    compress, suffix = pack
    source, target = b"a b c\n" * 3000, b"x y\n" * 3000
    paths = written(tmp_path, source, target)
    packed = [f"{path}.{suffix}" for path in paths]
    for path, data in zip(packed, (source, target), strict=True):
        with open(path, "wb") as file:
            file.write(compress(data))
    found = outcome(lambda: number_files(TextFiles(*packed), False, threads=threads))
    assert found == outcome(lambda: number_files(TextFiles(*paths), False))


@pytest.mark.parametrize("threads", [1, 3])
def test_two_pipes_that_one_program_fills(threads):
    """It cannot go on with one of them as long as the other is full."""
    (left_end, left), (right_end, right) = os.pipe(), os.pipe()
    line = b"word " * 50 + b"\n"

    def fill():
        for _ in range(8000):
            os.write(left, line)
            os.write(right, line)
        os.close(left)
        os.close(right)

    program = threading.Thread(target=fill, daemon=True)
    program.start()
    text = number_files(TextFiles(f"/dev/fd/{left_end}", f"/dev/fd/{right_end}"), True, threads=threads)
    program.join()
    os.close(left_end)
    os.close(right_end)
    assert len(text) == 8000
    assert len(text.source.tokens) == len(text.target.tokens) == 400_000


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_error_is_reported_however_far_threads_have_read(tmp_path, monkeypatch, threads):
    monkeypatch.setattr("dualign.text.blocks.BLOCK_BYTES", 100)
    monkeypatch.setattr("dualign.text.blocks._READ", 100)
    good, bad = b"good line\n" * 10, b"good\nb\xffd\n" + b"good line\n" * 10
    source = str(tmp_path / "s.gz")
    with open(source, "wb") as file:
        file.write(gzip.compress(good + bad + b"".join(b"%d\n" % n**5 for n in range(300)))[:-50])
    target = written(tmp_path, b"", good * 9 + b"\0\n")[1]
    with pytest.raises(dualign.DataError, match=r"s\.gz:12: invalid UTF-8"):
        number_files(TextFiles(source, target), True, threads=threads)
    with pytest.raises(dualign.DataError, match=r"s\.gz: corrupt or truncated"):
        number_files(TextFiles(source, source, errors="replace"), True, threads=threads)


def test_a_missing_file_and_unknown_errors(tmp_path):
    path = written(tmp_path, b"a\n", b"b\n")[0]
    for threads in (1, 2):
        with pytest.raises(dualign.DataError, match="absent: no such file"):
            number_files(TextFiles(path, str(tmp_path / "absent")), True, threads=threads)
    with pytest.raises(dualign.UsageError, match='errors="ignore"'):
        number_files(TextFiles(path, path, errors="ignore"), True)


def test_a_full_disk_names_the_folder(tmp_path, monkeypatch):
    def full(file, begin, size):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr("dualign._core.memory.SMALL", 10)
    paths = written(tmp_path, b"a\n" * 100, b"b\n" * 100)
    for threads in (1, 2):
        with pytest.raises(dualign.DataError, match=rf"{tmp_path}: cannot hold .*No space left"):
            number_files(TextFiles(*paths), True, threads=threads, workspace=Workspace(1, str(tmp_path)))


def test_many_words_over_many_blocks():
    """The table grows, and keeps what it knows."""
    rng = np.random.default_rng(5)
    side, expected = SideNumbering(), []
    for _ in range(40):
        words = [f"w{n}" for n in rng.integers(0, 5000, 300)]
        expected += words
        add(side, words)
    sentences, names = side.finished()
    assert [names[token] for token in sentences.tokens] == expected
    assert len(set(names)) == len(names)
    assert sentences.lengths.tolist() == [300] * 40


def test_different_numbers_of_lines(tmp_path):
    paths = written(tmp_path, b"a\nb\nc\n", b"x\n")
    with pytest.raises(dualign.DataError, match=r"s has 3 lines but .*t has 1;"):
        number_files(TextFiles(*paths), True)


@pytest.mark.parametrize(
    ("data", "message"), [(b"a\nb\xff c\n", r"s:2: invalid UTF-8"), (b"\0", r"s:1: NUL")]
)
def test_bad_bytes_are_named_with_their_line(tmp_path, data, message):
    with pytest.raises(dualign.DataError, match=message):
        number_files(TextFiles(*written(tmp_path, data, b"x\ny\n")), True)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.floats(0, 1, width=32)),
            max_size=5,
        ),
        max_size=5,
    )
)
def test_links_are_printed_as_python_would(pairs):
    flat = [link for pair in pairs for link in pair]
    source, target = (np.array([link[side] for link in flat], np.int32) for side in (0, 1))
    probability = np.array([link[2] for link in flat], np.float32)
    links = Links(np.cumsum([0, *map(len, pairs)]), source, target, probability)
    plain = "".join(" ".join(f"{i}-{j}" for i, j, _ in pair) + "\n" for pair in pairs)
    scored = "".join(" ".join(f"{i}-{j}:{p:.6f}" for i, j, p in pair) + "\n" for pair in pairs)
    assert print_links(links, False).decode() == plain
    assert print_links(links, True).decode() == scored


@pytest.mark.parametrize("millionths", [0.5, 1.5, 2.5, 499999.5, 999999.5])
def test_halves_are_rounded_to_the_even_side(millionths):
    p = np.float32(round(millionths / 1e6 * 2**20) / 2**20)
    one = np.ones(1, np.int32)
    printed = print_links(Links(np.array([0, 1]), one, one, np.array([p])), True).decode()
    assert printed == f"1-1:{float(p):.6f}\n"


WORDS = st.text(st.sampled_from("abAé語🙂\u200b"), min_size=1, max_size=3) | st.sampled_from(
    ["ΟΔΟΣ", "οδος", "Σ", "σ", "Α.Σ.", "İΣ", "x" * 8, "X" * 9, "x" * 17]
)
BLANKS = st.sampled_from([" ", "\t", "\u00a0", "\u3000", "  ", "\x1c"])


@given(
    st.lists(WORDS | st.sampled_from(["", "a\0", "\0", "a b", "\ud800"]), max_size=30, unique=True),
    st.lists(st.lists(st.tuples(WORDS, BLANKS), max_size=8), max_size=6),
    st.booleans(),
)
def test_numbers_by_a_table_are_those_of_a_dictionary(known, lines, lowercase):
    """Also where the table has words that no line can have, as a model of other lists of words does."""
    text = "".join("".join(f"{blank}{word}" for word, blank in line) + "\n" for line in lines)
    vocabulary = Vocabulary(known)
    table, is_lower = vocabulary.table, vocabulary.is_lower
    sentences, new = number_lines(text.encode(), table, lowercase, is_lower=is_lower)
    unknowns = Unknowns(vocabulary)
    words = [[word.lower() if lowercase else word for word in line.split()] for line in text.split("\n")[:-1]]
    expected = [[unknowns[word] for word in line] for line in words]
    found = [sentences.slice(n, n + 1).tokens.tolist() for n in range(len(sentences))]
    assert found == expected
    assert new == unknowns.new


@pytest.mark.slow
def test_every_letter_is_lowered_as_python_does():
    letters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF and chr(c).split()]
    sentences, new = number_lines((" ".join(letters) + "\n").encode(), table_of(np.empty(0, np.uint8)), True)
    assert [new[token] for token in sentences.tokens] == [letter.lower() for letter in letters]


def test_a_table_of_many_words_has_every_one():
    words = [f"w{n}" for n in range(20_000)]
    table = table_of(np.frombuffer("".join(f"{word}\n" for word in words).encode(), np.uint8))
    sentences, new = number_lines((" ".join(reversed(words)) + "\n").encode(), table)
    assert sentences.tokens.tolist() == list(range(20_000))[::-1]
    assert new == []


def test_a_table_without_words_knows_none():
    sentences, new = number_lines(b"a b a\n\n", table_of(np.empty(0, np.uint8)))
    assert sentences.tokens.tolist() == [0, 1, 0]
    assert sentences.offsets.tolist() == [0, 3, 3]
    assert new == ["a", "b"]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("lowercase", [False, True])
def test_blocks_of_both_sides_are_numbered_like_their_files(tmp_path, threads, lowercase):
    lines = (
        [f"w{n % 7} W{n % 5} x{n}\n".encode() for n in range(40)],
        [f"{n % 3} y\n".encode() for n in range(40)],
    )
    files = written(tmp_path, *(b"".join(side) for side in lines))
    text = TextFiles(*files)
    expected = outcome(lambda: number_files(text, lowercase))
    assert (
        outcome(lambda: number_files(text, lowercase, blocks=read_blocks(text, 7), threads=threads))
        == expected
    )
    nothing = number_files(text, lowercase, blocks=[], threads=threads)
    assert len(nothing) == 0
    assert nothing.source_words == []


def test_words_of_a_table_with_capitals_are_not_taken_for_lower_case():
    vocabulary = Vocabulary(["The", "the"])
    assert not vocabulary.is_lower
    sentences, new = number_lines(b"The the A\n", vocabulary.table, True, is_lower=vocabulary.is_lower)
    assert (sentences.tokens.tolist(), new) == ([1, 1, 2], ["a"])
