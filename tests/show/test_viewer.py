"""The page in a browser: every feature, driven as a user drives it."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from tests.show import samples
from tests.show.browser import CHROMIUM, REQUIRED, Browser

from dualign.measure.links import evaluate
from dualign.show.dataset import Dataset, System
from dualign.show.viewer import Viewer, content, viewer_page
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.gold import read_gold
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment

pytestmark = (
    pytest.mark.slow
)  # a browser of many processes: `make quick` is for what the machine at hand computes

CARD = "document.getElementById('card').innerText"
COUNT = "document.getElementById('count').textContent"
TITLE = "document.querySelector('#detail h1')?.textContent"
LEFT = "(e) => e.getBoundingClientRect().x"


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests: it takes longer to start than most of them to run."""
    unfit = pytest.fail if REQUIRED else pytest.skip
    if CHROMIUM is None:
        unfit("no Chromium is installed")
    try:
        made = Browser()
    except (AssertionError, OSError) as error:
        unfit(f"{CHROMIUM} does not start here: {error}")
    yield made
    made.close()


@pytest.fixture
def browser(chromium):
    chromium.size(1400, 900)
    chromium.scheme("light")
    yield chromium
    # A feature that logs an error is broken, whatever it shows.
    assert chromium.complaints() == []


@pytest.fixture
def page(browser, tmp_path):
    """The sample's page; what a test stores in the browser is forgotten after it."""
    browser.open(samples.page(tmp_path, posteriors="\n".join(samples.POSTERIORS), projection="symmetric"))
    yield browser
    browser.js("localStorage.clear()")


def shown(browser):
    """Line numbers of the pairs in the list, from top to bottom."""
    texts = browser.js(
        "[...document.querySelectorAll('#list .row')].filter((row) => row.style.display !== 'none')"
        ".sort((x, y) => x.dataset.at - y.dataset.at).map((row) => row.querySelector('.at').textContent)"
    )
    return [int(text.replace(",", "")) for text in texts]


def kinds(browser, selector):
    return browser.js(
        f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.getAttribute('class'))"
    )


def cell(browser, i, j):
    """The middle of a cell of the large matrix of the pair in sight; none of its sides is mirrored."""
    x, y, step = browser.js(
        "(() => { const box = document.querySelector('#detail > .matrix'), e = box.querySelector('.cells');"
        "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
        "return [r.x, r.y, (r.height - 1) / box.querySelectorAll('.names .word').length]; })()"
    )
    return x + (j + 0.5) * step, y + (i + 0.5) * step


def export(browser, which):
    """Open the menu and choose."""
    browser.click(*browser.place("#exports summary"))
    browser.click(*browser.place(f"#export-{which}"))
    assert not browser.js("document.getElementById('exports').open")


def test_page_opens_without_a_request_or_an_error(page, tmp_path):
    assert page.requests() == [(tmp_path / "page.html").as_uri()]
    assert page.js(COUNT) == "8 pairs"
    assert shown(page) == list(range(1, 9))
    assert page.js(TITLE) == "Pair 1"


def test_tokens_that_look_like_markup_are_text(page):
    page.press("j")
    texts = page.js("[...document.querySelectorAll('.lines .word')].map((e) => e.textContent)")
    assert texts == (samples.SOURCE[1] + " " + samples.TARGET[1]).split()
    assert (
        page.js("document.querySelectorAll('.lines script, .lines b, .row b, #detail b script').length") == 0
    )
    page.hover(*page.place(".lines .word[data-side='0'][data-at='1']"))
    assert samples.SCRIPT in page.js(CARD)
    assert not [event for event in page.events if event["method"] == "Page.javascriptDialogOpening"]


