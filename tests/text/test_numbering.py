"""Words numbered from bytes, and links printed by a kernel: the same as by way of Python's strings."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dualign
from dualign.text.bitext import numbered
from dualign.text.numbering import Side, encode_files
from dualign.text.pairs import read_pairs
from dualign.text.printing import print_links

pytestmark = pytest.mark.kernel

SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]
OTHERS = "\n \ufeff\0aAbéÉİ日\u200b\u2010\u2060\u00ac\u1681\u3001\U0001f600"
PIECES = st.sampled_from([*SPACES, *OTHERS, "\n", " ", "\r\n", "ab", "e\u0301", "日本", "x" * 9])


def written(tmp_path, source, target):
    paths = tmp_path / "s", tmp_path / "t"
    for path, data in zip(paths, (source, target), strict=True):
        path.write_bytes(data)
    return [str(path) for path in paths]


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
)
def test_the_same_as_encoding_tokens(tmp_path_factory, source, target, lowercase, errors, block):
    paths = written(tmp_path_factory.mktemp("texts"), source.encode(), target.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dualign.text.lines._BLOCK", block)
        found = outcome(lambda: encode_files(*paths, lowercase, errors=errors))
    assert found == outcome(lambda: numbered(read_pairs(*paths, errors=errors), lowercase))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=30), st.sampled_from(["strict", "replace"]))
def test_any_bytes(tmp_path_factory, data, errors):
    paths = written(tmp_path_factory.mktemp("texts"), data, data)
    found = outcome(lambda: encode_files(*paths, False, errors=errors))
    assert found == outcome(lambda: numbered(read_pairs(*paths, errors=errors), False))


def test_many_words_over_many_blocks():
    """The table grows, and keeps what it knows."""
    rng = np.random.default_rng(5)
    side, expected = Side(), []
    for _ in range(40):
        words = [f"w{n}" for n in rng.integers(0, 5000, 300)]
        expected += words
        side.add((" ".join(words) + "\n").encode())
    sentences, names = side.finished()
    assert [names[token] for token in sentences.tokens] == expected
    assert len(set(names)) == len(names)
    assert sentences.lengths.tolist() == [300] * 40


def test_different_numbers_of_lines(tmp_path):
    paths = written(tmp_path, b"a\nb\nc\n", b"x\n")
    with pytest.raises(dualign.DataError, match=r"s has 3 lines but .*t has 1;"):
        encode_files(*paths, True)


@pytest.mark.parametrize(
    ("data", "message"), [(b"a\nb\xff c\n", r"s:2: invalid UTF-8"), (b"\0", r"s:1: NUL")]
)
def test_bad_bytes_are_named_with_their_line(tmp_path, data, message):
    with pytest.raises(dualign.DataError, match=message):
        encode_files(*written(tmp_path, data, b"x\ny\n"), True)


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
    count = np.array([len(pair) for pair in pairs], np.int32)
    links = source, target, probability, np.cumsum(count) - count, count
    plain = "".join(" ".join(f"{i}-{j}" for i, j, _ in pair) + "\n" for pair in pairs)
    scored = "".join(" ".join(f"{i}-{j}:{p:.6f}" for i, j, p in pair) + "\n" for pair in pairs)
    assert print_links(*links, False).decode() == plain
    assert print_links(*links, True).decode() == scored


@pytest.mark.parametrize("millionths", [0.5, 1.5, 2.5, 499999.5, 999999.5])
def test_halves_are_rounded_to_the_even_side(millionths):
    p = np.float32(round(millionths / 1e6 * 2**20) / 2**20)
    one = np.ones(1, np.int32)
    printed = print_links(one, one, np.array([p]), np.zeros(1, np.int64), one, True).decode()
    assert printed == f"1-1:{float(p):.6f}\n"
