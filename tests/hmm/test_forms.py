"""How alike two words are: equal to the textbook's longest common subsequence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dualign._core.jit import kernel
from dualign.hmm.word_forms import LONGEST, forms_of, similarity, stems_of

compiled_similarity = kernel(similarity)

pytestmark = pytest.mark.kernel

# Latin, Greek, Cyrillic, CJK and what lies beyond the basic plane; no digits, which have a rule of their own.
letters = st.characters(exclude_categories=["Cs", "Nd", "No", "Nl"])
words = st.text(letters, max_size=9) | st.text("aábcß", max_size=12) | st.text("привет", max_size=12)


def letters_of(word: str) -> np.ndarray:
    return forms_of([word]).letters


def measured(a: str, b: str) -> float:
    places = np.zeros(1 << 10, np.int64)
    value = compiled_similarity(letters_of(a), letters_of(b), places)
    assert not places.any()
    return value


def common_subsequence(a: np.ndarray, b: np.ndarray) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = table[i, j] + 1 if x == y else max(table[i, j + 1], table[i + 1, j])
    return int(table[-1, -1])


def twin(a: str, b: str) -> float:
    x, y = letters_of(a), letters_of(b)
    if np.array_equal(x, y):
        return 1.0
    if min(len(x), len(y)) < 3 or any(48 <= letter <= 57 for letter in [*x, *y]):
        return 0.0
    return common_subsequence(x, y) / max(len(x), len(y))


@given(words, words)
@example("", "")
@example("haus", "house")
@example("naïve", "naive")
@example("x" * 62, "x" * 61 + "y")
@example("ab" * 40, "ba" * 40)
@example("\U00020000\U00020001\U00020002", "\U00020000\U00020002\U00020001")
def test_similarity_is_that_of_the_plain_dynamic_program(a, b):
    assert measured(a, b) == pytest.approx(twin(a, b), rel=1e-12)


@given(words, words)
def test_similarity_is_symmetric(a, b):
    assert measured(a, b) == measured(b, a)
    assert measured(a, a) == 1


@given(st.text("abcdefgh", min_size=3, max_size=70), st.integers(0, 1000))
def test_letters_taken_away_cost_their_share(word, seed):
    kept = "".join(x for n, x in enumerate(word) if (seed >> (n % 10)) & 1)
    word, kept = word[:LONGEST], kept[:LONGEST]
    if 3 <= len(kept) < len(word) and common_subsequence(letters_of(word), letters_of(kept)) == len(kept):
        assert measured(word, kept) == pytest.approx(len(kept) / len(word), rel=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("1984", "1984", 1.0),
        ("1984", "1985", 0.0),
        ("mp3s", "mp3", 0.0),
        ("ab", "ac", 0.0),
        ("ab", "ab", 1.0),
    ],
)
def test_numbers_and_short_words_are_alike_only_when_equal(a, b, expected):
    assert measured(a, b) == measured(b, a) == expected


@pytest.mark.parametrize(("a", "b"), [("covid", "covid19"), ("boeing", "boein7")])
def test_a_word_with_digits_is_not_like_one_without(a, b):
    assert measured(b, a) == 0
    assert measured(a, b) == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a\u0461xyz", "aaxyz"),  # Latin a and Cyrillic omega
        ("\u4e00\u5200\u4e8c\u4e09", "\u4e00\u4e00\u4e8c\u4e09"),  # ideographs
    ],
)
def test_letters_a_thousand_code_points_apart_are_different_letters(a, b):
    assert measured(a, b) == pytest.approx(twin(a, b), rel=1e-12)


def test_diacritics_do_not_count_and_long_words_are_cut():
    assert measured("Händel", "Handel") == 1
    assert measured("ﬁn", "fin") == 1  # compatibility forms fall apart
    assert len(letters_of("y" * 500)) == LONGEST
    assert measured("y" * 500, "y" * 400) == 1


def test_forms_lie_end_to_end():
    forms = forms_of(["ab", "", "é", "漢字"])
    assert forms.offsets.tolist() == [0, 2, 2, 3, 5]
    assert "".join(map(chr, forms.letters)) == "abe漢字"


def test_stems_are_the_first_letters():
    stems = stems_of(["house", "hound", "ho", "houses", "übermut", "über"], 4)
    assert stems.tolist() == [0, 1, 2, 0, 3, 3]


def test_a_first_ideograph_is_a_stem_and_kana_and_hangul_are_letters():
    words = ["本願寺", "本願", "願い", "ためら", "ため", "한국어로", "한국어를", "한국", "𠮷野", "𠮷"]
    assert stems_of(words, 3).tolist() == [0, 0, 1, 2, 3, 4, 4, 5, 6, 6]