def test_names_of_files_and_systems_are_text(browser, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    data = Dataset([(["a"], ["b"])], [System(name, [parse_pharaoh("0-0")])], None, (name, name))
    path = tmp_path / "page.html"
    path.write_text(viewer_page(content(data)), encoding="utf-8")
    browser.open(path.as_uri())
    assert browser.js("document.title") == f"{name} – {name} · dualign"
    assert browser.js("document.querySelectorAll('img').length") == 0
    assert browser.js("document.getElementById('one').innerText") == name


def test_hovering_a_word_shows_its_links_probabilities_and_candidates(page):
    page.wait("window.performance.now() > 900")
    page.hover(*page.place(".lines .word[data-side='0'][data-at='1']"))
    page.wait(f"{CARD}.includes('whole text')")
    card = page.js(CARD)
    assert "Haus" in card
    assert "one: house 90.0 %" in card
    assert "two: house" in card
    assert "gold: house" in card
    assert "linked in the whole text to\nhouse 100 %" in card
    assert page.js("document.querySelector('.lines .word.near[data-side=\"1\"]').textContent") == "house"
    assert len(kinds(page, ".lines .curve.near")) == 1


def test_hovering_a_cell_shows_systems_gold_and_posteriors(page):
    page.hover(*cell(page, 2, 3))
    card = page.js(CARD)
    assert "ist" in card
    assert "small" in card
    assert "one: linked, 30.0 %" in card
    assert "two: not linked" in card
    assert "gold: none" in card
    assert "target word chooses: 10.0 % → 30.0 %" in card
    assert "source word chooses: 40.0 % → 30.0 %" in card


def test_candidates_of_a_model_are_shown_instead_of_counts(browser, tmp_path):
    candidates = ["das\tthe\t800\tthat\t150\thouse\t2", "house\thaus\t990"]
    browser.open(samples.page(tmp_path, candidates=candidates, projection="none"))
    browser.hover(*browser.place(".lines .word[data-side='0'][data-at='0']"))
    assert "the model translates it as\nthe 80.0 %\nthat 15.0 %" in browser.js(CARD)
    browser.hover(*browser.place(".lines .word[data-side='1'][data-at='1']"))
    assert "haus 99.0 %" in browser.js(CARD)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("haus", [1]),
        ("house", [1, 4]),
        ("HOUSE small", [1, 4]),
        ("das the", [1]),
        ("=buch", [7]),
        ("=buc", []),
        ("s:the", []),
        ("t:the", [1, 4]),
        ("本", [5]),
        ("البيت", [4]),
        ("<script>", [2]),
        ("  ", [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_search(page, query, found):
    page.press("/")
    page.type(query)
    page.wait(f"{COUNT} === '{len(found)} of 8 pairs' || {COUNT} === '{len(found)} pairs'")
    assert shown(page) == found
    if not found:
        assert "No pair matches" in page.js("document.getElementById('detail').innerText")


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("errors", [1, 6, 7]),
        ("low", [2, 6, 7]),
        ("uncertified", [4]),
        ("unlinked", [3, 8]),
        ("differences", [1, 2, 4, 6]),
        ("edited", []),
    ],
)
def test_filters(page, filter, found):
    page.choose("#filter", filter)
    assert shown(page) == found


def test_filter_by_confidence_takes_the_limit(page):
    page.choose("#filter", "low")
    page.choose("#limit", "0.45")
    assert shown(page) == [7]


def test_filter_by_length(page):
    page.choose("#shortest", "4")
    page.choose("#longest", "5")
    assert shown(page) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("confidence", [7, 6, 2, 1, 4, 5, 3, 8]),
        ("-confidence", [5, 4, 1, 2, 6, 7, 3, 8]),
        ("-errors", [6, 1, 7, 2, 3, 4, 5, 8]),
        ("-differences", [6, 1, 2, 4, 3, 5, 7, 8]),
        ("-gap", [4, 1, 2, 3, 5, 6, 7, 8]),
        ("-length", [6, 4, 5, 1, 2, 3, 7, 8]),
    ],
)
def test_orders(page, sort, first):
    page.choose("#sort", sort)
    assert shown(page) == first
    assert page.js(TITLE) == f"Pair {first[0]}"


def test_comparison_with_gold_colours_errors(page):
    assert sorted(kinds(page, ".lines .curve")) == ["curve a", *["curve b"] * 2, *["curve both"] * 2]
    assert sorted(kinds(page, "#detail > .matrix rect.sure")) == ["sure"] * 4
    assert (
        page.js("document.getElementById('rates').textContent")
        == "AER 42.9 %, precision 66.7 %, recall 50.0 %"
    )


