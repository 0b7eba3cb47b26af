"""Spans and tags over links: against the rules written out, and each outcome by example."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import transfer as slow
from tests.transfer.strategies import links

from dualign._core.errors import DataError, UsageError
from dualign.transfer.spans import DISCONTINUOUS, SpanCarrier, without_overlaps
from dualign.transfer.tags import carry_bio, from_bio, to_bio, vote


def one_to_one(places: list[int]) -> list[tuple[int, int, float]]:
    return [(i, j, 1.0) for i, j in enumerate(places)]


@given(st.data())
def test_runs_follow_the_rules(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 8))
    given_links = data.draw(links(5, length))
    gap = data.draw(st.integers(0, 2))
    begin, end = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    runs = SpanCarrier(given_links, length, gap).runs(begin, end)
    assert [(a, b) for a, b, _ in runs] == slow.runs(begin, end, length, given_links, gap)


@given(st.data())
def test_tags_follow_the_vote(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 5))
    given_links = data.draw(links(5, length))
    words = data.draw(st.lists(st.sampled_from(["A", "B", "_"]), min_size=5, max_size=5))
    result, confidence = vote(words, length, given_links)
    assert result == slow.vote(words, length, given_links)
    assert all((value > 0) == (tag != "_") for tag, value in zip(result, confidence, strict=True))
    assert max(confidence) <= 1


@given(st.data())
def test_identity_copies_and_a_shuffle_reorders_tags(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(["A", "B", "_"]), min_size=1, max_size=6))
    assert vote(words, len(words), one_to_one(list(range(len(words)))))[0] == words
    places = data.draw(st.permutations(range(len(words))))
    shuffled, _ = vote(words, len(words), one_to_one(places))
    assert [shuffled[j] for j in places] == words


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8))
def test_identity_copies_bio_as_it_is_understood(words: list[str]) -> None:
    carried = carry_bio(words, len(words), one_to_one(list(range(len(words)))))
    assert carried.tags == to_bio(from_bio(words), len(words))
    assert from_bio(carried.tags) == from_bio(words)
    assert set(carried.statuses) <= {"whole"}


@given(st.data())
def test_every_carried_bio_is_well_formed_and_accounts_for_each_span(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 7))
    words = data.draw(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y"]), min_size=5, max_size=5))
    how = data.draw(st.sampled_from(DISCONTINUOUS))
    carried = carry_bio(words, length, data.draw(links(5, length)), how)
    assert to_bio(from_bio(carried.tags), length) == carried.tags
    assert len(carried.statuses) == len(from_bio(words))
    assert all(
        (value > 0) == (tag != "O") for tag, value in zip(carried.tags, carried.confidence, strict=True)
    )


@pytest.mark.parametrize(
    ("places", "how", "pieces", "status"),
    [
        ([0, 1, 2], "largest", ((0, 3),), "whole"),
        ([2, 0, 1], "largest", ((0, 3),), "whole"),
        ([0, 2, None], "largest", ((0, 3),), "joined"),
        ([0, 4, 5], "largest", ((4, 6),), "discontinuous"),
        ([0, 4, 5], "hull", ((0, 6),), "discontinuous"),
        ([0, 4, 5], "split", ((0, 1), (4, 6)), "discontinuous"),
        ([0, 4, 5], "drop", (), "discontinuous"),
        ([None, None, None], "hull", (), "unaligned"),
    ],
)
def test_outcomes(
    places: list[int | None], how: str, pieces: tuple[tuple[int, int], ...], status: str
) -> None:
    found = [(i, j, 1.0) for i, j in enumerate(places) if j is not None]
    carried = SpanCarrier(found, 8).carry(0, 3, how)
    assert (carried.pieces, carried.status) == (pieces, status)


def test_a_word_of_the_span_and_of_others_is_claimed_by_the_heavier() -> None:
    carrier = SpanCarrier([(0, 0, 0.5), (1, 0, 0.25), (1, 1, 1.0)], 2)
    assert carrier.carry(0, 1).pieces == ((0, 1),)
    assert carrier.carry(1, 2).pieces == ((1, 2),)


def test_confidence_is_how_well_the_words_are_covered() -> None:
    carrier = SpanCarrier([(0, 0, 0.5), (0, 1, 1.0), (1, 3, 0.5)], 4, gap=0)
    assert carrier.carry(0, 2).pieces == ((0, 2),)
    assert carrier.carry(0, 2).confidence == 0.5
    assert carrier.carry(0, 2, "hull").confidence == 0.75


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(UsageError, match='discontinuous="longest" is not one of largest, hull, split, drop'):
        SpanCarrier([], 1).carry(0, 1, "longest")


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.sampled_from([0.25, 0.5, 1.0])), max_size=6)
)
def test_kept_spans_do_not_overlap_and_the_others_give_way_to_better_ones(
    items: list[tuple[int, int, float]],
) -> None:
    given_spans = [((begin, begin + size), weight) for begin, size, weight in items]
    kept = without_overlaps(given_spans)

    def meet(a: int, b: int) -> bool:
        return given_spans[a][0][0] < given_spans[b][0][1] and given_spans[b][0][0] < given_spans[a][0][1]

    assert not any(meet(a, b) for a, b in combinations(kept, 2))
    for lost in set(range(len(given_spans))) - set(kept):
        assert any(meet(lost, k) and given_spans[k][1] >= given_spans[lost][1] for k in kept)


@pytest.mark.parametrize("tag", ["X", "B", "B-", "E-PER", "S-PER"])
def test_what_is_no_bio_tag_is_named(tag: str) -> None:
    with pytest.raises(DataError, match=f"token 1: `{tag}` is not a BIO tag"):
        from_bio(["O", tag])
