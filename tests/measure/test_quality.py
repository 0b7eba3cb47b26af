from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from tests.measure.strategies import evaluations
from tests.oracles import quality as oracle

from dualign._core.errors import DataError, UsageError
from dualign.measure.links import evaluate
from dualign.text.links import Alignment

# Two sentence pairs, counted by hand.
#   answer 1: 0-0 1-1 2-2      sure 0-0 1-1    possible also 1-2        A∩S = 2, A∩P = 2
#   answer 2: 0-1 1-0          sure 0-1 2-2    possible also 1-0 1-1    A∩S = 1, A∩P = 2
#   |A| = 5, |S| = 4, |P| = 4 + 3 = 7, A∩S = 3, A∩P = 4
LINKS = ["0-0 1-1 2-2", "0-1 1-0"]
GOLD = ["0-0 1-1 1?2", "0-1 2p2 2-2 1?0 1p1"]


def gold_of(sure, possible):
    return [Alignment.of(s, p) for s, p in zip(sure, possible, strict=True)]


def test_hand_computed_values():
    result = evaluate(LINKS, GOLD)
    assert (result.links, result.sure, result.possible, result.pairs) == (5, 4, 7, 2)
    assert result.aer == pytest.approx(1 - (3 + 4) / (5 + 4), rel=1e-15)  # 2/9
    assert result.precision == 4 / 5
    assert result.recall == 3 / 4
    assert result.f1 == pytest.approx(24 / 31, rel=1e-15)  # 2 · 4/5 · 3/4 / (4/5 + 3/4) = (6/5) / (31/20)


def test_every_form_of_input_gives_the_same():
    parsed = [Alignment.of([(0, 0), (1, 1), (2, 2)]), Alignment.of([(0, 1), (1, 0)])]
    gold = [
        Alignment.of([(0, 0), (1, 1)], [(1, 2)]),
        Alignment.of([(0, 1), (2, 2)], [(1, 0), (1, 1), (2, 2)]),
    ]
    expected = evaluate(LINKS, GOLD)
    assert evaluate(parsed, gold) == expected
    assert evaluate((iter(a.links) for a in parsed), iter(gold)) == expected
    assert evaluate([np.array(a.links) for a in parsed], gold) == expected


def test_repeated_links_count_once():
    assert evaluate([[(0, 0), (0, 0)]], [[(0, 0)]]).links == 1
    assert evaluate([Alignment(links=((0, 0), (0, 0)))], ["0-0"]).links == 1


def test_a_sure_link_is_possible_even_if_gold_lists_it_only_as_sure():
    result = evaluate(["0-0"], ["0-0 1?1"])
    assert (result.precision, result.possible, result.aer) == (1, 2, 0)


@pytest.mark.parametrize(
    ("links", "gold", "aer", "precision", "recall", "f1"),
    [
        ("", "", 0, 1, 1, 1),
        ("", "0-0", 1, 1, 0, 0),
        ("", "0?0", 0, 1, 1, 1),
        ("0-0", "", 1, 0, 1, 0),
        ("0-0 1-1", "0?0", 0.5, 0.5, 1, 2 / 3),
        ("0-0", "1-1", 1, 0, 0, 0),
    ],
)
def test_empty_sides_have_defined_values(links, gold, aer, precision, recall, f1):
    result = evaluate([links], [gold])
    assert (result.aer, result.precision, result.recall) == (aer, precision, recall)
    assert result.f1 == pytest.approx(f1, rel=1e-15)


def test_no_sentence_pairs_at_all():
    assert evaluate([], []).pairs == 0


def test_as_dict_is_json_with_plain_numbers():
    result = evaluate(LINKS, GOLD)
    read = json.loads(json.dumps(result.as_dict()))
    assert read == result.as_dict()
    assert list(read) == ["aer", "precision", "recall", "f1", "links", "sure", "possible", "pairs"]


@settings(deadline=None)
@given(evaluations())
def test_equals_the_plain_sets(data):
    answers, sure, possible = data
    result = evaluate(answers, gold_of(sure, possible))
    expected = oracle.quality(answers, sure, possible)
    for name, value in expected.items():
        assert getattr(result, name) == pytest.approx(float(value), rel=1e-14, abs=1e-15), name
        assert 0 <= getattr(result, name) <= 1


@settings(deadline=None)
@given(evaluations())
def test_the_gold_itself_is_perfect(data):
    _, sure, possible = data
    gold = gold_of(sure, possible)
    result = evaluate(gold, gold)
    assert (result.aer, result.precision, result.recall, result.f1) == (0, 1, 1, 1)


@settings(deadline=None)
@given(evaluations())
def test_any_answer_between_sure_and_possible_has_no_error(data):
    answers, sure, possible = data
    between = [s | (a & p) for a, s, p in zip(answers, sure, possible, strict=True)]
    assert evaluate(between, gold_of(sure, possible)).aer == 0


def test_different_lengths_name_both_counts():
    with pytest.raises(DataError, match="links has 3 sentence pairs but gold has 2"):
        evaluate(["", "", ""], ["", ""])


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["", "0-0 x"], "links, sentence 2: .*x"),
        ([[], [(0, -1)]], r"links, sentence 2: link \(0, -1\) has a negative"),
        ([[], Alignment(links=((-1, 0),))], r"links, sentence 2: link \(-1, 0\) has a negative"),
        ([[], [(0, 1.5)]], "links, sentence 2: expected"),
        ([[], [(0, 1, 2)]], "links, sentence 2: expected"),
        ([[], 7], "links, sentence 2: expected .* not 7"),
        ("0-0", "links: expected one set of links for each sentence pair"),
        (Alignment(), "links: expected one set of links for each sentence pair"),
    ],
)
def test_bad_links_are_named(links, message):
    with pytest.raises(DataError, match=message):
        evaluate(links, ["", ""])


def test_what_is_no_list_is_named():
    with pytest.raises(UsageError, match="links is None; give a list with one set of links for each"):
        evaluate(None, None)
    with pytest.raises(UsageError, match="gold is 7; give a list"):
        evaluate([""], 7)


def test_bad_gold_is_called_gold():
    with pytest.raises(DataError, match="gold, sentence 1"):
        evaluate([""], ["0+0"])
