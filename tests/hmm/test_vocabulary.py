"""Words have the same numbers after storage, and words a vocabulary lacks have numbers after its own."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from dualign.hmm.model import Unknowns, Vocabulary

words = st.lists(st.text(st.characters(exclude_characters="\n")), unique=True, min_size=1)


@given(words)
@example(["", "a"])
@example(["\r", "\u2028", "\x85", "\ud800", "\0"])
def test_words_come_back_from_their_arrays(words):
    vocabulary = Vocabulary(words)
    assert vocabulary.text.dtype == np.uint8
    again = Vocabulary.of_text(vocabulary.text, "words")
    assert again == vocabulary
    assert again.words == words
    assert again.numbers == {word: number for number, word in enumerate(words)}


def test_unknown_words_are_numbered_after_the_known_in_order_of_appearance():
    vocabulary = Vocabulary(["a", "b", "c"])
    unknowns = Unknowns(vocabulary)
    assert [unknowns[word] for word in ["b", "x", "a", "y", "x", "b", "z"]] == [1, 3, 0, 4, 3, 1, 5]
    assert unknowns.new == ["x", "y", "z"]
    assert len(vocabulary) == 3
    assert Unknowns(vocabulary)["y"] == 3  # a new block of text starts afresh


def test_words_with_the_same_first_letters_stand_together():
    vocabulary = Vocabulary(["house", "mouse", "houses", "ho"])
    assert vocabulary.stems(4) == {"hous": [0, 2], "mous": [1], "ho": [3]}
    assert vocabulary.stems(1) == {"h": [0, 2, 3], "m": [1]}