def test_comparison_of_two_systems_colours_differences(page):
    page.press("c")
    assert page.js("document.getElementById('two').selectedOptions[0].text") == "one"
    page.press("c")
    assert page.js("document.getElementById('two').selectedOptions[0].text") == "two"
    # Either may be right: nothing is drawn or coloured as an error.
    drawn = ["curve both"] * 2 + ["curve first"] + ["curve second"] * 2
    assert sorted(kinds(page, ".lines .curve")) == drawn
    assert kinds(page, "#detail > .matrix .cross") == []
    assert kinds(page, "#list .row .wrong") == []
    assert "3 ≠" in page.js("document.querySelector('#list .row .differ').textContent")
    assert "only one" in page.js("document.querySelector('.legend').innerText")
    page.choose("#two", "-1")
    assert sorted(kinds(page, ".lines .curve")) == ["curve both"] * 3


def test_errors_rates_and_differences_agree_with_the_library(browser, tmp_path):
    random = np.random.default_rng(5)
    pairs, one, two, gold = [], [], [], []
    for _ in range(40):
        I, J = (int(size) for size in random.integers(1, 9, 2))
        pairs.append(([f"s{i}" for i in range(I)], [f"t{j}" for j in range(J)]))
        some = [
            {
                (int(i), int(j))
                for i, j in zip(random.integers(0, I, 6), random.integers(0, J, 6), strict=True)
            }
            for _ in range(4)
        ]
        one.append(Alignment.of(some[0]))
        two.append(Alignment.of(some[1]))
        gold.append(Alignment.of(some[2], some[3]))
    data = Dataset(pairs, [System("one", one), System("two", two)], gold)
    path = tmp_path / "page.html"
    path.write_text(viewer_page(content(data)), encoding="utf-8")
    browser.size(1400, 3000)
    browser.open(path.as_uri())
    marks = browser.js(
        "[...document.querySelectorAll('#list .row')].sort((x, y) => x.dataset.at - y.dataset.at)"
        ".map((row) => row.querySelector('.marks').innerText.trim())"
    )
    for n in range(40):
        answer, sure = set(one[n].links), set(gold[n].links)
        wrong = len(answer - sure - set(gold[n].possible)) + len(sure - answer)
        assert marks[n] == (f"{wrong} ✗" if wrong else "")
        rates = evaluate([one[n]], [gold[n]])
        text = browser.js("document.getElementById('rates').textContent")
        values = [float(part.rpartition(" ")[0].rpartition(" ")[2]) for part in text.split(",")]
        expected = [100 * rate for rate in (rates.aer, rates.precision, rates.recall)]
        np.testing.assert_allclose(values, expected, atol=0.0501, rtol=0)
        browser.press("j")
    browser.choose("#two", "1")
    browser.choose("#filter", "differences")
    assert shown(browser) == [n + 1 for n in range(40) if set(one[n].links) != set(two[n].links)]


def test_editing_goes_from_none_to_sure_to_possible_and_back(page):
    page.press("e")
    at = cell(page, 2, 0)
    for kind in ("sure", "possible", None):
        page.click(*at)
        squares = kinds(page, "#detail > .matrix rect.sure, #detail > .matrix rect.possible")
        assert sorted(squares) == sorted(["sure"] * 4 + ([kind] if kind else []))
    assert "✎" in page.js("document.querySelector('#list .row[aria-selected=true]').innerText")
    page.choose("#filter", "edited")
    assert shown(page) == [1]


def test_cells_are_not_changed_outside_edit_mode(page):
    page.click(*cell(page, 2, 0))
    assert page.js("document.getElementById('undo').disabled")


def test_undo_and_redo_follow_the_edited_pair(page):
    page.press("e")
    page.click(*cell(page, 2, 0))
    page.press("Escape", "j", "j", "j", "j")
    assert page.js(TITLE) == "Pair 5"
    page.press("z", modifiers=2)
    assert page.js(TITLE) == "Pair 1"
    assert sorted(kinds(page, "#detail > .matrix rect.sure")) == ["sure"] * 4
    assert page.js("document.getElementById('undo').disabled")
    page.press("y")
    assert len(kinds(page, "#detail > .matrix rect.sure")) == 5


def test_export_writes_what_the_library_reads(page, tmp_path):
    page.press("e")
    page.click(*cell(page, 2, 0))
    page.click(*cell(page, 3, 0))
    page.click(*cell(page, 3, 0))
    export(page, "pharaoh")
    lines = page.downloaded("gold.links").splitlines()
    assert lines[0] == "0-0 1-1 2-0 2-2 3?0 3-3"
    expected = [parse_pharaoh(line) for line in [lines[0], *samples.GOLD[1:]]]
    assert [parse_pharaoh(line) for line in lines] == expected
    page.press("n")
    path = tmp_path / "gold.naacl"
    path.write_text(page.downloaded("gold.naacl"), encoding="utf-8")
    assert list(read_links(str(path), count=8)) == expected


