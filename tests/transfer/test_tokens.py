"""Tokens of the same text: where they lie, what they share, and where texts differ."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.transfer import letters_shared
from tests.transfer.strategies import tokenisations

from dualign._core.errors import DataError, UsageError
from dualign.transfer.tokens import covering, letters, locate, overlaps, word_groups

NAMES = ("a.txt:3", "b.txt:3")
words = st.lists(st.text("abé@#", min_size=1, max_size=5), max_size=5)


def marked(pieces: list[list[str]], scheme: str) -> list[str]:
    """The pieces of each word with the marks of a scheme."""
    tokens = []
    for word in pieces:
        for k, piece in enumerate(word):
            first, last = k == 0, k == len(word) - 1
            tokens.append(
                {
                    "sentencepiece": ("▁" if first else "") + piece,
                    "wordpiece": ("" if first else "##") + piece,
                    "bpe": piece + ("" if last else "@@"),
                }[scheme]
            )
    return tokens


@given(tokenisations())
def test_tokens_share_letters_as_counted_one_by_one(cut: tuple[str, list[str], list[str]]) -> None:
    _, first, second = cut
    assert overlaps(*covering(first, second, NAMES)) == letters_shared(first, second)


@given(st.data(), st.sampled_from(["sentencepiece", "wordpiece", "bpe"]))
def test_marks_are_taken_off_and_tell_words_apart(data: st.DataObject, scheme: str) -> None:
    pieces = data.draw(
        st.lists(st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3), max_size=4)
    )
    tokens = marked(pieces, scheme)
    assert letters(tokens, scheme) == [piece for word in pieces for piece in word]
    groups = word_groups(tokens, scheme)
    assert [[letters(tokens, scheme)[k] for k in group] for group in groups] == pieces


def test_marks_that_are_words_are_words() -> None:
    assert letters(["##", "@@", "▁"], "wordpiece") == ["##", "@@", "▁"]
    assert letters(["##", "@@", "▁"], "bpe") == ["##", "@@", "▁"]
    assert letters(["▁", "▁a"], "sentencepiece") == ["", "a"]


@given(words, st.lists(st.sampled_from(["", " ", "  ", "\u00a0"]), min_size=6, max_size=6))
def test_tokens_are_found_where_they_were_put(tokens: list[str], spaces: list[str]) -> None:
    text, places = "", []
    for token, space in zip(tokens, spaces, strict=False):
        text += space
        places.append((len(text), len(text) + len(token)))
        text += token
    assert locate(tokens, text + spaces[-1], NAMES) == places


@given(st.text("aé ﬁ…ß", max_size=8))
def test_tokens_are_found_in_other_forms_of_the_text(text: str) -> None:
    tokens = text.split()
    plain = locate(tokens, text, NAMES)
    changed = [unicodedata.normalize("NFKD", token).upper() for token in tokens]
    assert locate(changed, text, NAMES) == plain


def test_accents_of_their_own_belong_to_their_letter() -> None:
    text = unicodedata.normalize("NFD", "été là")
    assert [text[a:b] for a, b in locate(["été", "là"], text, NAMES)] == text.split()


def test_control_characters_are_invisible_in_any_token() -> None:
    assert locate(["a\x01b", "é"], "a\x01b É", NAMES) == [(0, 3), (4, 5)]


def test_a_token_without_letters_lies_before_the_next() -> None:
    assert locate(letters(["▁", "ab", "▁", "c", "▁"], "sentencepiece"), "ab c", NAMES) == [
        (0, 0), (0, 2), (3, 3), (3, 4), (4, 4),
    ]  # fmt: skip
    assert overlaps([(0, 0), (0, 2), (2, 2), (2, 3)], [(0, 2), (2, 2), (2, 3)]) == [[0], [0], [2], [2]]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["ab", "cd"], ["abc", "e"], r"a.txt:3: token 1, `cd`, where b.txt:3 has `ce`"),
        (["ab", "cd"], ["ab"], r"a.txt:3: token 1, `cd`, where b.txt:3 has ended"),
        (["Ab", "Cd"], ["ab", "x"], r"a.txt:3: token 1, `Cd`, where b.txt:3 has `x`"),
        (["ab"], ["ab", "x"], r"a.txt:3: after its 1 tokens, where b.txt:3 has `x`"),
    ],
)
def test_a_difference_is_named_with_its_token(first: list[str], second: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        covering(first, second, NAMES)
    with pytest.raises(DataError, match=message):
        locate(first, " ".join(second), NAMES)


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(UsageError, match='scheme="spm" is not one of words, sentencepiece'):
        letters(["a"], "spm")
