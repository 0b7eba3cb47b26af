from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st
from tests.show.strategies import aligned_pairs

from dualign.hmm.training import Progress
from dualign.show.summary import About, bars, line, summary_page
from dualign.text.links import Alignment

PAIRS = [(["das", "Haus", "da"], ["the", "house", "<b>"])] * 8
LINKS = [Alignment(((0, 0), (1, 1), (2, 2)), (), (0.9, 0.5, n / 10)) for n in range(8)]
ROUNDS = [Progress("HMM", n, 3, -100.0 / n, 20, 8) for n in (1, 2, 3)]


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.parts = [], []
        self.feed(page)
        self.text = " ".join(" ".join(self.parts).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.parts.append(data)


def test_page_has_every_part():
    records = [
        '{"line": 1, "score": 1, "bound": 1.5, "certified": false, "seconds": 2}',
        None,
        '{"certified": true}',
    ]
    page = Text(summary_page(PAIRS, LINKS, About("run", ROUNDS, records, {"decoder": "soft-union"})))
    for part in (
        "Corpus: 8 sentence pairs", "HMM 3 -33.3333 2.4045", "Links: 24, 3.00 per pair",
        "words without links 0.0 % 0.0 %", "Mean probability of a link: 0.583", "certified 1 of 2 (50.0 %)",
        "largest gap 0.5", "seconds in all 2.000",
        "Most certain pairs 0.700 das Haus da the house <b>", "Least certain pairs 0.467",
        "least certain links: da – <b> 0.00, Haus – house 0.50", "das the 8 1.00 1.00", "decoder soft-union",
    ):  # fmt: skip
        assert part in page.text
    assert page.tags.count("svg") == 4
    assert not {"script", "b", "img"} & set(page.tags)


def test_dictionary_has_content_words_and_can_be_saved():
    pairs = [(["der", f"Hund{n % 40}", "!", "x<"], ["the", f"dog{n % 40}", "!", "y"]) for n in range(120)]
    links = [
        Alignment(((0, 0), (1, 1), (2, 2), *(((1, 0),) if n % 40 == 7 else ())), (), None) for n in range(120)
    ]
    page = summary_page(pairs, links, About("x", facts={"source": "a.de"}))
    text = Text(page).text
    assert "Dictionary: content words" in text
    assert "hund0 dog0 3 1.00 1.00 hund1 dog1 3 1.00 1.00" in text
    assert "der the" not in text
    assert "source a.de" in text
    saved = unquote(re.search(r'download="dictionary.tsv" href="data:[^,]*,([^"]*)"', page)[1]).splitlines()
    assert saved[0] == "source\ttarget\tcount\tp(target|source)\tp(source|target)"
    assert len(saved) == 41
    # The one that is also linked to another word is not certain, and comes last.
    assert saved[-1] == "hund7\tdog7\t3\t0.50\t1.00"


def test_page_of_links_without_probabilities_says_so():
    page = Text(summary_page([(["a"], ["b", "c"])], [Alignment(((0, 0),))], About("x")))
    assert "The links have no probabilities." in page.text
    assert "Training" not in page.text
    assert "c 1 100 %" in page.text


@given(st.lists(aligned_pairs(), max_size=6))
def test_any_text_makes_a_page_in_which_it_is_text(items):
    pairs, links = [item[0] for item in items], [item[1] for item in items]
    page = summary_page(pairs, links, About("<x>"))
    assert not {"script", "i", "b"} & set(Text(page).tags)
    assert page == summary_page(pairs, links, About("<x>"))


def test_charts_reach_the_top_and_the_bottom():
    heights = [
        float(value)
        for value in re.findall(r'class="bar"[^>]* height="([^"]+)"', bars(["a", "b"], [0, 10], x="x", y="y"))
    ]
    assert heights == [0, 126]
    points = re.search(r'points="([^"]+)"', line([3.0, 1.0], ["a", "<"], x="x", y="y"))[1]
    assert [float(point.split(",")[1]) for point in points.split()] == [10, 136]
    assert "&lt;" in line([1.0], ["<"], x="x", y="y")
    assert bars([], [], x="x", y="y")
