"""Table entries that occur in a text, forced decoding by them, and Viterbi EM on top."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.oracles import phrase as oracle

from dualign import DataError, Infeasible, UsageError
from dualign.phrase import Occurrences, align, build_table, decode, train
from dualign.phrase.forced import format_line, parse_line, read_alignments
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel

TABLE = [
    ("a", "x", [0.5, 0.5]),
    ("a b", "x y", [0.25, 1.0]),
    ("b", "y", [0.5, 0.125]),
    ("b", "x", [0.0, 1.0]),
    ("a b c", "z", [1.0, 1.0]),
    ("q", "x", [1.0, 1.0]),
    ("a&#124;", "x", [1.0, 1.0]),
]
TEXT = [
    (["a", "b", "a"], ["x", "y", "x"]),
    ([], ["x"]),
    (["b", "q"], ["y", "x"]),
    (["c"], ["x"]),
    (["a|"], ["x"]),
]


def test_links_are_the_entries_that_occur():
    found = Occurrences(TEXT, 3).add_entries(TABLE)
    weights = found.weights([1, 0])
    pair, entries = found.weighted(0, weights)
    links = {pair.link(n): weight for n, weight in enumerate(pair.weights.tolist())}
    half, quarter = math.log(0.5), math.log(0.25)
    assert links == pytest.approx(
        {(0, 1, 0, 1): half, (0, 1, 2, 3): half, (2, 3, 0, 1): half, (2, 3, 2, 3): half}
        | {(1, 2, 1, 2): half, (0, 2, 0, 2): quarter}
    )
    assert weights[entries].tolist() == pair.weights.tolist()
    assert [*found.entries()][int(entries[0])] == ("a", "x")
    assert len(found.weighted(3, weights)[0].weights) == 0
    assert found.weighted(4, weights)[0].link(0) == (0, 1, 0, 1)


def test_features_are_exponents_and_zero_scores_forbid():
    found = Occurrences(TEXT, 3).add_entries(TABLE)
    by_name = dict(zip(found.entries(), found.weights([2, 1]).tolist(), strict=True))
    assert by_name["a b", "x y"] == pytest.approx(2 * math.log(0.25))
    assert by_name["b", "x"] == -math.inf
    assert dict(zip(found.entries(), found.weights([0, 1]).tolist(), strict=True))["b", "x"] == 0.0
    with pytest.raises(UsageError, match="3 feature weights"):
        found.weights([1, 2, 3])
    with pytest.raises(UsageError, match="nan"):
        found.weights([1, math.nan])
    for scores in ([0.5, math.nan], [-1.0, 0.5], [1.0]):
        with pytest.raises(DataError, match=r"a \|\|\| y"):
            found.add_entries([*TABLE, ("a", "y", scores)])


def test_reading_a_table_is_the_same_as_giving_its_entries(tmp_path):
    lines = [f"{s} ||| {t} ||| {' '.join(map(str, scores))} ||| 0-0 ||| 1 1 1\n" for s, t, scores in TABLE]
    (tmp_path / "table").write_text("".join(lines) + "a b c a ||| x ||| 1 1\n")
    read = Occurrences(TEXT, 3).read(str(tmp_path / "table"))
    given = Occurrences(TEXT, 3).add_entries(TABLE)
    assert list(read.entries()) == list(given.entries())
    assert read.scores.tolist() == given.scores.tolist()
    assert (read.too_long, given.too_long) == (1, 0)


def test_table_without_any_entry_of_the_text(tmp_path):
    (tmp_path / "table").write_text("p ||| q ||| 1\n")
    found = Occurrences(TEXT, 3).read(str(tmp_path / "table"))
    assert [answer.result for answer in decode(found, np.empty(0))] == [None] * 5


def synthetic(tmp_path, pairs=40):
    text = list(generate(pairs, seed=2, vocabulary=25, mean_length=5))
    build_table((((s, t), a) for s, t, a in text), str(tmp_path / "table"), max_length=4)
    sentences = [(s, t) for s, t, _ in text]
    return Occurrences(sentences, 4).read(str(tmp_path / "table")), sentences


def test_forced_decoding_is_align_of_each_pair_for_any_thread_count(tmp_path):
    found, sentences = synthetic(tmp_path)
    weights = found.weights([0, 0, 1, 0])
    answers = list(decode(found, weights))
    assert [format_line(a) for a in answers] == [format_line(a) for a in decode(found, weights, threads=3)]
    feasible = 0
    for number, answer in enumerate(answers):
        pair, _ = found.weighted(number, weights)
        links = {pair.link(n): float(pair.weights[n]) for n in range(len(pair.weights))}
        lengths = tuple(map(len, sentences[number]))
        try:
            expected = align(links, *lengths)
        except Infeasible:
            assert answer.result is None
            continue
        feasible += 1
        assert answer.result.score == pytest.approx(expected.score, abs=1e-9)
        assert oracle.is_alignment(answer.result.solution, *lengths)
        assert tuple(parse_line(format_line(answer))) == answer.result.solution
    assert feasible > 30


def test_lines_of_pairs_without_an_alignment_and_of_empty_ones():
    found = Occurrences(TEXT, 3).add_entries(TABLE)
    lines = [format_line(answer) for answer in decode(found, found.weights([1, 0]))]
    assert lines[1] == ""
    assert lines[2].split(" ||| ")[0] == "0:1-0:1 1:2-1:2"
    assert lines[3] == "||| -inf ||| -inf"
    assert parse_line(lines[3]) == []


def test_lines_that_are_no_phrase_links_are_named(tmp_path):
    (tmp_path / "phrases").write_text("0:1-0:1 ||| 0 ||| 0\n\n0:1-0 ||| 0\n")
    with pytest.raises(DataError, match=r"phrases:3: `0:1-0`"):
        list(read_alignments(str(tmp_path / "phrases")))
    with pytest.raises(DataError, match="without words"):
        parse_line("0:1-2:2")


@pytest.mark.parametrize("model", ["joint", "conditional"])
@pytest.mark.parametrize("pseudo_count", [0.0, 0.1])
def test_viterbi_em_never_gets_worse(tmp_path, model, pseudo_count):
    found, _ = synthetic(tmp_path, 60)
    rounds = []
    options = {"model": model, "pseudo_count": pseudo_count, "rounds": 6}
    parameters, counts = train(found, found.weights([0, 1, 0, 1]), **options, report=rounds.append)
    objectives = [reached.objective for reached in rounds]
    assert len(rounds) == 7
    assert all(after >= before - 1e-9 for before, after in pairwise(objectives))
    assert objectives[-1] > objectives[0] or (model, pseudo_count) != ("joint", 0.1)
    assert all(reached.certified == reached.aligned for reached in rounds)
    total = np.exp(parameters)
    if model == "joint":
        assert total.sum() == pytest.approx(1.0)
    else:
        sums = np.bincount(found.sources(), total)
        assert sums[sums > 0] == pytest.approx(np.ones((sums > 0).sum()))
    assert counts.sum() > 0


def test_viterbi_em_by_hand():
    text = [(["a", "b"], ["x", "y"]), (["a"], ["x"])]
    table = [("a", "x", [0.5]), ("b", "y", [0.5]), ("a b", "x y", [0.3])]
    found = Occurrences(text, 2).add_entries(table)
    rounds = []
    parameters, counts = train(found, found.weights([1]), rounds=1, report=rounds.append)
    # The first alignment takes `a b` whole (0.3 > 0.25); each entry used has then 1/2 of the counts.
    by_name = dict(zip(found.entries(), parameters.tolist(), strict=True))
    assert by_name == {
        ("a", "x"): pytest.approx(math.log(0.5)),
        ("a b", "x y"): pytest.approx(math.log(0.5)),
        ("b", "y"): -math.inf,
    }
    assert rounds[0].objective == pytest.approx(2 * math.log(0.5))
    assert dict(zip(found.entries(), counts.tolist(), strict=True))["a b", "x y"] == 1


def test_wrong_options_of_em_are_named():
    found = Occurrences(TEXT, 3).add_entries(TABLE)
    weights = found.weights([1, 0])
    for option in ({"model": "ibm"}, {"rounds": 0}, {"pseudo_count": -1.0}, {"pseudo_count": math.nan}):
        with pytest.raises(UsageError, match=next(iter(option))):
            train(found, weights, **option)
    with pytest.raises(DataError, match="no sentence pair"):
        train(Occurrences([(["q"], ["p"])], 3).add_entries(TABLE), np.empty(0))
    with pytest.raises(UsageError, match="longest"):
        Occurrences([], 0)
