from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.oracles.statistics import components
from tests.show.strategies import aligned_pairs

from dualign.show.terminal import Shown, _groups, pair_on_terminal, printable
from dualign.text.formats.pharaoh import parse_pharaoh


def plain(shown, width=60):
    return [line.plain for line in pair_on_terminal(shown, width)]


def test_grid_of_a_pair():
    pair = Shown(7, ["das", "Haus"], ["the", "old", "house"], parse_pharaoh("0-0 1-2"))
    assert plain(pair) == [
        "7",
        "das Haus",
        "the old house",
        "",
        "          h",
        "          o",
        "      t o u",
        "      h l s",
        "      e d e",
        " das  ■ · ·",
        "Haus  · · ■",
    ]


def test_marks_tell_gold_and_probability():
    links, gold = parse_pharaoh("0-0 1-1 1-2"), parse_pharaoh("0-0 0?1 1-0 1?2")
    pair = Shown(1, ["a", "b"], ["x", "y", "z"], links, gold, {(0, 0): 0.9, (1, 2): 0.4})
    shown = plain(pair)
    assert shown[0] == "1  1 wrong, 1 missing"
    assert shown[-2:] == ["a  ■ ○ ·", "b  □ ✗ ▪"]


def test_wide_letters_keep_columns_in_line():
    pair = Shown(1, ["私", "は"], ["本", "I"], parse_pharaoh("0-1"))
    rows = plain(pair)[-3:]
    assert rows == ["   本 I", "私  · ■", "は  · ·"]


def test_long_sentences_are_cut_into_blocks_of_the_width():
    pair = Shown(1, ["a" * 50], ["b"] * 50, parse_pharaoh("0-0 0-49"))
    rows = [line for line in plain(pair, 40)[4:] if line]
    assert max(map(cell_len, rows)) <= 40
    assert sum(line.count("■") for line in rows) == 2
    assert sum(line.count("·") for line in rows) == 48


def test_empty_sides():
    assert plain(Shown(1, [], ["x"], parse_pharaoh(""))) == ["1", "(empty)", "x"]


def test_tokens_cannot_command_the_terminal():
    assert printable("a\x1b[31mb\x07\u202e") == "a\ufffd[31mb\ufffd\ufffd"
    assert printable("नमस्\u200dते") == "नमस्\u200dते"
    text = "".join(plain(Shown(1, ["\x1b]0;x\x07"], ["\x9b2J"], parse_pharaoh("0-0"))))
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)


@given(aligned_pairs(), st.integers(20, 80))
def test_every_link_is_in_the_grid_once(item, width):
    (source, target), alignment = item
    rows = plain(Shown(1, source, target, alignment), width)[3:]
    assert sum(line.count("■") for line in rows) == len(alignment.links)


@given(aligned_pairs())
def test_words_are_of_one_colour_if_links_join_them(item):
    (source, target), alignment = item
    groups = _groups(Shown(1, source, target, alignment))
    nodes = {("s", at): group for at, group in groups[0].items()} | {
        ("t", at): group for at, group in groups[1].items()
    }
    found = {frozenset(node for node in nodes if nodes[node] == group) for group in nodes.values()}
    assert found == set(map(frozenset, components(alignment.links)))
