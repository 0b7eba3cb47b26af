"""Gold of the first lines, or of chosen lines with their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core.errors import DataError
from dualign.text.gold import read_gold
from dualign.text.link_formats import read_links
from dualign.text.links import Alignment

LINKS = st.sets(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5)


@given(st.dictionaries(st.integers(0, 30), st.tuples(LINKS, LINKS), min_size=1), st.randoms())
def test_chosen_lines_are_read_in_any_order(tmp_path_factory, chosen, random):
    path = tmp_path_factory.mktemp("gold") / "g"
    known = {line: Alignment.of(*links) for line, links in chosen.items()}
    order = list(known)
    random.shuffle(order)
    path.write_text("".join(f"{line + 1}\t{known[line]}\n" for line in order))
    gold = read_gold(str(path))
    assert gold.chosen
    assert dict(zip(gold.lines, gold.links, strict=True)) == known
    assert list(gold.lines) == sorted(known)
    text = [f"line {n}" for n in range(31)]
    assert gold.of(text, "text") == [text[line] for line in sorted(known)]


@pytest.mark.parametrize(
    ("text", "lines"), [("0-0\n1-1\n", 2), ("\n0-0\n", 2), ("1 1 1 S\n3 1 1 P\n", 3), ("1\t1\t1\n", 1)]
)
def test_other_gold_is_that_of_the_first_lines(tmp_path, text, lines):
    path = tmp_path / "g"
    path.write_text(text)
    gold = read_gold(str(path))
    assert not gold.chosen
    assert list(gold.lines) == list(range(lines))
    assert gold.links == list(read_links(str(path)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t0-0\n1\t1-1\n", "g:2: line 1 occurs twice"),
        ("0\t0-0\n", "g:1: line number 0"),
        ("2\t0-0\n0-0 1-1\n", "g:2: `0-0 1-1` is not a line number"),
        ("2\t0-0\n3\tx\n", "g:2: `x` is not a link"),
    ],
)
def test_malformed_lines_are_named(tmp_path, text, message):
    path = tmp_path / "g"
    path.write_text(text)
    with pytest.raises(DataError) as raised:
        read_gold(str(path))
    assert message in str(raised.value)


def test_a_line_beyond_the_text_is_told(tmp_path):
    path = tmp_path / "g"
    path.write_text("2\t\n7\t0-0\n")
    with pytest.raises(DataError, match=r"links of line 7, but text has 3 lines"):
        read_gold(str(path)).of("abc", "text")


def test_chosen_lines_are_no_links_of_a_text(tmp_path):
    path = tmp_path / "g"
    path.write_text("7\t0-0\n")
    with pytest.raises(DataError, match="chosen lines"):
        list(read_links(str(path), count=3))


def test_numbers_that_are_ids_of_the_text(tmp_path):
    path = tmp_path / "g"
    path.write_text("12\t0-0\n11\t\n")
    assert read_gold(str(path)).chosen
    gold = read_gold(str(path), ids=["12", "11"])
    assert not gold.chosen
    assert gold.links == [Alignment.of([(0, 0)]), Alignment()]
    assert [each.id for each in gold.links] == ["12", "11"]
    path.write_text("2\t0-0\n")
    assert read_gold(str(path), ids=["1", "2", "3"]).chosen
    with pytest.raises(DataError, match="is 2 a line, or the id that line 3 of the text has"):
        read_gold(str(path), ids=["1", "3", "2"])


@pytest.mark.parametrize("ids", [["GEN 1:1", "GEN 1:2", "GEN 1:3"], ["1001001", "1001002", "1001003"]])
def test_ids_name_the_chosen_lines(tmp_path, ids):
    path = tmp_path / "g"
    path.write_text(f"{ids[2]}\t0-0\n\n{ids[0]}\t\n")
    gold = read_gold(str(path), ids=ids)
    assert gold.chosen
    assert list(gold.lines) == [0, 2]
    assert gold.links == [Alignment(), Alignment.of([(0, 0)])]


def test_an_id_twice_is_refused(tmp_path):
    path = tmp_path / "g"
    path.write_text("b\t0-0\nb\t1-1\n")
    with pytest.raises(DataError, match=r"g:2: id b occurs twice"):
        read_gold(str(path), ids=["a", "b"])
