"""The checks of lengths and of link positions."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign import DataError
from dualign.text.checks import in_step, links_inside, same_length

LENGTHS = st.lists(st.integers(0, 5), min_size=1, max_size=4)


@given(LENGTHS)
def test_streams_of_one_length_come_together_and_others_are_counted(lengths):
    streams = [(f"f{k}", iter(range(length))) for k, length in enumerate(lengths)]
    seen = []
    if len(set(lengths)) == 1:
        seen += in_step(*streams)
    else:
        with pytest.raises(DataError) as raised:
            seen.extend(in_step(*streams))
        assert all(f"f{k} has {length}" in str(raised.value) for k, length in enumerate(lengths))
    assert seen == [(at,) * len(lengths) for at in range(min(lengths))]


def test_the_message_about_lengths_names_files_counts_unit_and_remedy():
    same_length(("a", 2), ("b", 2))
    with pytest.raises(DataError, match=r"^a has 3 pairs but b has 2; cut one$"):
        same_length(("a", 3), ("b", 2), unit="pairs", remedy="cut one")
    with pytest.raises(DataError, match=r"^a has 3 lines, b has 3, c has 2; give the same"):
        list(in_step(("a", "xyz"), ("b", "xyz"), ("c", "xy")))


def test_items_are_passed_on_before_a_stream_is_read_to_its_end():
    def endless():
        while True:
            yield 1

    assert next(in_step(("a", endless()), ("b", endless()))) == (1, 1)


@pytest.mark.parametrize(("source", "target"), list(product(range(4), repeat=2)))
def test_links_outside_their_pair_are_refused_and_others_are_not(source, target):
    inside = list(product(range(source), range(target)))
    links_inside(inside, source, target)
    for link in set(product(range(-1, 5), repeat=2)).difference(inside):
        with pytest.raises(DataError, match=rf"^f:7: link .* has {source} source and {target} target words"):
            links_inside([*inside, link], source, target, "f:7")


def test_an_unknown_length_is_not_checked():
    links_inside([(0, 99)], 1, None)
    with pytest.raises(DataError, match=r"`align --tokens` writes .*`align --positions words` counts uncut"):
        links_inside([(9, 9)], 2, 2)
    with pytest.raises(DataError, match=r"link 1-0 is outside the pair, which has 1 source words"):
        links_inside([(1, 0)], 1, None)


def test_the_message_about_a_link_names_the_first_one_outside():
    with pytest.raises(DataError, match=r"^link 0-9 is outside the pair.*source first, counted from 0$"):
        links_inside([(0, 0, 0.5), (0, 9, 0.5), (9, 0, 0.5)], 1, 1)


def test_links_that_fit_the_other_way_round_are_told():
    with pytest.raises(DataError, match="convert --swap"):
        links_inside([(3, 0)], 2, 5, "f:1")
    with pytest.raises(DataError, match=r"counted from 0$"):
        links_inside([(5, 0)], 2, 5, "f:1")
