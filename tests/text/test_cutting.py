"""Tokenisers by name, for each side by itself; white space of Unicode and of ASCII."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError, UsageError
from dualign.text.blocks import TextFiles, read_blocks
from dualign.text.numbering import LINES, encode_text, number_block
from dualign.text.tokenizing import cutting_of, words_of

SPACES = st.text(
    st.sampled_from([*"ab  \t\r", "\u00a0", "\u3000", "\u2028", "\x1c", "\u0085", "é"]), max_size=20
)


def test_each_side_has_its_tokeniser():
    cutting = cutting_of("simple,none", "unicode")
    assert cutting.both((b"a, b.\n", b"a, b.\n")) == (b"a , b .\n", b"a, b.\n")
    assert cutting.tokens(0, "a, b.") == ["a", ",", "b", "."]
    assert cutting.tokens(1, "a, b.") == ["a,", "b."]


@pytest.mark.parametrize("name", ["mosses", "simple:de", "none:", "sentencepiece", "simple,none,simple", ""])
def test_an_unknown_tokeniser_is_an_error(name):
    with pytest.raises(UsageError, match="tokenize="):
        cutting_of(name, "unicode")


@pytest.mark.parametrize(
    ("name", "module"), [("moses", "sacremoses"), ("icu", "icu"), ("sentencepiece:x", "sentencepiece")]
)
def test_a_missing_package_is_named(name, module, monkeypatch):
    from dualign.text import tokenizing as cutting

    cutting._tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf"{module}.*'dualign\[tokenizers\]'"):
        cutting_of(name, "unicode")


def test_moses_cuts_as_its_language_does():
    pytest.importorskip("sacremoses")
    cut = cutting_of("moses:de,moses:en", "unicode")
    assert cut.tokens(0, "Am 3. Mai, z.B. & so.") == ["Am", "3.", "Mai", ",", "z.B.", "&", "so", "."]


def test_icu_counts_characters_beyond_the_first_plane():
    pytest.importorskip("icu")
    cut = cutting_of("icu:ja,icu", "unicode")
    assert cut.tokens(1, "🙂 well, 𝒳.") == ["🙂", "well", ",", "𝒳", "."]
    assert "".join(cut.tokens(0, "東京に行きました。")) == "東京に行きました。"
    assert len(cut.tokens(0, "東京に行きました。")) > 3


def test_sentencepiece_gives_its_pieces(tmp_path):
    package = pytest.importorskip("sentencepiece")
    text = tmp_path / "text"
    text.write_text("low lower lowest\nnew newer newest\n" * 20)
    package.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "m"), vocab_size=18, minloglevel=2
    )
    cutting = cutting_of(f"sentencepiece:{tmp_path / 'm.model'}", "unicode")
    assert cutting.marked == (True, True)
    assert "".join(cutting.tokens(0, "lower new")) == "▁lower▁new"
    with pytest.raises(DataError, match="SentencePiece model"):
        cutting_of(f"sentencepiece:{text}", "unicode")


@pytest.mark.kernel
@given(SPACES)
def test_white_space_of_ascii_is_that_of_bytes(line):
    block = number_block(f"{line}\n".encode(), ascii=True)
    text = f"{line}\n".encode()
    begins, sizes = block.words.begins[block.tokens], block.words.sizes[block.tokens]
    found = [text[begin : begin + size].decode() for begin, size in zip(begins, sizes, strict=True)]
    assert found == words_of(line, True) == [word.decode() for word in text.split()]


@pytest.mark.kernel
def test_files_are_cut_while_they_are_read(tmp_path):
    files = [str(tmp_path / name) for name in "st"]
    for path in files:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("Der Hund, ja.\n\n10\u00a0km\n")
    text = TextFiles(*files, cutting=cutting_of("simple,none", "ascii"))
    plain = encode_text(text, read_blocks(text, LINES), False)
    assert plain.source_words == ["Der", "Hund", ",", "ja", ".", "10", "km"]
    assert plain.target_words == ["Der", "Hund,", "ja.", "10\u00a0km"]
    assert np.array_equal(plain.target.offsets, [0, 3, 3, 4])
