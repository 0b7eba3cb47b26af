"""Tokens are found in the text that they were cut from as the slower `locate` finds them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.text.simple_tokenizer import simple_cut
from dualign.text.tokenizing import words_of
from dualign.transfer.positions import places_of_tokens
from dualign.transfer.tokens import locate, overlaps

pytestmark = pytest.mark.kernel

LINES = st.lists(
    st.lists(st.sampled_from([*"aé. ,'", " ", "\u00a0", "語", "🙂", "\t", "\r"]), max_size=15).map("".join),
    max_size=4,
)


@given(LINES, st.booleans())
def test_places_are_those_of_locate(lines, ascii):
    text = "".join(f"{line}\n" for line in lines)
    cut = simple_cut(text.encode())
    places = places_of_tokens(text.encode(), cut, ascii)
    assert places is not None
    for n, (line, tokens) in enumerate(zip(lines, cut.decode().split("\n"), strict=False)):
        spans = locate(tokens.split(), line, ("tokens", "text"))
        words = [] if not line.split() else locate(words_of(line, ascii), line, ("words", "text"))
        part = slice(places.offsets[n], places.offsets[n + 1])
        assert list(zip(places.begin[part], places.end[part], strict=True)) == spans
        if not ascii:
            assert [[word] for word in places.word[part]] == overlaps(spans, words)


@pytest.mark.parametrize("tokens", [b"a c\n", b"a\n", b"a b c\n", b"\xe2\x96\x81a b\n"])
def test_another_text_is_noticed(tokens):
    assert places_of_tokens(b"a b\n", tokens, False) is None
