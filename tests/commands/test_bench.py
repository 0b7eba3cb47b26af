"""`dualign bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands.command import write

from dualign.commands.cli import run
from dualign.text.samples import generate


def text_files(folder: Path, pairs: int, gold: int) -> list[str]:
    made = list(generate(pairs, vocabulary=50, mean_length=6))
    return [
        write(folder / "source", "".join(f"{' '.join(source)}\n" for source, _, _ in made)),
        write(folder / "target", "".join(f"{' '.join(target)}\n" for _, target, _ in made)),
        write(folder / "gold", "".join(f"{links}\n" for _, _, links in made[:gold])),
    ]


@pytest.mark.slow
def test_synthetic_text_is_timed_and_scored(capsys):
    assert run(["bench", "--pairs", "50", "--threads", "1", "--json", "--quiet"]) == 0
    shown = capsys.readouterr()
    content = json.loads(shown.out)
    assert shown.err == ""
    assert content["text"]["pairs"] == 50
    assert content["threads"] == 1
    assert content["quality"]["pairs"] == 50
    for command in ("train", "align"):
        profile = content["profiles"][command]
        assert (profile["job"], profile["threads"]) == (command, 1)
        # The start of the program is measured from outside only.
        assert profile["seconds"] <= content[command]["seconds"]
        assert "posteriors" in profile["phases"]
    for part in ("start", "train", "align"):
        assert content[part]["seconds"] > 0
        assert content[part]["cpu_seconds"] > 0
        assert content[part]["peak_bytes"] > 10_000_000
    assert content["train"]["pairs_per_second"] == pytest.approx(50 / content["train"]["seconds"], rel=1e-9)


@pytest.mark.slow
def test_own_text_is_scored_by_gold_of_its_first_lines(tmp_path, capsys):
    source, target, gold = text_files(tmp_path, 60, 20)
    assert run(["bench", "--source", source, "--target", target, "--gold", gold]) == 0
    shown = capsys.readouterr()
    assert "60 pairs" in shown.out
    assert "aer|pairs:20|" in shown.out
    assert "training on 60 pairs" in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source", "a"], "--source and --target go together"),
        (["--gold", "a"], "--gold needs its text"),
        (["--source", "a", "--target", "b", "--pairs", "5"], "--pairs and --seed are for synthetic text"),
        (["--source", "-", "--target", "b"], "cannot be standard input"),
        (["--by-threads"], "--by-threads is now `python -m benchmarks.by_threads`"),
        (["--pairs", "0"], "--pairs"),
        (["--threads", "0"], "--threads"),
    ],
)
def test_wrong_options_are_refused(arguments, message, capsys):
    assert run(["bench", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_text_is_bad_data(tmp_path, capsys):
    absent = str(tmp_path / "absent")
    assert run(["bench", "--source", absent, "--target", absent, "--quiet"]) == 1
    assert absent in capsys.readouterr().err


def test_gold_of_more_lines_than_the_text_has_is_bad_data(tmp_path, capsys):
    source, target, _ = text_files(tmp_path, 5, 5)
    gold = write(tmp_path / "more", "0-0\n" * 6)
    assert run(["bench", "--source", source, "--target", target, "--gold", gold, "--quiet"]) == 1
    assert "5 lines" in capsys.readouterr().err
