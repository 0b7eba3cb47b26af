"""Words are found by their bytes exactly where a dictionary finds them as strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign.model.vocabulary import Unknowns, Vocabulary
from dualign.text.word_table import number_lines, table_of

pytestmark = pytest.mark.kernel

WORDS = st.text(st.sampled_from("abcé語🙂\u200b"), min_size=1, max_size=3)
BLANKS = st.sampled_from([" ", "\t", "\u00a0", "\u3000", "  ", "\x1c"])


@given(
    st.lists(WORDS, max_size=30, unique=True),
    st.lists(st.lists(st.tuples(WORDS, BLANKS), max_size=8), max_size=6),
)
def test_numbers_are_those_of_a_dictionary(known, lines):
    text = "".join("".join(f"{blank}{word}" for word, blank in line) + "\n" for line in lines)
    vocabulary = Vocabulary(known)
    sentences, new = number_lines(text.encode(), vocabulary.table)
    unknowns = Unknowns(vocabulary)
    expected = [[unknowns[word] for word in line.split()] for line in text.split("\n")[:-1]]
    found = [sentences.slice(n, n + 1).tokens.tolist() for n in range(len(sentences))]
    assert found == expected
    assert new == unknowns.new


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
