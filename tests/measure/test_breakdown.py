from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.strategies import SIZE, evaluations
from tests.oracles import quality as oracle

from dualign._core.errors import DataError, UsageError
from dualign.measure.links import by_frequency, evaluate, word_frequencies
from dualign.text.links import Alignment

SOURCE = [["das", "haus"], ["das", "buch"]]
TARGET = [["the", "house"], ["the", "book"]]
LINKS = ["0-0 1-1 1-0", "0-0 0-1"]
GOLD = ["0-0 1-1", "0-0 1-1"]


def test_hand_computed_split():
    result = by_frequency(LINKS, GOLD, SOURCE, TARGET, rare=1)
    # Source: `haus`, `buch` occur once. Answer 1-1 1-0 | none, gold 1-1 | 1-1: precision 1/2, recall 1/2.
    assert (result.source.rare.precision, result.source.rare.recall) == (1 / 2, 1 / 2)
    # `das` occurs twice. Answer 0-0 | 0-0 0-1, gold 0-0 | 0-0: precision 2/3, recall 2/2.
    assert (result.source.common.precision, result.source.common.recall) == (2 / 3, 1)
    # Target: `house`, `book` occur once. Answer 1-1 | 0-1, gold 1-1 | 1-1: precision 1/2, recall 1/2.
    assert (result.target.rare.precision, result.target.rare.recall) == (1 / 2, 1 / 2)
    # `the` occurs twice. Answer 0-0 1-0 | 0-0, gold 0-0 | 0-0: precision 2/3, recall 2/2.
    assert (result.target.common.precision, result.target.common.recall) == (2 / 3, 1)


def test_rare_means_less_than_five_times_unless_told():
    frequencies = word_frequencies([["das"] * 5, ["haus"] * 4])
    result = by_frequency(LINKS, GOLD, SOURCE, TARGET, source_frequencies=frequencies)
    assert (result.source.rare.links, result.source.common.links) == (2, 3)  # `buch` is unknown, hence rare


def test_given_frequencies_are_used_on_their_own_side():
    often = {word: 100 for sentence in SOURCE + TARGET for word in sentence}
    result = by_frequency(LINKS, GOLD, SOURCE, TARGET, target_frequencies=often)
    assert (result.source.rare.links, result.target.rare.links) == (5, 0)


@settings(deadline=None)
@given(
    evaluations(),
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=SIZE, max_size=SIZE), min_size=10, max_size=10),
    st.integers(0, 4),
)
def test_equals_the_plain_sets_and_sums_to_the_whole(data, words, rare):
    answers, sure, possible = data
    pairs = len(answers)
    source, target = words[:pairs], words[5 : 5 + pairs]
    gold = [Alignment.of(s, p) for s, p in zip(sure, possible, strict=True)]
    result = by_frequency(answers, gold, source, target, rare=rare)
    whole = evaluate(answers, gold)
    for side, sentences, halves in ((0, source, result.source), (1, target, result.target)):
        split = [oracle.split(links, sentences, side, rare) for links in (answers, sure, possible)]
        for which, half in enumerate((halves.rare, halves.common)):
            expected = oracle.quality(*(parts[which] for parts in split))
            for name, value in expected.items():
                assert getattr(half, name) == pytest.approx(float(value), rel=1e-14, abs=1e-15)
        for name in ("links", "sure", "possible"):
            assert getattr(halves.rare, name) + getattr(halves.common, name) == getattr(whole, name)


@pytest.mark.parametrize("link", ["2-0", "0-2", "0?2"])
def test_a_link_outside_the_sentence_is_named(link):
    with pytest.raises(
        DataError, match=f"gold, sentence 2: link {link[0]}-{link[2]} is outside the pair, which has 2 source"
    ):
        by_frequency(["", ""], ["", link], SOURCE, TARGET)
    if "?" not in link:
        with pytest.raises(DataError, match=f"links, sentence 1: link {link} is outside"):
            by_frequency([link, ""], ["", ""], SOURCE, TARGET)


def test_sentences_must_be_as_many_as_links():
    with pytest.raises(DataError, match="target has 1;"):
        by_frequency(LINKS, GOLD, SOURCE, TARGET[:1])


def test_negative_frequency():
    with pytest.raises(UsageError, match="rare=-1 must be at least 0"):
        by_frequency(LINKS, GOLD, SOURCE, TARGET, rare=-1)
