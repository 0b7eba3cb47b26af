"""Numbered sentences: choosing pairs, renumbering and lower case, in parallel and within a budget."""

from itertools import compress, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import UsageError
from dualign._core.memory import Workspace
from dualign.text import corpus as renumbering
from dualign.text.corpus import TIMES, Numbered, Sentences, numbered

pytestmark = pytest.mark.kernel

SENTENCES = st.lists(st.sampled_from(["a", "A", "b", "É", "é", "c", "İ"]), max_size=5)
PAIRS = st.lists(st.tuples(SENTENCES, SENTENCES), max_size=12)


@pytest.fixture(autouse=True)
def _short_spans(monkeypatch):
    monkeypatch.setattr(renumbering, "SPAN", 2)
    monkeypatch.setattr("dualign._core.memory.SMALL", 8)


def readable(text):
    """Sentences as words, with the vocabularies in order."""
    sides = (text.source, text.source_words), (text.target, text.target_words)
    return [
        ([[words[t] for t in side.tokens[a:b]] for a, b in pairwise(side.offsets)], words)
        for side, words in sides
    ]


def by_hand(text, chosen):
    """The chosen sentences and the words that occur in them, in the order that they had."""
    found = []
    for sentences, words in readable(text):
        kept = list(compress(sentences, chosen))
        seen = {word for sentence in kept for word in sentence}
        found.append((kept, [word for word in words if word in seen]))
    return found


@given(PAIRS, st.integers(0, 2**12 - 1), st.integers(1, 3), st.booleans())
def test_chosen_pairs_have_their_words_only(pairs, bits, threads, tight):
    text = numbered(pairs, False)
    mask = np.array([bool(bits >> n & 1) for n in range(len(text))], np.bool_)
    found = text.chosen(mask, threads, Workspace(1) if tight else None)
    assert readable(found) == by_hand(text, mask)
    for side in (found.source, found.target):
        assert side.tokens.dtype == np.int32
        assert side.offsets.dtype == np.int64


@given(PAIRS, st.integers(0, 2**12 - 1), st.integers(1, 3))
def test_chosen_has_the_chosen_pairs_and_the_words_that_occur(pairs, bits, threads):
    text = numbered(pairs, False)
    mask = np.array([bool(bits >> n & 1) for n in range(len(text))], np.bool_)
    found = text.chosen(mask, threads)
    for new, old in ((found.source, text.source), (found.target, text.target)):
        kept = [old.tokens[old.offsets[n] : old.offsets[n + 1]].tolist() for n in np.flatnonzero(mask)]
        number = {v: n for n, v in enumerate(sorted({v for sentence in kept for v in sentence}))}
        assert new.tokens.tolist() == [number[v] for sentence in kept for v in sentence]
        assert new.lengths.tolist() == [len(sentence) for sentence in kept]


@given(PAIRS)
def test_nothing_is_copied_where_nothing_changes(pairs):
    text = numbered(pairs, False)
    assert text.chosen(np.ones(len(text), np.bool_)) is text
    same = text.renumbered(range(len(text.source_words)), range(len(text.target_words)))
    assert same.source is text.source
    assert same.target is text.target


def test_words_that_never_occur_are_dropped_though_all_pairs_are_chosen():
    side = Sentences(np.array([2, 0], np.int32), np.array([0, 2]))
    text = Numbered(side, side, ["a", "b", "c"], ["a", "b", "c", "d"])
    found = text.chosen(np.ones(1, np.bool_))
    assert readable(found) == [([["c", "a"]], ["a", "c"])] * 2
    assert text.source.tokens.tolist() == [2, 0]


@given(PAIRS, st.integers(1, 3), st.booleans(), st.booleans())
def test_lower_case_is_that_of_the_words(pairs, threads, tight, in_place):
    expected = readable(numbered(pairs, True))
    text = numbered(pairs, False)
    text = Numbered(
        *(Sentences(side.tokens.copy(), side.offsets) for side in (text.source, text.target)),
        text.source_words,
        text.target_words,
    )
    before = readable(text)
    assert readable(text.lowered(threads, Workspace(1) if tight else None, in_place=in_place)) == expected
    assert in_place or readable(text) == before


@given(PAIRS, st.integers(0, 6), st.integers(0, 30))
def test_pairs_that_fit(pairs, longest, cells):
    text = numbered(pairs, False)
    sizes = [(len(source), len(target)) for source, target in pairs]
    assert text.fitting(longest, cells).tolist() == [
        0 < a <= longest and 0 < b <= longest and a * b <= cells for a, b in sizes
    ]
    assert text.fitting().tolist() == [a > 0 and b > 0 for a, b in sizes]


@given(PAIRS, PAIRS, st.integers(1, 3), st.booleans())
def test_a_text_with_background_is_numbered_like_the_pairs_one_after_the_other(own, other, times, tight):
    text, background = numbered(own, False), numbered(other, False)
    found = text.with_background(background, times, Workspace(1) if tight else None)
    assert readable(found) == readable(numbered([*(times * own), *other], False))


def test_no_copy_of_the_text_is_refused():
    text = numbered([(["a"], ["b"])], False)
    with pytest.raises(UsageError, match="times=0 must be at least 1"):
        text.with_background(text, 0)


@pytest.mark.parametrize(
    ("strange", "times"), [((0, 0), 1), ((2, 2), 1), ((10, 2), 1), ((3, 3), TIMES), ((10, 10), TIMES)]
)
def test_a_text_counts_more_where_the_background_lacks_its_words_on_both_sides(strange, times):
    pair = [["strange"] * number + ["usual"] * (10 - number) for number in strange]
    background = numbered([(["usual"], ["usual"])], False)
    assert numbered([tuple(pair)], False).times_over(background) == times
    assert numbered([], False).times_over(background) == 1
