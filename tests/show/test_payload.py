from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.show.strategies import aligned_pairs

import dualign.show
from dualign.show.dataset import Dataset, System
from dualign.show.viewer import SCRIPTS, alignment_page, content, document, packed, viewer_page
from dualign.text.links import Alignment

ASSETS = Path(dualign.show.__file__).parent / "assets"


class Elements(HTMLParser):
    """The text of each script, style and title, and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.inside, self.texts, self.attributes = None, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.inside = (tag, dict(attrs))
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        if self.inside:
            self.texts.append((*self.inside, data))

    def handle_endtag(self, tag):
        self.inside = None


def parsed(line):
    """Links, possible links and probabilities in thousandths of a line of the payload."""
    links, possible, cells = set(), set(), {}
    for token in line.split():
        i, mark, j, p = re.fullmatch(r"(\d+)([-?~])(\d+)(?::(\d+))?", token).groups()
        cell = int(i), int(j)
        if mark != "~":
            (links if mark == "-" else possible).add(cell)
        if p is not None:
            cells[cell] = int(p)
    return links, possible, cells


@given(st.lists(aligned_pairs(), min_size=1, max_size=5), st.data())
def test_nothing_is_lost_on_the_way_to_the_page(items, data):
    pairs, alignments = [item[0] for item in items], [item[1] for item in items]
    extra = {(0, 0): 0.125} if pairs[0][0] and pairs[0][1] else {}
    cells = [dict(zip(a.links, a.probabilities or (), strict=False)) for a in alignments]
    cells[0] = extra | cells[0]
    gold = [data.draw(st.sampled_from([None, alignment])) for alignment in alignments]
    page = viewer_page(content(Dataset(pairs, [System("x", alignments, cells)], gold)))
    [(_, _, text)] = [item for item in Elements(page).texts if item[1].get("id") == "data"]
    read = json.loads(text)
    for side, name in enumerate(("source", "target")):
        lines = read[name].split("\n")
        assert [line.split(" ") if line else [] for line in lines] == [list(pair[side]) for pair in pairs]
    for line, alignment, known in zip(
        read["systems"][0]["links"].split("\n"), alignments, cells, strict=True
    ):
        links, possible, thousandths = parsed(line)
        assert links == set(alignment.links)
        assert possible == set(alignment.possible)
        assert thousandths == {cell: round(1000 * p) for cell, p in known.items()}
    for line, alignment in zip(read["gold"].split("\n"), gold, strict=True):
        assert (line == "!") == (alignment is None)
        assert alignment is None or parsed(line)[:2] == (set(alignment.links), set(alignment.possible))


def test_same_data_same_bytes():
    data = Dataset([(["a"], ["b"])], [System("x", [Alignment(((0, 0),))])])
    assert viewer_page(content(data)) == viewer_page(content(data))


def test_no_tag_can_end_the_data():
    assert "<" not in packed({"a": "</script><!--"})
    assert json.loads(packed({"a": "</script>"})) == {"a": "</script>"}


def policies(page):
    [policy] = [
        value
        for tag, name, value in Elements(page).attributes
        if tag == "meta" and "default-src" in (value or "")
    ]
    return dict(part.split(" ", 1) for part in policy.split("; "))


@pytest.mark.parametrize("live", [False, True])
def test_policy_forbids_all_but_our_own_script_and_style(live):
    page = viewer_page(content(Dataset([(["a"], ["b"])])), live=live)
    found = policies(page)
    assert found["default-src"] == "'none'"
    assert ("connect-src" in found) == live
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        [text] = [item[2] for item in Elements(page).texts if item[0] == tag and "type" not in item[1]]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert found[name] == f"'sha256-{digest}'"


def test_page_names_no_other_place():
    page = viewer_page(content(Dataset([(["a"], ["b"])])))
    assert [value for _, name, value in Elements(page).attributes if name in ("src", "href")] == ["data:,"]
    for path in ASSETS.iterdir():
        addresses = set(re.findall(r"https?://[^\s\"')]+", path.read_text(encoding="utf-8")))
        assert addresses <= {"http://www.w3.org/2000/svg"}


def test_scripts_never_turn_text_into_markup():
    for path in ASSETS.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for danger in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert danger not in text, path


def test_every_script_is_in_a_page():
    assert sorted([*SCRIPTS, "typed_pair"]) == sorted(path.stem for path in ASSETS.glob("*.js"))
    assert (ASSETS / "typed_pair.js").read_text("utf-8") in alignment_page()


def test_titles_are_escaped():
    assert "<title>&lt;x&gt;</title>" in document("<x>", "", "")


def luminance(colour):
    def linear(part):
        value = int(part, 16) / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(colour[k : k + 2]) for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_are_legible_in_both_themes(theme):
    text = (ASSETS / "base.css").read_text(encoding="utf-8")
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r"\{[^{}]*--paper[^{}]*\}", text)
    ]
    assert blocks[1] == blocks[2]
    colours = blocks[theme]
    # WCAG 2: 4.5 for text, 3 for marks.
    for ink in ("ink", "soft", "other", "good", "accent"):
        for ground in ("paper", "panel"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    assert contrast(colours["ink"], colours["chosen"]) >= 4.5
    assert contrast(colours["soft"], colours["chosen"]) >= 4.5
    for mark in ("both", "one", "other", "gain", "loss", "sure-edge"):
        assert contrast(colours[mark], colours["paper"]) >= 3, mark
    assert contrast(colours["both"], colours["sure"]) >= 3
