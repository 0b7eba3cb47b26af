"""Tree-to-string rules: extraction against the definition, forests against all derivations."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.translation import derivations
from tests.oracles.treerules import tree_derivations, tree_rules

import dualign
from dualign.text.brackets import parse_tree
from dualign.text.links import Alignment
from dualign.translate.forest.builder import match
from dualign.translate.rules.grammar import Grammar, Rule, parse_rule, read_rules, write_rules
from dualign.translate.rules.trees import TreeExtraction, extract_from_trees, fragments


def random_tree(rng, words):
    """A tree over these words, with unary nodes and words beside nodes."""
    label = rng.choice("ABC")
    if len(words) == 1:
        child = words[0] if rng.random() < 0.7 else random_tree(rng, words)
        return label, [child]
    parts = rng.randint(1 if rng.random() < 0.2 else 2, min(3, len(words)))
    ends = [0, *sorted(rng.sample(range(1, len(words)), parts - 1)), len(words)]
    children = []
    for a, b in pairwise(ends):
        alone = b - a == 1 and rng.random() < 0.3
        children.append(words[a] if alone else random_tree(rng, words[a:b]))
    return label, children


def bracketed(tree):
    label, children = tree
    return f"({label} {' '.join(c if isinstance(c, str) else bracketed(c) for c in children)})"


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.sampled_from([2, 4, 20]))
def test_extracted_rules_are_those_of_the_definition(rng, parts, symbols):
    source = [rng.choice("abcd") for _ in range(rng.randint(1, 6))]
    target = [rng.choice("wxyz") for _ in range(rng.randint(1, 6))]
    links = {(rng.randrange(len(source)), rng.randrange(len(target))) for _ in range(rng.randint(0, 7))}
    tree = random_tree(rng, source)
    limits = TreeExtraction(parts=parts, symbols=symbols)
    found = list(fragments(parse_tree(bracketed(tree)), target, sorted(links), limits))
    assert {f[:3] for f in found} == tree_rules(tree, target, links, parts, symbols)
    for rule in found:
        assert [source[i] for i in rule.source_at] == [s for s in rule.source if s[0] not in "()["]
        assert [target[j] for j in rule.target_at] == [s for s in rule.target if isinstance(s, str)]


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False))
def test_forests_have_every_derivation(rng):
    tree = random_tree(rng, [rng.choice("ab") for _ in range(rng.randint(1, 5))])
    other = random_tree(rng, [rng.choice("ab") for _ in range(rng.randint(1, 5))])
    sides = set()
    for sample in (tree, other):
        n = sum(c in "ab" for c in bracketed(sample))
        links = [(i, i) for i in range(n)]
        sides |= {
            f.source
            for f in fragments(parse_tree(bracketed(sample)), ["x"] * n, links, TreeExtraction(parts=2))
            if rng.random() < 0.5
        }
    chosen = sorted(sides)
    rules = [
        Rule(s[0][1:], s, ("w", *range(sum(x[0] == "[" for x in s))), {"p": math.log(n + 2)})
        for n, s in enumerate(chosen)
    ]
    parsed = match(parse_tree(bracketed(tree)), Grammar(rules), {"p": 1.0, "Copy": -1.0})
    graph = parsed.hypergraph
    found = derivations(graph.vertices, graph.edges, graph.root)
    if found is not None:
        assert len(found) == tree_derivations(tree, chosen)


def test_rules_are_written_and_read_again_in_the_form_of_hiero(tmp_path):
    rule = parse_rule("[NP] ||| (NP (DT la ) [NN,1] (JJ verde ) ) ||| the green [NN,1] ||| p=-0.5")
    assert rule.source == ("(NP", "(DT", "la", ")", "[NN]", "(JJ", "verde", ")", ")")
    path = str(tmp_path / "rules.gz")
    write_rules([rule], path)
    assert list(read_rules(path)) == [rule]
    tree = parse_tree("(NP (DT la) (NN casa) (JJ verde))")
    assert list(read_rules(path, set(tree.tokens))) == [rule]
    best, weight = match(tree, Grammar([rule]), {"p": 1.0, "Copy": -5.0}).hypergraph.best()
    assert (str(best), weight) == ("the green casa", -5.5)


def test_a_tree_without_rules_is_copied_word_by_word():
    parsed = match(parse_tree("(S (NP (DT la) -LRB-) (, ,) (X <s>))"), Grammar(), {"Copy": -1.0, "Glue": 0.1})
    best, weight = parsed.hypergraph.best()
    assert best.words == ("la", "(", ",", "<S>")
    assert weight == pytest.approx(-4 + 2 * 0.1)


def test_words_that_would_read_as_markup_make_no_rule():
    tree = parse_tree("(S (A a) (B b))")
    links = [(0, 0), (1, 1)]
    found = list(fragments(tree, ["[X,1]", "y"], links, TreeExtraction()))
    assert {f.source for f in found} == {
        ("(B", "b", ")"),
        ("(S", "[A]", "[B]", ")"),
        ("(S", "[A]", "(B", "b", ")", ")"),
    }
    for target in ("|||", "a|||b"):
        assert len(list(fragments(tree, [target, "y"], links, TreeExtraction()))) == 3


@pytest.mark.kernel
def test_features_are_relative_frequencies_and_rare_composed_rules_are_left_out():
    pairs = [(["a", "b"], ["x", "y"])] * 3 + [(["a", "b"], ["z", "y"])]
    tree = parse_tree("(S (A a) (B b))")
    links = [Alignment.of([(0, 0), (1, 1)])] * 4
    rules = {(r.source, r.target): r for r in extract_from_trees(pairs, [tree] * 4, links)}
    features = rules[("(A", "a", ")"), ("x",)].features
    assert features["EgivenF"] == pytest.approx(math.log(3 / 4))
    assert features["FgivenE"] == pytest.approx(0)
    assert features["LexEgivenF"] == pytest.approx(math.log(3 / 4))
    assert features["Hiero"] == 0
    whole = ("(S", "(A", "a", ")", "(B", "b", ")", ")")
    assert rules[whole, ("x", "y")].left == "S"
    assert (whole, ("z", "y")) not in rules
    assert (("(A", "a", ")"), ("z",)) in rules
    assert rules[("(S", "[A]", "[B]", ")"), (0, 1)].features["Hiero"] == 1
    few = list(extract_from_trees(pairs, [tree] * 4, links, TreeExtraction(limit=1)))
    assert len({r.source for r in few}) == len(few)


def test_trees_that_do_not_fit_are_refused():
    pairs = [(["a"], ["x"])]
    with pytest.raises(dualign.DataError, match="the text has 1 sentence but the list of trees has 0"):
        extract_from_trees(pairs, [], [Alignment.of([(0, 0)])])
    with pytest.raises(dualign.UsageError, match="parts=0"):
        TreeExtraction(parts=0)
    assert list(extract_from_trees(pairs, [None], [Alignment.of([(0, 0)])])) == []
