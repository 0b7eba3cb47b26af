from __future__ import annotations

import pytest
from tests.commands.command import dualign
from tests.show import samples

from dualign.commands.cli import run


@pytest.fixture
def files(tmp_path):
    return [
        samples.write(tmp_path / "s", samples.SOURCE),
        samples.write(tmp_path / "t", samples.TARGET),
        *("-l", samples.write(tmp_path / "l", samples.TWO)),
    ]


def test_pairs_are_printed_with_a_grid(files, capsys):
    assert run(["show", *files, "--lines", "1", "-q"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:3] == ["1", "das Haus ist klein", "the house is small"]
    assert [line.strip() for line in shown[-5:-1]] == [
        "das  ■ · · ·",
        "Haus  · ■ · ·",
        "ist  · · ■ ·",
        "klein  · · · ■",
    ]


def test_colours_only_where_they_are_wanted(files, monkeypatch):
    assert "\x1b" not in dualign("show", *files).stdout
    coloured = dualign("show", *files, "--color", "always").stdout
    assert "\x1b[36mdas\x1b[0m" in coloured
    assert "\x1b" not in dualign("show", *files, "--color", "never").stdout


def test_gold_probabilities_and_two_systems(files, tmp_path, capsys):
    more = ["--probabilities", f"one={samples.write(tmp_path / 'p', samples.ONE)}", "-l", files[-1]]
    gold = samples.write(tmp_path / "g", samples.GOLD)
    assert run(["show", *files[:2], *more, "--gold", gold, "--lines", "1,5-6", "--width", "60"]) == 0
    shown = capsys.readouterr().out
    assert "1 wrong, 2 missing" not in shown
    assert "0 wrong, 0 missing" in shown
    assert "✗ not in gold" in shown


def test_first_pairs_are_shown_as_far_as_there_are_any(tmp_path, capsys):
    one = samples.write(tmp_path / "one", ["a ||| b"])
    assert run(["show", one, "-l", samples.write(tmp_path / "l", ["0-0"])]) == 0
    assert capsys.readouterr().out.count("■") == 2  # the link, and the legend


def test_gold_alone_is_shown(files, tmp_path, capsys):
    assert (
        run(["show", *files[:2], "--gold", samples.write(tmp_path / "g", samples.GOLD), "--lines", "2"]) == 0
    )
    assert "○" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0", "line numbers from 1"),
        ("a", "line numbers"),
        ("3-2", "line numbers"),
        ("", "line numbers"),
        ("9", "no line 9"),
    ],
)
def test_wrong_lines_are_said(files, lines, message, capsys):
    assert run(["show", *files, "--lines", lines]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.kernel
def test_a_saved_model_links_the_pairs_that_are_shown(files, tmp_path, capsys):
    from dualign.aligner import Aligner

    pairs = [(a.split(), b.split()) for a, b in zip(samples.SOURCE, samples.TARGET, strict=True)]
    model = tmp_path / "m"
    Aligner(threads=1, rounds=1, ibm1_rounds=1).fit(pairs).save(model)
    [expected] = Aligner.load(model).align([pairs[0]])
    assert run(["show", *files[:2], "--model", str(model), "--lines", "1", "-q"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("■") + shown.count("▪") == len(expected.links) > 0
    assert run(["show", *files[:2], "--model", files[0]]) == 1
    assert "not a dualign model" in capsys.readouterr().err
