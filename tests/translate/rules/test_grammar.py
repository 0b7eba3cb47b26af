"""Rules as text, forests from rules, rules from links."""

from __future__ import annotations

import math
import random

import pytest
from tests.oracles.translation import derivations, hiero_rules

import dualign
from dualign.text.links import Alignment
from dualign.translate.forest.builder import parse
from dualign.translate.rules.grammar import Grammar, Rule, RuleFile, parse_rule, read_rules, write_rules
from dualign.translate.rules.hiero import Extraction, extract


def test_rules_are_read_in_all_their_forms():
    rule = parse_rule("[X] ||| le [X,1] de [X,2] ||| the [X,2] 's [X,1] ||| A=0.5 B=-2 ||| 0-0")
    assert rule == Rule("X", ("le", "[X]", "de", "[X]"), ("the", 1, "'s", 0), {"A": 0.5, "B": -2.0})
    assert parse_rule("[X] ||| a [X,1] ||| [1] b ||| 0.5 1e-3").features == {"0": 0.5, "1": 0.001}
    assert parse_rule("[X] ||| a [X,2] b [X,1] ||| [X,1] [X,2] ||| ").target == (1, 0)
    assert parse_rule("[S] ||| a ||| = ||| x=y=2").features == {"x=y": 2.0}


def test_rules_are_written_and_read_again(tmp_path):
    rules = [Rule("X", ("a", "[X]", "b", "[X]"), (1, "c", 0), {"A": 0.5}), Rule("X", ("[", "]"), ("[]",), {})]
    path = str(tmp_path / "rules.gz")
    write_rules(rules, path)
    assert list(read_rules(path)) == rules
    assert list(read_rules(path, {"a", "b"})) == rules[:1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| b", "2 fields"),
        ("X ||| a ||| b |||", "left-hand side 'X'"),
        ("[X] ||| a [X,1] ||| b |||", "must occur once"),
        ("[X] ||| a [X,1] ||| [X,1] [X,1] |||", "must occur once"),
        ("[X] ||| a ||| [X,1] |||", "not a non-terminal of the source"),
        ("[X] ||| [X,1] [X,1] ||| a |||", "twice"),
        ("[X] ||| ||| b |||", "empty source"),
        ("[X] ||| a ||| |||", "empty target"),
        ("[X] ||| a ||| b ||| x=", "has no number"),
        ("[X] ||| a ||| b ||| x=nan", "not finite"),
    ],
)
def test_malformed_rules_are_refused_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "rules"
    path.write_text(f"[X] ||| a ||| b ||| x=1\n\n{line}\n")
    with pytest.raises(dualign.DataError, match=rf"rules:3: .*{message}"):
        list(read_rules(str(path)))


def grammar(*lines):
    return Grammar(map(parse_rule, lines))


def translations(parsed):
    graph = parsed.hypergraph
    found = derivations(graph.vertices, graph.edges, graph.root)
    return sorted((" ".join(words), round(weight, 9)) for _, words, weight in found)


def test_a_forest_has_every_derivation_of_the_grammar():
    rules = grammar(
        "[X] ||| a ||| A ||| w=1",
        "[X] ||| b ||| B ||| w=2",
        "[X] ||| a [X,1] ||| [X,1] of A ||| w=4",
        "[X] ||| a b ||| AB ||| w=8",
    )
    parsed = parse(["a", "b"], rules, {"w": 1.0, "Glue": 0.5, "Words": 0.01})
    assert translations(parsed) == [("A B", 3.52), ("AB", 8.01), ("B of A", 6.03)]


def test_spans_and_limits_hold():
    rules = grammar("[X] ||| a b c ||| ABC ||| w=1", "[X] ||| a ||| A1 ||| w=1", "[X] ||| a ||| A2 ||| w=2")
    weights = {"w": 1.0, "Copy": -1.0}
    assert ("ABC", 1.0) in translations(parse(["a", "b", "c"], rules, weights))
    short = translations(parse(["a", "b", "c"], rules, weights, span=2))
    assert short == [("A1 b c", -1.0), ("A2 b c", 0.0)]
    assert translations(parse(["a"], rules, weights, limit=1)) == [("A2", 2.0)]


def test_words_without_rules_are_copied_and_long_sentences_glued():
    parsed = parse(
        [f"w{n}" for n in range(40)], grammar("[X] ||| a ||| b |||"), {"Copy": -1.0, "Glue": -0.5}, span=3
    )
    ((words, weight),) = translations(parsed)
    assert words.split() == [f"w{n}" for n in range(40)]
    assert weight == pytest.approx(-40 - 39 * 0.5)
    with pytest.raises(dualign.DataError, match="empty sentence"):
        parse([], grammar(), {})


@pytest.mark.parametrize(
    ("words", "weights", "message"),
    [
        (["a", "b c"], {}, "not one word"),
        (["a"], {"w": math.nan}, "the weight nan"),
        (["a"], {"w": math.inf}, "the weight inf"),
    ],
)
def test_what_makes_no_forest_is_refused(words, weights, message):
    with pytest.raises(dualign.DataError, match=message):
        parse(words, grammar("[X] ||| a ||| b ||| w=1"), weights)


def test_words_that_look_like_markup_do_no_harm():
    parsed = parse(["[X]", "<s>", "|||"], grammar("[X] ||| a [X,1] ||| b [X,1] |||"), {})
    assert translations(parsed) == [("[X] <S> |||", 0.0)]


