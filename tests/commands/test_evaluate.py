from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import asdict

import pytest
from tests.commands.command import write

from dualign.commands.cli import run
from dualign.measure.bootstrap import compare, confidence_interval, signature
from dualign.measure.links import by_frequency, evaluate, word_frequencies

LINKS = ["0-0 1-1 1-0", "0-0 0-1", "0-0"]
GOLD = ["0-0 1-1", "0-0 1?1", "0-0"]
SOURCE = ["das haus", "das buch", "das"]
TARGET = ["the house", "the book", "the"]


def lines(items):
    return "".join(f"{item}\n" for item in items)


@pytest.fixture
def links(tmp_path):
    return write(tmp_path / "links", lines(LINKS))


@pytest.fixture
def gold(tmp_path):
    return write(tmp_path / "gold", lines(GOLD))


@pytest.fixture
def texts(tmp_path):
    return [
        *("--source", write(tmp_path / "source", lines(SOURCE))),
        *("--target", write(tmp_path / "target", lines(TARGET))),
    ]


def result(capsys, *arguments):
    code = run(["evaluate", *arguments, "--json"])
    shown = capsys.readouterr()
    assert (code, shown.err) == (0, "")
    return json.loads(shown.out)


def failure(capsys, *arguments, code=1):
    assert run(["evaluate", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dualign: error: ")
    return shown.err


def row(shown, name):
    return next(line for line in shown if line.startswith(name)).removeprefix(name).split()


def test_text_shows_per_cent_interval_and_signature(links, gold, capsys):
    assert run(["evaluate", links, gold]) == 0
    shown = capsys.readouterr().out
    # |A| = 6, |S| = 4, |A∩S| = |A∩P| = 4.
    assert "AER         20.00  95 % interval " in shown
    assert "precision   66.67\n" in shown
    assert "recall     100.00\n" in shown
    assert "F1          80.00\n" in shown
    interval = confidence_interval(LINKS, GOLD)
    assert f"interval {100 * interval.low:.2f} to {100 * interval.high:.2f}\n" in shown
    assert shown.splitlines()[-1] == signature(evaluate(LINKS, GOLD), interval)


def test_json_has_everything_the_library_says(links, gold, capsys):
    found = result(capsys, links, gold, "--bootstrap", "50", "--seed", "7")
    interval = confidence_interval(LINKS, GOLD, samples=50, seed=7)
    expected = evaluate(LINKS, GOLD)
    assert found.pop("interval") == {
        "aer": interval.aer,
        "low": interval.low,
        "high": interval.high,
        "level": 0.95,
        "samples": 50,
        "seed": 7,
    }
    assert found.pop("signature") == signature(expected, interval)
    assert found.pop("breakdown") is None
    assert found == expected.as_dict()


def test_without_resamples_there_is_no_interval(links, gold, capsys):
    assert result(capsys, links, gold, "--bootstrap", "0")["interval"] is None
    assert run(["evaluate", links, gold, "--bootstrap", "0"]) == 0
    shown = capsys.readouterr().out
    assert "interval" not in shown
    assert "boot" not in shown


def test_rare_and_common_words(links, gold, texts, capsys):
    found = result(capsys, links, gold, *texts, "--rare", "1")["breakdown"]
    words, translations = ([line.split() for line in text] for text in (SOURCE, TARGET))
    expected = by_frequency(LINKS, GOLD, words, translations, rare=1)
    assert found.pop("rare_at_most") == 1
    for side in ("source", "target"):
        for which in ("rare", "common"):
            part = getattr(getattr(expected, side), which)
            assert found[side][which] == part.as_dict()
    assert run(["evaluate", links, gold, *texts, "--rare", "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    # `haus`, `buch`: answer 1-1 1-0 | none, sure gold 1-1 | none.
    assert row(shown, "source word rare (at most 1)") == ["33.33", "50.00", "100.00", "66.67", "2", "1"]
    # `das`: answer 0-0 | 0-0 0-1 | 0-0, sure gold 0-0 | 0-0 | 0-0.
    assert row(shown, "source word common") == ["14.29", "75.00", "100.00", "85.71", "4", "3"]
    # `house`, `book`: answer 1-1 | 0-1, sure gold 1-1 | none.
    assert row(shown, "target word rare (at most 1)") == ["33.33", "50.00", "100.00", "66.67", "2", "1"]
    # `the`: answer 0-0 1-0 | 0-0 | 0-0, sure gold 0-0 | 0-0 | 0-0.
    assert row(shown, "target word common") == ["14.29", "75.00", "100.00", "85.71", "4", "3"]


def test_rare_unless_told(links, gold, texts, capsys):
    assert result(capsys, links, gold, *texts)["breakdown"]["rare_at_most"] == 4


def test_frequencies_are_those_of_the_whole_text(tmp_path, links, texts, capsys):
    gold = write(tmp_path / "short", lines(GOLD[:1]))
    found = result(capsys, links, gold, "--first", *texts, "--rare", "1")["breakdown"]
    counts = [word_frequencies(line.split() for line in text) for text in (SOURCE, TARGET)]
    expected = by_frequency(
        LINKS[:1],
        GOLD[:1],
        [SOURCE[0].split()],
        [TARGET[0].split()],
        source_frequencies=counts[0],
        target_frequencies=counts[1],
        rare=1,
    )
    assert found["source"]["common"] == expected.source.common.as_dict()
    # `das` occurs once in the sentence with gold, but three times in the text.
    assert expected.source.common.links == 1


def test_gold_for_the_first_lines_needs_the_option(tmp_path, links, capsys):
    gold = write(tmp_path / "short", lines(GOLD[:2]))
    shown = failure(capsys, links, gold)
    assert f"{links} has 3 sentence pairs but {gold} has 2;" in shown
    assert "--first" in shown
    found = result(capsys, links, gold, "--first", "--bootstrap", "0")
    assert (found["pairs"], found["aer"]) == (2, evaluate(LINKS[:2], GOLD[:2]).aer)


def test_option_for_the_first_lines_does_no_harm_where_the_files_agree(links, gold, capsys):
    assert result(capsys, links, gold, "--first") == result(capsys, links, gold)


@pytest.mark.parametrize("option", [[], ["--first"]])
def test_gold_that_goes_on_after_the_links_is_an_error(tmp_path, gold, option, capsys):
    links = write(tmp_path / "short", lines(LINKS[:2]))
    shown = failure(capsys, links, gold, *option)
    assert f"{links} has 2 sentence pairs but {gold} has 3;" in shown
    assert "--first" not in shown


def test_naacl_gold_without_its_last_pairs_is_filled_up_and_that_is_said(tmp_path, links, capsys):
    gold = write(tmp_path / "gold.wa", "1 1 1\n2 1 1 S\n2 2 2 P\n")
    assert run(["evaluate", links, gold, "--json", "--bootstrap", "0"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["aer"] == evaluate(LINKS, ["0-0", "0-0 1?1", ""]).aer
    assert "mentions no sentence pair after 2; the other 1 count as pairs without gold links" in shown.err
    assert result(capsys, links, gold, "--quiet")["pairs"] == 3
    assert result(capsys, links, gold, "--first")["pairs"] == 2


def test_naacl_links_without_their_last_pairs_are_filled_up(tmp_path, gold, texts, capsys):
    links = write(tmp_path / "links.wa", "1 1 1\n")
    found = result(capsys, links, gold, "--bootstrap", "0", *texts)
    assert found["aer"] == evaluate(["0-0", "", ""], GOLD).aer


def test_naacl_through_a_pipe_cannot_be_filled_up(links, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1 1\n2 1 1\n")))
    # Read again, the pipe would be empty: a gold without any link.
    assert "has 3 sentence pairs but - has 2;" in failure(capsys, links, "-", "--gold-format", "naacl")


def test_formats_by_option(tmp_path, capsys):
    links = write(tmp_path / "links", "1-1\n")
    gold = write(tmp_path / "gold", "0-0\n")
    assert result(capsys, links, gold, "--format", "talp")["aer"] == 0
    assert result(capsys, gold, links, "--gold-format", "talp")["aer"] == 0
    assert result(capsys, links, gold)["aer"] == 1


def test_one_file_from_standard_input(gold, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(LINKS).encode())))
    assert result(capsys, "-", gold)["pairs"] == 3


@pytest.mark.parametrize("option", [[], ["--first"]])
@pytest.mark.parametrize("which", ["links", "gold", "both"])
def test_empty_file_is_an_error_that_names_it(tmp_path, links, gold, which, option, capsys):
    empty = write(tmp_path / "empty", "")
    files = [links if which == "gold" else empty, gold if which == "links" else empty]
    assert f"{empty}: no links at all" in failure(capsys, *files, *option)


def test_missing_file(tmp_path, gold, capsys):
    assert "missing: no such file" in failure(capsys, str(tmp_path / "missing"), gold)


def test_malformed_link_names_file_and_line(tmp_path, links, capsys):
    bad = write(tmp_path / "bad", "0-0\n0-\n0-0\n")
    assert f"{bad}:2: `0-` is not a link" in failure(capsys, links, bad)


def test_text_of_another_length_is_an_error(tmp_path, links, gold, capsys):
    text = write(tmp_path / "text", "a b\n" * 2)
    shown = failure(capsys, links, gold, "--source", text, "--target", text)
    assert f"has 2 sentence pairs but {links} has 3;" in shown


def test_empty_text_is_an_error(tmp_path, links, gold, capsys):
    text = write(tmp_path / "text", "")
    assert "has 0 sentence pairs" in failure(capsys, links, gold, "--source", text, "--target", text)


def test_links_outside_the_text_name_the_files(tmp_path, links, gold, capsys):
    text = write(tmp_path / "text", "a\n" * 3)
    shown = failure(capsys, links, gold, "--source", text, "--target", text)
    assert f"{links} with the words of {text}" in shown
    assert "sentence 1: link 1-0 is outside the pair" in shown


def test_options_that_need_each_other(links, gold, texts, capsys):
    assert "--target needs --source" in failure(capsys, links, gold, *texts[2:], code=2)
    assert "needs --source" in failure(capsys, links, gold, "--rare", "2", code=2)


def test_texts_count_among_the_files_from_standard_input(links, gold, capsys):
    shown = failure(capsys, links, gold, "--source", "-", "--target", "-", code=2)
    assert "only one file can be standard input" in shown


def test_sample_agrees_with_itself(capsys):
    from dualign.text.samples import sample_path

    gold = os.fspath(sample_path("sample.gold"))
    found = result(capsys, gold, gold, "--bootstrap", "10")
    assert (found["aer"], found["pairs"]) == (0, 60)


def test_exchanged_sides_are_suspected(tmp_path, capsys):
    (tmp_path / "links").write_text("1-0 2-1 0-2\n" * 5)
    (tmp_path / "gold").write_text("0-1 1-2 2-0\n" * 5)
    files = [str(tmp_path / "links"), str(tmp_path / "gold")]
    assert run(["evaluate", *files]) == 0
    assert "AER is 100.00, and 0.00 the other way round; if so, set --swap" in capsys.readouterr().err
    assert run(["evaluate", files[1], files[1], "--swap"]) == 0
    assert "if so, leave out --swap" in capsys.readouterr().err
    assert run(["evaluate", *files, "--swap"]) == 0
    shown = capsys.readouterr()
    assert "AER          0.00" in shown.out
    assert shown.err == ""
    assert run(["convert", files[0], str(tmp_path / "turned"), "--to", "pharaoh", "--swap", "-q"]) == 0
    assert (tmp_path / "turned").read_text() == "0-1 1-2 2-0\n" * 5


def test_gold_of_chosen_lines_is_compared_with_exactly_these(links, texts, tmp_path, capsys):
    path = write(tmp_path / "chosen", "3\t0-0\n1\t0-0 1-1\n")
    found = result(capsys, links, path, *texts)
    expected = evaluate([LINKS[0], LINKS[2]], ["0-0 1-1", "0-0"])
    assert found["aer"] == expected.aer
    assert found["pairs"] == 2
    assert (
        found["breakdown"]["source"]["common"]["links"] + found["breakdown"]["source"]["rare"]["links"] == 4
    )


def test_gold_of_lines_that_the_links_lack_is_refused(links, tmp_path, capsys):
    path = write(tmp_path / "chosen", "1\t0-0\n9\t0-0\n")
    assert run(["evaluate", links, path]) == 1
    assert "links of line 9, but" in capsys.readouterr().err


def test_two_systems_are_compared_on_the_same_resamples(links, gold, tmp_path, capsys):
    other = write(tmp_path / "other", lines(["0-0 1-1", "0-0 1-1", "0-0"]))
    found = result(capsys, links, other, gold, "--bootstrap", "50")
    expected = compare(LINKS, ["0-0 1-1", "0-0 1-1", "0-0"], GOLD, samples=50)
    assert found["comparison"] == asdict(expected)
    assert found["first"]["aer"] == evaluate(LINKS, GOLD).aer
    assert run(["evaluate", links, other, gold]) == 0
    shown = capsys.readouterr().out
    assert f"AER differs by {100 * expected.difference:+.2f}, 95 % interval" in shown
    assert run(["evaluate", links, other, gold, "--bootstrap", "0"]) == 0
    assert "differs" not in capsys.readouterr().out


def test_two_systems_must_be_of_the_same_pairs(links, gold, texts, tmp_path, capsys):
    other = write(tmp_path / "other", lines(["0-0"]))
    assert run(["evaluate", links, other, gold]) == 1
    assert "has 1 sentence pair" in capsys.readouterr().err
    assert run(["evaluate", links]) == 2
    assert run(["evaluate", links, links, links, gold]) == 2
    assert "LINKS OTHER GOLD" in capsys.readouterr().err
    assert run(["evaluate", links, links, gold, *texts]) == 2
    assert run(["evaluate", links, links, "-"]) == 2
