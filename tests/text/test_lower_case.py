"""Lower case by the kernel is what `str.lower()` makes of each word."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.text.lower_case import lower_block

pytestmark = pytest.mark.kernel

LETTERS = st.one_of(
    st.sampled_from("aAzZΣσςİIiıßẞÉéЖжǅΑά'.:-·\u0301\u00ad 1"), st.characters(exclude_categories=["Cs", "Cc"])
)
WORDS = st.text(LETTERS, min_size=1).filter(lambda word: word.split() == [word])


@given(st.lists(st.lists(WORDS, max_size=5), max_size=4))
def test_every_word_is_lowered_on_its_own(lines):
    block = "".join(f"{' '.join(words)}\n" for words in lines)
    expected = "".join(f"{' '.join(word.lower() for word in words)}\n" for words in lines)
    assert lower_block(block.encode()).decode() == expected


def test_every_letter_there_is():
    letters = [chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF and chr(c).split()]
    block = " ".join(letters) + "\n"
    assert lower_block(block.encode()).decode() == " ".join(map(str.lower, letters)) + "\n"


@pytest.mark.parametrize("word", ["ΟΔΟΣ", "ΣΑΣ", "Σ", "ΑΣ'", "Α.Σ.", "ΑΣ́", "ΑΣΑ", "İΣ", "Σ1", "aΣ\u00a0bΣc"])
def test_a_sigma_ends_a_word_or_does_not(word):
    assert lower_block(f"x {word} y\n{word}\n".encode()).decode() == f"x {word.lower()} y\n{word.lower()}\n"