def random_pair(rng):
    source = [rng.choice("abcd") for _ in range(rng.randint(1, 7))]
    target = [rng.choice("wxyz") for _ in range(rng.randint(1, 7))]
    links = {(rng.randrange(len(source)), rng.randrange(len(target))) for _ in range(rng.randint(0, 8))}
    return source, target, sorted(links)


@pytest.mark.kernel
@pytest.mark.parametrize(("longest", "symbols", "gap"), [(10, 5, 1), (4, 3, 2), (6, 4, 1)])
def test_extracted_rules_are_those_of_all_spans(longest, symbols, gap):
    rng = random.Random(longest)
    for _ in range(150):
        source, target, links = random_pair(rng)
        settings = Extraction(longest=longest, symbols=symbols, gap=gap, least=1, limit=1000)
        rules = extract([(source, target)], [Alignment.of(links)], settings)
        found = {
            (tuple(numbered(rule.source)), tuple(f"[{s}]" if isinstance(s, int) else s for s in rule.target))
            for rule in rules
        }
        assert found == hiero_rules(source, target, links, longest, symbols, gap)


def numbered(source):
    number = -1
    for symbol in source:
        if symbol == "[X]":
            number += 1
            symbol = f"[{number}]"
        yield symbol


@pytest.mark.kernel
def test_features_are_relative_frequencies_and_lexical_weights():
    pairs = [(["a"], ["x"])] * 3 + [(["a"], ["y"])] + [(["b"], ["x"])]
    links = [Alignment.of([(0, 0)])] * 5
    rules = {(r.source, r.target): r.features for r in extract(pairs, links, Extraction(least=1))}
    features = rules[("a",), ("x",)]
    assert features["EgivenF"] == pytest.approx(math.log(3 / 4))
    assert features["FgivenE"] == pytest.approx(math.log(3 / 4))
    assert features["LexEgivenF"] == pytest.approx(math.log(3 / 4))
    assert features["LexFgivenE"] == pytest.approx(math.log(3 / 4))
    assert features["Rules"] == 1
    assert features["Hiero"] == 0


@pytest.mark.kernel
def test_rare_rules_with_gaps_are_left_out_and_a_pair_counts_once():
    pair = (["a", "b", "c"], ["x", "y", "z"])
    links = Alignment.of([(0, 0), (1, 1), (2, 2)])
    settings = Extraction(least=2, gap=1)
    once = list(extract([pair], [links], settings))
    twice = list(extract([pair, pair], [links, links], settings))
    assert not any("[X]" in rule.source for rule in once)
    assert any("[X]" in rule.source for rule in twice)


@pytest.mark.kernel
def test_the_most_frequent_target_sides_come_first_and_no_more_than_the_limit():
    pairs = [(["a"], [word]) for word in ("x", "y", "y", "z", "z", "z")]
    links = [Alignment.of([(0, 0)])] * len(pairs)
    for limit in (1, 2, 3):
        rules = list(extract(pairs, links, Extraction(least=1, limit=limit)))
        assert [rule.target for rule in rules] == [("z",), ("y",), ("x",)][:limit]


@pytest.mark.kernel
def test_words_that_would_read_as_markup_make_no_rule(tmp_path):
    pairs = [(["a", "[1]", "c"], ["x", "y", "|||"])] * 2
    links = [Alignment.of([(0, 0), (1, 1), (2, 2)])] * 2
    rules = list(extract(pairs, links, Extraction(least=1)))
    assert {rule.source for rule in rules} == {("a",), ("a", "[X]")}
    path = str(tmp_path / "rules")
    write_rules(rules, path)
    assert [rule.source for rule in read_rules(path)] == [rule.source for rule in rules]


def test_links_that_do_not_fit_are_refused():
    with pytest.raises(dualign.DataError, match=r"pair 2: link .* is outside the pair"):
        extract([(["a"], ["x"])] * 2, [Alignment.of([(0, 0)]), Alignment.of([(0, 1)])])
    with pytest.raises(dualign.DataError, match="the list of links has"):
        extract([(["a"], ["x"])], [])
    with pytest.raises(dualign.UsageError, match="longest=0"):
        Extraction(longest=0)


def test_rules_of_a_file_are_parsed_when_a_sentence_needs_them(tmp_path):
    lines = [
        "[X] ||| la [X,1] verde ||| the green [X,1] ||| p=-0.5",
        "[X] ||| [X,1] de [X,2] ||| [X,2] [X,1] ||| p=-2",
        "[X] ||| casa ||| house ||| p=-1",
        "",
        "[X] ||| [X,1] [X,2] ||| [X,2] [X,1] ||| p=-4",
        "[X] ||| casa ||| home ||| p=-3",
        "[X] ||| otra ||| other ||| p",
        "[X] ||| casa de la ||| house of the ||| p=1",
    ]
    path = tmp_path / "rules"
    path.write_text("\n".join(lines) + "\n")
    stored = RuleFile(str(path))
    for words in ({"la", "casa", "verde"}, {"de", "casa"}, set(), {"casa", "de", "la"}):
        assert stored.among(words).rules == list(read_rules(str(path), words))
    with pytest.raises(dualign.DataError, match=r"rules:7: the feature 'p' has no number"):
        stored.among({"otra"})
    path.write_text("nonsense\n")
    with pytest.raises(dualign.DataError, match="rules:1: 1 fields"):
        RuleFile(str(path)).among({"casa"})
