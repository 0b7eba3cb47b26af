"""Phrase pairs against gold, from the definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import phrase as oracle

from dualign import Alignment, DataError, UsageError
from dualign.measure.phrases import evaluate_phrases, phrases_of_links

LINKS = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)))


def by_definition(uncut, inside, longest):
    found = set()
    for i in range(5):
        for j in range(i + 1, min(i + longest, 5) + 1):
            for k in range(5):
                for l in range(k + 1, min(k + longest, 5) + 1):
                    within = {(a, b): (i <= a < j, k <= b < l) for a, b in uncut | inside}
                    if all(within[link] in ((True, True), (False, False)) for link in uncut) and any(
                        all(within[link]) for link in inside
                    ):
                        found.add((i, j, k, l))
    return found


@given(LINKS, LINKS, LINKS, st.integers(1, 4))
def test_measures_are_the_definition(answer, sure, more, longest):
    gold = Alignment.of(sure, more)
    every = sure | more
    extracted = phrases_of_links([Alignment.of(answer)], [(5, 5)], max_length=longest)
    assert extracted == [oracle.consistent_pairs(answer, 5, 5, longest)]
    result = evaluate_phrases(extracted, [gold], [(5, 5)], max_length=longest)
    wanted, allowed = by_definition(every, sure, longest), by_definition(sure, every, longest)
    assert wanted <= allowed
    assert (result.sure, result.possible, result.phrases) == (len(wanted), len(allowed), len(extracted[0]))
    assert result.right == len(extracted[0] & allowed)
    assert result.found == len(extracted[0] & wanted)
    assert result.precision == pytest.approx(result.right / result.phrases if result.phrases else 1)
    assert result.recall == pytest.approx(result.found / result.sure if result.sure else 1)
    both = result.precision + result.recall
    assert result.f1 == pytest.approx(2 * result.precision * result.recall / both if both else 0)


def test_gold_itself_is_perfect_and_nulls_at_edges_are_free():
    gold = [Alignment.of([(0, 0), (2, 1)])]
    result = evaluate_phrases(phrases_of_links(gold, [(3, 2)]), gold, [(3, 2)])
    assert (result.precision, result.recall, result.f1) == (1.0, 1.0, 1.0)
    # Source word 1 has no link: with it or without it, phrases are as right; tight ones do without.
    assert result.sure == 5
    assert evaluate_phrases(phrases_of_links(gold, [(3, 2)]), gold, [(3, 2)], tight=True).sure == 3


def test_possible_links_may_be_cut_but_need_not():
    gold = [Alignment.of([(0, 0)], [(1, 1)])]
    answers = [{(0, 1, 0, 1), (0, 2, 0, 1), (1, 2, 1, 2), (0, 2, 0, 2)}]
    result = evaluate_phrases(answers, gold, [(2, 2)])
    # (0, 2, 0, 1) cuts the possible link: allowed, not wanted; (1, 2, 1, 2) has no sure link inside.
    assert (result.right, result.found) == (4, 2)


def test_wrong_arguments_are_named():
    with pytest.raises(DataError, match="phrases has 1 sentence pair, gold has 0"):
        evaluate_phrases([set()], [], [])
    with pytest.raises(DataError, match="sentence 1: link 3-0"):
        evaluate_phrases([set()], [Alignment.of([(3, 0)])], [(2, 2)])
    with pytest.raises(DataError, match="links, sentence 1"):
        phrases_of_links(["0-5"], [(2, 2)])
    with pytest.raises(UsageError, match="max_length"):
        evaluate_phrases([], [], [], max_length=0)


@pytest.mark.parametrize("link", [(999999999, 0), (0, 999999999), (5000, 5000)])
def test_position_beyond_all_bounds_does_not_fill_memory(link):
    lengths = [(link[0] + 1, link[1] + 1)]
    with pytest.raises(DataError, match="too long to list its phrases"):
        phrases_of_links([[link]], lengths)
    with pytest.raises(DataError, match="too long to list its phrases"):
        evaluate_phrases([set()], [[link]], lengths)
