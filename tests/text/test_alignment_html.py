from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from tests.show.strategies import aligned_pairs

from dualign._core.errors import DataError
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.links import Alignment

ALLOWED = {"div", "table", "tr", "td", "th", "span", "p", "bdi"}


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_words_stand_at_rows_and_columns():
    shown = parse_pharaoh("0-0 1?1").with_words(["das", "Haus"], ["the", "house"])._repr_html_()
    assert Tags(shown).text == ["the", "house", "das", "●", "Haus", "○"]


def test_without_words_there_are_positions():
    assert Tags(parse_pharaoh("0-2")._repr_html_()).text == ["0", "1", "2", "0", "●"]
    assert "no links" in Alignment()._repr_html_()


def test_probability_is_the_size_and_the_title():
    shown = Alignment(((0, 0),), (), (0.25,), (["a"], ["b"]))._repr_html_()
    assert 'title="0.250"' in shown
    assert "font-size:55%" in shown


def test_long_pairs_are_listed():
    words = [f"w{k}" for k in range(200)]
    shown = Alignment.of([(3, 7), (3, 9)], [(4, 4)]).with_words(words, words)._repr_html_()
    assert "<bdi>w7</bdi>, <bdi>w9</bdi>" in shown
    assert "<bdi>w4</bdi> (possible)" in shown
    assert len(shown) < 40_000


@given(aligned_pairs())
def test_words_are_never_markup(item):
    (source, target), alignment = item
    parsed = Tags(alignment.with_words(source, target)._repr_html_())
    assert set(parsed.tags) <= ALLOWED
    if source and target:
        marks = [text for text in parsed.text if text in "●○"]
        assert len(marks) == len(alignment.links) + len(alignment.possible)
        assert [text for text in parsed.text if text not in ("●", "○")] == [*target, *source]


def test_words_are_checked():
    with pytest.raises(DataError, match="link 0-1 is outside the pair"):
        parse_pharaoh("0-1").with_words(["a"], ["b"])
    with pytest.raises(DataError, match="source is a string"):
        parse_pharaoh("0-0").with_words("a", ["b"])


def test_words_do_not_change_what_an_alignment_is():
    bare = parse_pharaoh("0-0")
    known = bare.with_words(["a"], ["b"])
    assert known == bare
    assert hash(known) == hash(bare)
    assert repr(known) == repr(bare)
    assert re.fullmatch(r"0-0", str(known))