def test_corrections_come_out_among_all_links_or_alone(page, tmp_path):
    page.press("e")
    page.click(*cell(page, 2, 0))
    page.press("Escape", "j", "j", "a", "b")
    lines = page.downloaded("corrected.links").splitlines()
    path = tmp_path / "corrections.tsv"
    export(page, "looked")
    path.write_text(page.downloaded("corrections.tsv"), encoding="utf-8")
    gold = read_gold(str(path))
    assert gold.chosen
    assert list(gold.lines) == [0, 2]
    assert [parse_pharaoh(lines[n]) for n in gold.lines] == gold.links
    assert str(gold.links[0]) == "0-0 1-1 2-0 2-2 3-3"
    assert len(lines) == len(samples.GOLD)


def test_errors_are_counted_against_the_edited_gold(page):
    page.press("e", "a")
    assert page.js("document.getElementById('rates').textContent").startswith("AER 0 %")
    page.press("Escape")
    page.choose("#filter", "errors")
    assert shown(page) == [6, 7]


def test_edits_survive_a_reload_and_can_be_discarded(page):
    page.press("e")
    page.click(*cell(page, 2, 0))
    page.reload()
    assert "1 pair edited in this browser" in page.js("document.getElementById('notice').innerText")
    assert len(kinds(page, "#detail > .matrix rect.sure")) == 5
    page.click(*page.place("#notice button:last-child"))
    assert len(kinds(page, "#detail > .matrix rect.sure")) == 4
    assert page.js("localStorage.length") == 0


def test_pages_with_the_same_text_keep_each_others_edits(page):
    page.press("e")
    page.click(*cell(page, 2, 0))
    key = page.js("localStorage.key(0)")
    other = f"{{...JSON.parse(localStorage.getItem('{key}')), 4: '0-0'}}"
    page.js(f"localStorage.setItem('{key}', JSON.stringify({other}))")
    page.click(*cell(page, 2, 0))
    edited = "Object.keys(JSON.parse(localStorage.getItem(localStorage.key(0))))"
    assert sorted(page.js(edited)) == ["0", "4"]
    page.js(f"window.dispatchEvent(new StorageEvent('storage', {{key: '{key}'}}))")
    page.choose("#filter", "edited")
    assert shown(page) == [1, 5]
    page.press("Escape", "u", "u")
    assert page.js(edited) == ["4"]
    page.js("localStorage.clear()")


def test_a_full_storage_is_told(page):
    page.js("Storage.prototype.setItem = () => { throw new Error('QuotaExceededError'); }")
    page.press("e")
    page.click(*cell(page, 2, 0))
    assert "export them before you close" in page.js("document.getElementById('notice').innerText")


def test_gold_can_be_made_from_nothing_by_keyboard_alone(browser, tmp_path):
    browser.open(samples.page(tmp_path, gold=False))
    assert browser.js("document.getElementById('export-pharaoh').disabled")
    browser.press(
        "e", " ", "ArrowDown", "ArrowRight", "s", "ArrowRight", "p", "ArrowDown", "Enter", "Enter", "Enter"
    )
    browser.press("Escape", "j", "j", "j", "a", "h")
    lines = browser.downloaded("gold.links").splitlines()
    assert lines == ["0-0 1-1 1?2", "", "", "0-1 1-4", "", "", "", ""]
    browser.press("u", "h")
    assert browser.downloaded("gold.links").splitlines()[3] == ""
    browser.js("localStorage.clear()")


@pytest.mark.parametrize("gold", [None, [parse_pharaoh("0-0 1?0")]])
def test_text_without_any_system_can_be_annotated(browser, tmp_path, gold):
    path = tmp_path / "page.html"
    path.write_text(viewer_page(content(Dataset([(["a", "b"], ["x"])], (), gold))), encoding="utf-8")
    browser.open(path.as_uri())
    assert sorted(kinds(browser, ".lines .curve")) == (["curve both", "curve maybe"] if gold else [])
    browser.press("e", "ArrowDown", "s", "h")
    assert browser.downloaded("gold.links") == ("0-0 1-0\n" if gold else "1-0\n")
    browser.js("localStorage.clear()")


