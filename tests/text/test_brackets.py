"""Trees in brackets: what is read, and what is refused with file and line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualign
from dualign.text.brackets import escaped, parse_tree, read_trees, trees_of, unescaped


def test_a_tree_keeps_its_words_labels_and_order():
    tree = parse_tree("( (S (NP (DT la)  (NN casa)) (, ,) es))")
    assert str(tree) == "(TOP (S (NP (DT la) (NN casa)) (-COMMA- ,) es))"
    assert tree.leaves == ["la", "casa", ",", "es"]
    assert [tree.tokens[p] for p in tree.children(1)] == ["(NP", "(-COMMA-", "es"]
    assert [tree.tokens[p] for p in tree.nodes] == ["(-COMMA-", "(NN", "(DT", "(NP", "(S", "(TOP"]
    assert [tree.words[p] for p in (0, 4, 7, len(tree.tokens))] == [0, 0, 1, 4]


words = st.text(st.sampled_from("ab-|é"), min_size=1, max_size=3)
trees = st.recursive(
    st.tuples(words, st.lists(words, min_size=1, max_size=2)),
    lambda below: st.tuples(words, st.lists(st.one_of(below, words), min_size=1, max_size=3)),
    max_leaves=8,
)


def bracketed(tree):
    label, children = tree
    return f"({label} {' '.join(c if isinstance(c, str) else bracketed(c) for c in children)})"


@given(trees)
def test_what_is_written_is_read_again(tree):
    text = bracketed(tree)
    read = parse_tree(text)
    assert unescaped(str(read)) == unescaped(text)
    assert parse_tree(str(read)) == read
    for p in read.nodes:
        # The tokens of a node are a tree of their own.
        assert parse_tree(" ".join(read.tokens[p : read.after[p]])).leaves == [
            read.tokens[q] for q in range(p, read.after[p]) if read.tokens[q][0] not in "()"
        ]


def test_a_deep_tree_is_no_danger():
    assert parse_tree("(X " * 20_000 + "a" + ")" * 20_000).leaves == ["a"]


def test_brackets_in_words_are_escaped():
    assert escaped("(a)[|||]") == "-LRB-a-RRB--LSB--BARS--RSB-"
    assert unescaped(escaped("(a)[|||]")) == "(a)[|||]"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(S (NP la)", "1 `\\(` without `\\)`"),
        ("(S la))", "after the end of the tree"),
        (") (S la)", "`\\)` without its `\\(`"),
        ("(S la) (S la)", "after the end of the tree"),
        ("la casa", "'la' stands outside all brackets"),
        ("(S (NP) la)", "the node \\(NP\\) has no words"),
    ],
)
def test_malformed_trees_are_refused_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "trees"
    path.write_text(f"(S la)\n\n{line}\n")
    with pytest.raises(dualign.DataError, match=rf"trees:3: .*{message}"):
        list(read_trees(str(path)))


def test_trees_belong_to_their_sentences(tmp_path):
    path = tmp_path / "trees"
    path.write_bytes("\ufeff(S la -LRB-)\r\n\r\n(())\r\n".encode())
    found = list(trees_of(str(path), [["la", "("], ["x"], []]))
    assert [tree and tree.leaves for tree in found] == [["la", "-LRB-"], None, None]
    with pytest.raises(dualign.DataError, match="trees:1: word 1 is 'la' in the tree and 'le' in the text"):
        list(trees_of(str(path), [["le", "("], [], []]))
    with pytest.raises(dualign.DataError, match="trees:1: word 2 is '-LRB-' in the tree and 'missing'"):
        list(trees_of(str(path), [["la"], [], []]))
    with pytest.raises(dualign.DataError, match="trees has 3 lines but the text has 1"):
        list(trees_of(str(path), [["la", "("]]))
    with pytest.raises(dualign.DataError, match="but the text has"):
        list(trees_of(str(path), [["la", "("], [], [], []]))
