"""`dualign demo`."""

from __future__ import annotations

import re

import pytest

from dualign.commands.cli import run
from dualign.commands.demo import _dictionary, _grid
from dualign.text import read_conllu, sample, sample_path
from dualign.text.links import Alignment


@pytest.fixture(scope="module")
def shown() -> list[str]:
    """What the demo prints, on one thread and on three."""
    outputs = []
    for threads in ("1", "3"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dualign.commands.demo.open_output", printed := _Printed())
            assert run(["demo", "--quiet", "--threads", threads]) == 0
        outputs.append(printed.text)
    return outputs


class _Printed:
    """Stands in for `open_output("-")`."""

    def __init__(self) -> None:
        self.text = ""

    def __call__(self, path: str) -> _Printed:
        assert path == "-"
        return self

    def __enter__(self) -> _Printed:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, text: str) -> None:
        self.text += text


def without_times(text: str) -> str:
    return re.sub(r"\d+\.\d s to", "… s to", text)


def test_output_is_the_same_but_for_the_times_for_any_number_of_threads(shown):
    assert without_times(shown[0]) == without_times(shown[1])


def test_output_has_links_quality_dictionary_and_times(shown):
    text = shown[0]
    assert "  Anna      100 " in text
    assert re.search(r"^AER +\d+\.\d\d  95 % interval", text, re.MULTILINE)
    assert "aer|pairs:60|sure:513|possible:562|" in text
    assert re.search(r"kinder +children +1\.00", text)
    assert re.search(r"Time: \d+\.\d s to train, \d+\.\d s to align", text)


def test_the_sample_is_aligned_well(shown):
    assert float(re.search(r"^AER +(\S+)", shown[0], re.MULTILINE)[1]) < 10


def test_output_is_plain_text_for_a_terminal_of_80_columns(shown):
    assert shown[0].isprintable() or set(shown[0]) - {"\n"} == {c for c in shown[0] if c.isprintable()}
    assert max(map(len, shown[0].splitlines())) <= 82


def test_grid_marks_what_gold_does_not_have_and_what_is_missing():
    found = Alignment(((0, 0), (1, 0)), probabilities=(0.97, 0.514))
    rows = list(_grid(["ein", "Haus"], ["a", "house"], found, Alignment.of([(0, 0), (1, 1)])))
    assert rows == ["           a house", "  ein    97     .", "  Haus   51!    ?"]


def test_a_possible_link_is_neither_wrong_nor_missing():
    gold = Alignment.of([], possible=[(0, 0), (0, 1)])
    rows = list(_grid(["ging"], ["did", "go"], Alignment(((0, 0),), probabilities=(0.5,)), gold))
    assert rows[1] == "  ging   50    ."


def test_dictionary_counts_links_of_longer_words_in_lower_case():
    texts = [["Haus"], ["haus"], ["haus"]], [["house"], ["House"], ["home"]]
    lines = list(_dictionary(*texts, [Alignment(((0, 0),))] * 3))
    assert [line.split() for line in lines] == [["haus", "house", "0.67", "haus", "home", "0.33"]]


def test_files_are_the_sample_and_never_replace_others(tmp_path, capsys):
    place = tmp_path / "new" / "folder"
    for _ in range(2):  # the same files may be written again
        assert run(["demo", "--files", str(place)]) == 0
    assert (place / "sample.de").read_bytes() == sample_path("sample.de").read_bytes()
    assert len(list(place.iterdir())) == 5
    assert "sample.gold" in capsys.readouterr().err
    (place / "sample.en").write_text("mine\n")
    assert run(["demo", "--files", str(place)]) == 1
    assert "sample.en exists and is not the sample" in capsys.readouterr().err
    assert (place / "sample.en").read_text() == "mine\n"


def test_trees_are_those_of_the_first_pairs():
    for side, sentences in zip(("de", "en"), sample(), strict=False):
        trees = list(read_conllu(str(sample_path(f"sample.{side}.conllu"))))
        assert [tree.column(1) for tree in trees] == sentences[:5]