def test_keyboard_reaches_every_pair_and_every_control(page):
    page.press("End")
    assert page.js(TITLE) == "Pair 8"
    page.press("Home", "PageDown", "ArrowUp")
    assert page.js(TITLE) == "Pair 7"
    page.press("2")
    assert page.js("document.querySelectorAll('#detail > .matrix').length") == 0
    page.press("1", "2", "Home")
    assert page.js("document.querySelectorAll('.lines').length") == 0
    page.press("1", "w", "ArrowRight")
    assert "Haus" in page.js(CARD)
    page.press("ArrowDown")
    assert "house" in page.js(CARD)
    assert "target word 1" in page.js(CARD)
    page.press("Escape", "f")
    assert page.js("document.getElementById('filter').value") == "low"
    page.press("o")
    assert page.js("document.getElementById('sort').value") == "confidence"
    page.press("l")
    assert page.js("document.getElementById('one').selectedOptions[0].text") == "two"
    page.press("?")
    assert page.js("document.getElementById('help').open")
    page.press("Enter")
    assert not page.js("document.getElementById('help').open")


def test_every_control_is_reached_by_tab_and_has_a_name(page):
    reached = set()
    for _ in range(30):
        page.press("Tab")
        reached.add(page.js("document.activeElement.id"))
    wanted = page.js(
        "[...document.querySelectorAll('#bar > span > button:enabled, #bar summary, select, input')]"
        ".filter((e) => e.offsetParent).map((e) => e.id)"
    )
    assert set(wanted) <= reached
    named = "(e) => e.labels.length || e.ariaLabel"
    assert page.js(f"[...document.querySelectorAll('input, select')].every({named})")


def test_right_to_left_text_runs_from_right_to_left(page):
    page.press("j", "j", "j")
    left = page.js(f"[...document.querySelectorAll('.lines .word[data-side=\"0\"]')].map({LEFT})")
    assert left == sorted(left, reverse=True)
    left = page.js(f"[...document.querySelectorAll('.lines .word[data-side=\"1\"]')].map({LEFT})")
    assert left == sorted(left)
    page.press("End", "ArrowUp")
    heads = page.js(f"[...document.querySelectorAll('#detail > .matrix .heads .word')].map({LEFT})")
    assert heads == sorted(heads, reverse=True)
    # The disc of 1-0 stands under the first, rightmost word; gold has 1-1 in the middle.
    disc, square = (
        page.place(f"#detail > .matrix {which}")[0] for which in ("circle.mark", "rect.sure:last-of-type")
    )
    assert disc > square
    page.press("m", "ArrowLeft")
    assert "ספר" in page.js(CARD)


def test_long_sentences_wrap_and_every_word_is_in_sight(page):
    page.press("2", "3", "End", "ArrowUp", "ArrowUp")
    assert page.js(TITLE) == "Pair 6"
    for width in (1400, 1000):
        page.size(width, 900)
        page.wait("document.querySelectorAll('.lines .rows').length > 3")
        page.wait("((e) => e.scrollWidth <= e.clientWidth)(document.getElementById('detail'))")
        words = page.js(
            "[...document.querySelectorAll('.lines .word')].map((e) => [e.dataset.side, e.dataset.at])"
        )
        assert sorted((int(side), int(at)) for side, at in words) == [
            (side, at) for side, size in ((0, 80), (1, 70)) for at in range(size)
        ]
    # Curves end at their words: under the one, over the other.
    ends = page.js(
        "(() => { const box = document.querySelector('.lines').getBoundingClientRect();"
        "return [...document.querySelectorAll('.lines .curve')].map((curve) => {"
        "const p = curve.getPointAtLength(curve.getTotalLength());"
        "const at = document.elementFromPoint(box.x + p.x, box.y + p.y + 3);"
        "return at && at.classList.contains('word') ? at.dataset.at : null; }); })()"
    )
    assert ends[:20] == [str(k) for k in range(20)]


def test_words_of_a_matrix_stay_in_sight_when_it_is_scrolled(page):
    page.press("1", "3", "End", "ArrowUp", "ArrowUp")
    page.js("document.getElementById('detail').scrollTo(300, 400)")
    inside = (
        "((r, d) => [r.x - d.x, r.y - d.y])(...['#detail > .matrix .%s', '#detail'].map("
        "(which) => document.querySelector(which).getBoundingClientRect()))"
    )
    assert -1 < page.js(inside % "names")[0] < 30
    assert -1 < page.js(inside % "heads")[1] < 30


