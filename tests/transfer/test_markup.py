"""Inline markup: tags survive, nest, and land around the right words."""

from __future__ import annotations

import re
from collections import Counter
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transfer.strategies import links

from dualign._core.errors import DataError
from dualign.text.utf8 import tokenize
from dualign.transfer.markup import Element, parse_markup, place_markup
from dualign.transfer.tokens import locate


def transfer(source: str, target: str, found: list[tuple[int, int, float]]) -> str:
    markup = parse_markup(source)
    words = locate(tokenize(markup.text), markup.text, ("source", "text"))
    places = locate(tokenize(target), target, ("target", "text"))
    return place_markup(markup, words, target, places, found).text


def pharaoh(text: str) -> list[tuple[int, int, float]]:
    return [(int(link.split("-")[0]), int(link.split("-")[1]), 1.0) for link in text.split()]


@st.composite
def marked_up(draw: st.DrawFn, words: int) -> str:
    """A line of words with tags that nest, some of them points, some empty."""
    pieces: list[str] = []
    stack: list[str] = []
    names = iter(range(1000))
    for k in range(words):
        for _ in range(draw(st.integers(0, 2))):
            action = draw(st.sampled_from(["open", "close", "point", "none"]))
            if action == "open":
                stack.append(f"t{next(names)}")
                pieces.append(f"<{stack[-1]}>")
            elif action == "close" and stack:
                pieces.append(f"</{stack.pop()}>")
            elif action == "point":
                pieces.append(f'<x id="{next(names)}"/>')
        pieces.append(f"w{k} ")
    return "".join([*pieces, *(f"</{name}>" for name in reversed(stack))])


def parents(elements: list[Element], above: str = "") -> dict[str, str]:
    found = {}
    for element in elements:
        found[element.opening] = above
        found |= parents(element.children, element.opening)
    return found


@given(st.data())
def test_tags_are_kept_each_once_and_nest_as_before(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 6))
    source = data.draw(marked_up(count))
    length = data.draw(st.integers(0, 6))
    target = " ".join(f"v{k}" for k in range(length))
    result = transfer(source, target, data.draw(links(count, length)))
    assert Counter(re.findall("<[^>]*>", result)) == Counter(re.findall("<[^>]*>", source))
    assert re.sub("<[^>]*>", "", result) == target
    assert parents(parse_markup(result).elements) == parents(parse_markup(source).elements)


@given(st.data())
def test_identity_copies_elements_around_the_same_words(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    source = data.draw(marked_up(count))
    result = transfer(source, parse_markup(source).text, [(k, k, 1.0) for k in range(count)])

    def held(line: str) -> dict[str, list[str]]:
        found = {}
        for name in re.findall("<(t[0-9]+)>", line):
            inside = line.split(f"<{name}>")[1].split(f"</{name}>")[0]
            found[name] = re.findall("w[0-9]+", re.sub("<[^>]*>", "", inside))
        return found

    assert held(result) == held(source)


@pytest.mark.parametrize(
    ("source", "target", "found", "expected"),
    [
        (
            "Click <b>Save</b> now .",
            "Jetzt Sichern klicken .",
            "0-2 1-1 2-0 3-3",
            "Jetzt <b>Sichern</b> klicken .",
        ),
        ("a <i>b <b>c</b></i>", "x y z", "0-0 1-2 2-1", "x <i><b>y</b> z</i>"),
        ("a <i>b <b>c</b></i>", "z y x", "0-2 1-0 2-1", "<i>z <b>y</b></i> x"),
        ("<b>a b</b> c", "x y z", "0-0 1-2 2-1", "<b>x y z</b>"),
        ("<b>a b</b> <i>c</i>", "x y z", "0-0 1-2 2-1", "<b>x</b> <i>y</i> z"),
        ("<b>a b</b> <br/> c", "x y z", "0-1 1-0", "<b>x y</b> <br/>z"),  # a point stays outside
        ("<b>a</b> <i>b</i> c", "x y z", "0-0 0-1 1-1", "<b>x y</b> <i></i>z"),
        ("<b>a b</b> <i>c</i>", "x y", "0-0 2-0", "<i></i><b>x</b> y"),  # a word has one of them
        ("a <br>b", "x y", "0-0", "x <br>y"),
        ("a <b>b</b>", "x", "0-0", "x<b></b>"),
        ("<b>a</b> b", "x", "1-0", "<b></b>x"),
        ('a <x id="1"/> b', "y x", "0-1 1-0", '<x id="1"/>y x'),
        ("a <!-- note --> b", "x y", "0-0 1-1", "x <!-- note -->y"),
        ("<b></b>", "", "", "<b></b>"),
        ("a < b > c <b>d</b>", "x", "5-0", "<b>x</b>"),
        ("<link>a</link> <br> b", "x y", "0-0 1-1", "<link>x</link> <br>y"),
        ("<col>a <column>b</column>", "x y", "0-0 1-1", "<col>x <column>y</column>"),
        ("<größe>a</größe> b", "x y", "0-1 1-0", "x <größe>y</größe>"),
        ("un<b>believ</b>able b", "x y", "0-1 1-0", "x <b>y</b>"),
    ],
)
def test_placements(source: str, target: str, found: str, expected: str) -> None:
    assert transfer(source, target, pharaoh(found)) == expected


def test_a_character_that_two_words_share_is_written_once() -> None:
    markup = parse_markup("<b>a</b> <i>b</i> c")
    words = locate(["f", "i", "n"], "ﬁn", ("target", "text"))
    placed = place_markup(markup, [(0, 1), (2, 3), (4, 5)], "ﬁn", words, pharaoh("0-0 1-1 2-2"))
    assert placed.text == "<b>ﬁ</b><i></i>n"


def test_the_heavier_of_two_that_overlap_keeps_its_words() -> None:
    source = "<b>a b</b> <i>c d</i>"
    found = [(0, 0, 0.5), (1, 3, 0.5), (2, 1, 1.0), (3, 2, 1.0)]
    assert transfer(source, "w x y z", found) == "<b>w</b> <i>x y</i> z"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<b>a <i>b</b> c</i>", "`</b>` at character 9 closes while `<i>` is open; tags must not overlap"),
        ("a </b>", "`</b>` at character 2 closes a tag that is not open"),
        ("<b> a", "`<b>` is never closed"),
        ("<b>" * 2000, "tags nest more than 100 deep"),
    ],
)
def test_tags_that_do_not_nest_are_refused(line: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_markup(line)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "<!--" * 20000,
        "<?" * 20000,
        "<b>x</b> " * 20000,
        "x <br> " * 20000,
        "<a b='\"" * 10000,
        "</a " * 20000,
    ],
    ids=["comments", "instructions", "elements", "points", "quotes", "closings"],
)
def test_time_grows_with_the_line_not_with_its_square(line):
    began = process_time()
    markup = parse_markup(line)
    words = [(match.start(), match.end()) for match in re.finditer(r"\S+", markup.text)]
    links = [(n, n, 1.0) for n in range(0, len(words), 2)]
    placed = place_markup(markup, words, markup.text, words, links)
    assert len(placed.text) == len(line)
    # Seconds on a busy machine; in quadratic time it was minutes.
    assert process_time() - began < 5
