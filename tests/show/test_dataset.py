from __future__ import annotations

import pytest

from dualign._core.errors import DataError, UsageError
from dualign.show.dataset import Files, named, read_dataset

SOURCE, TARGET = "das Haus\n\nein Buch\n", "the house\nx\na book\n"


@pytest.fixture
def write(tmp_path):
    def made(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return made


@pytest.fixture
def text(write):
    return write("s", SOURCE), write("t", TARGET)


def failure(files):
    with pytest.raises((DataError, UsageError)) as caught:
        read_dataset(files)
    return str(caught.value)


def test_everything_is_read_and_belongs_together(text, write):
    links, other = write("l", "0-0\n\n1-1\n"), write("m", "\n\n0-0\n")
    scored = write("p", "0-0:0.5 1-1:0.25\n\n1-1:1.0\n")
    report = write("r", '{"line": 3, "certified": true, "mean_probability": 0.5}\n{"line": 1}\n')
    gold = write("g", "0-0 1?1\n\n1-1\n")
    data = read_dataset(Files(*text, [links, f"second={other}"], [scored], [report], gold))
    assert [system.name for system in data.systems] == ["l", "second"]
    assert data.systems[0].cells[0] == {(0, 0): 0.5, (1, 1): 0.25}
    assert data.systems[0].records[1] is None
    assert '"certified": true' in data.systems[0].records[2]
    assert data.systems[1].cells is None
    assert data.gold[0].possible == ((1, 1),)
    assert len(data) == 3


def test_probabilities_alone_are_a_system(text, write):
    data = read_dataset(Files(*text, probabilities=[write("p", "0-0:0.5\n\n\n")]))
    assert data.systems[0].links[0].links == ((0, 0),)
    assert data.systems[0].name == "p"


def test_both_sides_in_one_file_and_compressed(tmp_path, write):
    import gzip

    path = tmp_path / "both.gz"
    path.write_bytes(gzip.compress("\ufeffdas ||| the\r\n\r\n".encode()))
    data = read_dataset(Files(str(path), None, [write("l", "0-0\n\n")]))
    assert data.pairs == [(["das"], ["the"]), ([], [])]
    assert data.names == ("both", "both")


def test_naacl_links_without_their_last_pairs_are_filled_up(text, write):
    data = read_dataset(Files(*text, [write("l.naacl", "1 2 2 S\n")], gold=write("g.naacl", "1 1 1 P\n")))
    assert [str(links) for links in data.systems[0].links] == ["1-1", "", ""]
    assert [str(links) for links in data.gold] == ["0?0", "", ""]


def test_gold_of_chosen_lines(text, write):
    data = read_dataset(Files(*text, gold=write("g", "3\t\n1\t0-0\n")))
    assert [None if links is None else str(links) for links in data.gold] == ["0-0", None, ""]
    assert "line 1: link 0-9 is outside" in failure(Files(*text, gold=write("g", "1\t0-9\n")))
    assert "links of line 4, but the text has 3 lines" in failure(Files(*text, gold=write("g", "4\t\n")))


def test_gold_of_the_first_lines(text, write):
    gold = write("g", "0-0\n")
    assert f"{gold} has 1 sentence pair but the text has 3;" in failure(Files(*text, gold=gold))
    assert "--first" in failure(Files(*text, gold=gold))
    data = read_dataset(Files(*text, gold=gold, first=True))
    assert [None if links is None else str(links) for links in data.gold] == ["0-0", None, None]
    long = write("g", "0-0\n\n\n\n")
    assert "has 4 sentence pairs but the text has 3" in failure(Files(*text, gold=long, first=True))


def test_systems_of_the_same_name_are_told_apart(text, write, tmp_path):
    (tmp_path / "x").mkdir()
    data = read_dataset(Files(*text, [write("l", "\n\n\n"), write("x/l", "\n\n\n")]))
    assert len({system.name for system in data.systems}) == 2


@pytest.mark.parametrize("content", ["0-0\n", "0-0\n\n\n\n"])
def test_another_number_of_lines_names_the_files(text, write, content):
    links = write("l", content)
    count = content.count("\n")
    assert f"{links} has {count} sentence pair{'s' * (count > 1)} but the text has 3;" in failure(
        Files(*text, [links])
    )


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("0-0\n\n2-0\n", "pair 3: link 2-0"),
        ("0-0\n0-0\n\n", "pair 2: link 0-0"),
        ("0?9\n\n\n", "pair 1: link 0-9"),
    ],
)
def test_links_outside_their_pair_name_file_line_and_lengths(text, write, content, place):
    links = write("l", content)
    for files in (Files(*text, [links]), Files(*text, gold=links), Files(*text, gold=links, first=True)):
        message = failure(files)
        assert f"{links}, sentence {place} is outside the pair" in message


def test_all_pairs_with_links_outside_are_counted(text, write):
    assert "2 other pairs" in failure(Files(*text, [write("l", "9-0\n0-0\n0-9 9-9\n")]))


def test_empty_text_is_said(write):
    assert "no sentence pair" in failure(Files(write("s", ""), write("t", "")))


def test_texts_of_different_length(write):
    assert "has 1 line but" in failure(Files(write("s", "a\n"), write("t", "a\nb\n")))


def test_probabilities_without_probabilities(text, write):
    assert "links without probabilities" in failure(Files(*text, probabilities=[write("p", "0-0\n\n\n")]))


def test_reports_need_links(text, write):
    assert "give the links of each" in failure(Files(*text, reports=[write("r", "{}\n")]))


def test_report_of_other_links(text, write):
    links, report = (
        write("l", "0-0\n\n1-1\n"),
        write("r", '{"line": 1, "links": 1}\n{"line": 3, "links": 7}\n'),
    )
    assert "a report of 7 links of pair 3, which has 1" in failure(Files(*text, [links], reports=[report]))


def test_names_of_systems(tmp_path):
    assert named("a=b") == ("a", "b")
    assert named("dir/b.links.gz") == ("b.links", "dir/b.links.gz")
    assert named("=b") == ("=b", "=b")
    (tmp_path / "a=b").touch()
    assert named(str(tmp_path / "a=b")) == ("a=b", str(tmp_path / "a=b"))