def test_toolbar_is_one_row_and_the_card_covers_nothing(page):
    page.size(1366, 768)
    assert page.js("document.getElementById('bar').offsetHeight") < 60
    bottom, top = page.js(
        "[document.getElementById('detail').getBoundingClientRect().bottom,"
        "document.getElementById('card').getBoundingClientRect().top]"
    )
    assert bottom <= top
    right = "(e) => e.getBoundingClientRect().right <= innerWidth"
    assert page.js(f"[...document.querySelectorAll('#bar button')].every({right})")


def test_hits_of_a_search_are_highlighted(page):
    page.press("/")
    page.type("s:hau =small")
    page.wait(f"{COUNT} === '1 of 8 pairs'")
    marks = "[...document.querySelectorAll('#list .row:not([style*=none]) mark')].map((e) => e.textContent)"
    assert page.js(marks) == ["Hau", "small"]
    assert page.js("[...document.querySelectorAll('.lines .hit')].map((e) => e.textContent)") == [
        "Haus",
        "small",
    ]
    assert page.js("document.querySelectorAll('#detail > .matrix .hit').length") == 2
    page.press("Escape", "Escape")
    page.choose("#search", "")
    page.js("document.getElementById('search').dispatchEvent(new Event('input'))")
    page.wait("document.querySelectorAll('.hit, mark').length === 0")


def test_links_are_set_between_words_by_mouse_and_keyboard(page):
    page.press("2", "e")

    def click(side, at):
        page.click(*page.place(f".lines .word[data-side='{side}'][data-at='{at}']"))

    click(0, 2)
    assert page.js("document.querySelector('.word.picked').textContent") == "ist"
    assert "Now click a word of the other sentence" in page.js(CARD)
    click(1, 0)
    assert page.js("document.querySelector('.word.picked')") is None
    click(1, 0)
    click(0, 3)
    click(0, 0)
    click(0, 1)  # another word of the same sentence is picked instead
    page.press("Escape", "w", "ArrowRight", " ", "Escape", "w")  # Escape lets go
    page.press(" ", "ArrowDown", "ArrowRight", "ArrowRight", "p")
    export(page, "looked")
    assert page.downloaded("corrections.tsv") == "1\t0-0 0?2 1-1 2-0 2-2 3-0 3-3\n"


@pytest.mark.parametrize(("line", "message"), [(3, "The source is empty"), (8, "Both sides are empty")])
def test_empty_sides_are_said(page, line, message):
    page.press(*["j"] * (line - 1))
    assert message in page.js("document.getElementById('detail').innerText")
    page.press("m", "w", "e")


def test_certificate_and_trace_of_a_pair(page):
    proved = "✓ certified: optimal for the model's scores"
    assert proved in page.js("document.getElementById('certificate').innerText")
    page.press("j", "j", "j")
    text = page.js("document.getElementById('certificate').innerText")
    assert "○ not certified" in text
    assert "gap\t1" in text
    assert "bound\t1" in text
    assert (
        page.js("document.querySelector('.chart .bound').getAttribute('d').match(/[ML]/g).join('')") == "MLL"
    )
    assert (
        page.js("document.querySelector('.chart .score').getAttribute('d').match(/[ML]/g).join('')") == "ML"
    )


def test_trace_of_one_round_is_drawn(browser, tmp_path):
    record = '{"line": 1, "score": 1.0, "bound": 1.0, "certified": true, "trace": [[1.0, 1.0]]}'
    data = Dataset([(["a"], ["b"])], [System("one", [parse_pharaoh("0-0")], None, [record])])
    path = tmp_path / "page.html"
    path.write_text(viewer_page(content(data)), encoding="utf-8")
    browser.open(path.as_uri())
    assert kinds(browser, ".chart circle") == ["bound", "score"]


def test_posteriors_show_both_directions_gains_and_losses(page):
    page.wait("document.querySelectorAll('.panels figure').length === 4")

    def marks(stage, direction):
        return sorted(kinds(page, f"figure[data-stage='{stage}'][data-direction='{direction}'] .mark"))

    assert marks(0, 0) == ["mark both"] * 4
    assert marks(0, 1) == ["mark both"] * 3
    assert marks(1, 0) == ["mark gain"] * 3 + ["mark loss"]
    assert marks(1, 1) == ["mark gain"] * 2 + ["mark loss"]
    radius = page.js(
        "[...document.querySelectorAll(\"figure[data-stage='0'][data-direction='0'] .mark\")]"
        ".map((e) => Number(e.getAttribute('r')))"
    )
    np.testing.assert_allclose(
        np.square(radius) / radius[0] ** 2, [1, 700 / 990, 250 / 990, 100 / 990], rtol=1e-3
    )


def test_pairs_without_posteriors_in_the_file_say_so(browser, tmp_path):
    browser.open(samples.page(tmp_path, posteriors="", projection="symmetric"))
    browser.press("j")
    browser.wait("document.getElementById('posteriors').innerText.includes('--posteriors N')")


def test_line_in_the_address_is_opened_and_kept(page, tmp_path):
    page.press("j")
    assert page.js("location.hash") == "#2"
    page.open((tmp_path / "page.html").as_uri() + "#5")
    assert page.js(TITLE) == "Pair 5"
    page.open((tmp_path / "page.html").as_uri() + "#99")
    assert page.js(TITLE) == "Pair 1"


def test_theme_follows_the_system_and_the_button(page):
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.js(colour) == "rgb(255, 255, 255)"
    page.scheme("dark")
    assert page.js(colour) == "rgb(20, 24, 29)"
    page.press("t")
    assert page.js(colour) == "rgb(255, 255, 255)"
    page.scheme("light")
    page.press("t")
    assert page.js(colour) == "rgb(20, 24, 29)"
    page.press("t")


def test_long_lists_have_few_rows_and_reach_both_ends(browser, tmp_path):
    # More rows than a browser can lay out one below the other: the list is scaled.
    size = 200_000
    data = Dataset([(["a"], ["b"])] * size, [System("one", [parse_pharaoh("0-0")] * size)])
    path = tmp_path / "page.html"
    path.write_text(viewer_page(content(data)), encoding="utf-8")
    browser.open(path.as_uri())
    rows = "document.querySelectorAll('#list .row').length"
    assert browser.js(rows) < 40
    assert shown(browser)[:3] == [1, 2, 3]
    browser.press("End")
    browser.wait(f"{TITLE} === 'Pair 200,000'")
    assert shown(browser)[-1] == size
    in_sight = (
        "(() => { const list = document.getElementById('list').getBoundingClientRect();"
        "const row = document.querySelector('#list .row[aria-selected=true]')?.getBoundingClientRect();"
        "return row && row.top >= list.top - 1 && row.bottom <= list.bottom + 1; })()"
    )
    assert browser.js(in_sight)
    browser.js("location.hash = '#70001'")
    browser.wait(f"{TITLE} === 'Pair 70,001'")
    browser.wait(in_sight)
    browser.js("document.getElementById('list').scrollTop = 4e6")
    near = "(row) => row.dataset.at > 90000 && row.dataset.at < 110000"
    browser.wait(f"[...document.querySelectorAll('#list .row')].some({near})")
    assert browser.js(rows) < 40
    browser.press("Home")
    assert shown(browser)[0] == 1


def test_broken_data_is_a_message_not_an_empty_page(browser, tmp_path):
    path = tmp_path / "page.html"
    whole = viewer_page(content(samples.dataset(tmp_path)))
    path.write_text(whole.replace('{"pairs":8', '{"pairs":8,,'), encoding="utf-8")
    browser.open(path.as_uri())
    assert "The page cannot be shown" in browser.js("document.querySelector('[role=alert]').innerText")


def test_server_answers_posteriors_on_demand_and_nothing_goes_elsewhere(browser, tmp_path):
    asked = []

    def posteriors(n):
        asked.append(n)
        return samples.POSTERIORS[0] if n == 0 else ""

    more = {"live": True, "projection": "symmetric"}
    page = viewer_page(content(samples.dataset(tmp_path), **more), live=True)
    with Viewer(page, len(samples.SOURCE), posteriors) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            browser.open(server.address)
            browser.wait("document.querySelectorAll('.panels figure').length === 4")
            browser.press("j")
            browser.wait("document.querySelectorAll('.panels figure').length === 4")
        finally:
            server.stop()
    assert asked == [0, 1]
    assert browser.requests() == [f"{server.address}{tail}" for tail in ("", "posteriors/0", "posteriors/1")]
