"""`dualign phrases …`: from links to a table, to alignments, to their quality."""

from __future__ import annotations

import json

import pytest
from tests.commands.command import write

from dualign.commands.cli import run
from dualign.text.samples import generate

pytestmark = pytest.mark.kernel


@pytest.fixture
def text(tmp_path):
    """Source, target and links of forty pairs and one empty one, and the folder."""
    made = list(generate(40, seed=2, vocabulary=25, mean_length=5))
    lines = [(" ".join(source), " ".join(target), str(links)) for source, target, links in made]
    columns = zip(*lines, ("", "", ""), strict=True)
    names = "source", "target", "links"
    return [write(tmp_path / n, "\n".join(c) + "\n") for n, c in zip(names, columns, strict=True)], tmp_path


def test_from_links_to_a_table_to_alignments_to_a_better_table(text, capsys):
    (source, target, links), place = text
    table = str(place / "table.gz")
    assert run(["phrases", "extract", source, target, links, "-o", table, "--max-length", "5"]) == 0
    assert "of 41 sentence pairs" in capsys.readouterr().err
    report, out = place / "report.jsonl", place / "phrases"
    command = ["phrases", "align", table, source, target, "-o", str(out), "--report", str(report)]
    assert run([*command, "--threads", "2"]) == 0
    assert "cannot cover, 1 empty; " in capsys.readouterr().err
    lines = out.read_text().splitlines()
    records = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(lines) == len(records) == 41
    assert lines[-1] == ""
    assert all(record["certified"] for record in records)
    for line, record in zip(lines[:-1], records, strict=False):
        links, score, bound = line.split("|||")
        assert bool(links.strip()) == record["feasible"]
        if record["feasible"]:
            assert float(score) == pytest.approx(record["score"], rel=1e-6)
            assert float(bound) >= float(score)
    better = place / "better"
    assert run(["phrases", "train", table, source, target, "-o", str(better), "--rounds", "2"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "objective" in line]
    objectives = [float(line.split("objective ")[1].split(",")[0]) for line in told]
    assert len(objectives) == 3
    assert objectives == sorted(objectives)
    assert run(["phrases", "align", str(better), source, target, "-o", str(out), "--quiet"]) == 0
    assert run(["phrases", "evaluate", str(out), text[0][2], "--phrases", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["pairs"] == 41
    assert result["precision"] > 0.9


def test_methods_agree(text, capsys):
    (source, target, links), place = text
    table = str(place / "table")
    assert run(["phrases", "extract", source, target, links, "-o", table, "-q"]) == 0
    scores = {}
    for method in ("exact", "ilp", "greedy"):
        assert run(["phrases", "align", table, source, target, "--method", method, "-q"]) == 0
        lines = capsys.readouterr().out.splitlines()
        scores[method] = [float(line.split("|||")[1]) for line in lines if line]
    assert scores["ilp"] == pytest.approx(scores["exact"], abs=1e-6)
    pairs = zip(scores["greedy"], scores["exact"], strict=True)
    assert all(greedy <= exact + 1e-9 for greedy, exact in pairs)


def test_a_single_pair_is_told_in_the_singular(tmp_path, capsys):
    source, target = write(tmp_path / "s", "a\n"), write(tmp_path / "t", "x\n")
    table = write(tmp_path / "table", "a ||| x ||| 1\nb ||| y y y y y y y y ||| 1\n")
    command = ["phrases", "align", table, source, target, "--method", "ilp", "--max-length", "7"]
    assert run(command) == 0
    shown = capsys.readouterr()
    links, score, bound = shown.out.split(" ||| ")
    assert (links, score) == ("0:1-0:1", "0")
    assert 0 <= float(bound) < 1e-6
    assert f"1 entry of {table} left out: a phrase of over --max-length 7 words" in shown.err
    assert (
        "1 pair aligned, 0 that the table's phrases cannot cover, 0 empty; 1 answer certified\n" in shown.err
    )


def test_pairs_that_the_table_cannot_make_are_told_with_a_remedy(tmp_path, capsys):
    source, target = write(tmp_path / "s", "a\nb\n"), write(tmp_path / "t", "x\ny\n")
    table = write(tmp_path / "table", "a ||| x ||| 1\n")
    assert run(["phrases", "align", table, source, target]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1] == "||| -inf ||| -inf"
    assert "1 that the table's phrases cannot cover, 0 empty; 2 answers certified; a table of" in shown.err


def test_evaluate_extracts_the_phrases_of_links(text, capsys):
    (source, target, links), _ = text
    assert run(["phrases", "evaluate", links, links, "--source", source, "--target", target]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[:3] == ["precision  100.00", "recall     100.00", "F1         100.00"]
    assert run(["phrases", "evaluate", links, links, "--tight", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["f1"] == 1.0


@pytest.mark.parametrize(
    ("table", "message"),
    [("a ||| b\n", "table:1: 2 fields"), ("a ||| b ||| 1\ns0 ||| t0 x\n", "table:2: 2 fields")],
)
def test_wrong_table_lines_are_named(text, capsys, table, message):
    (source, target, _), place = text
    path = write(place / "table", table)
    assert run(["phrases", "align", path, source, target, "-q"]) == 1
    assert message in capsys.readouterr().err


def test_wrong_scores_are_named(tmp_path, capsys):
    source, target = write(tmp_path / "s", "a\n"), write(tmp_path / "t", "x\n")
    table = write(tmp_path / "table", "a ||| x ||| nan\n")
    assert run(["phrases", "align", table, source, target, "-q"]) == 1
    assert "table:1: `nan`" in capsys.readouterr().err


def test_wrong_usage_exits_with_2(text, capsys):
    (source, target, links), place = text
    table = write(place / "table", "a ||| x ||| 1 1\ns0 ||| t0 ||| 1 1\n")
    for arguments, message in (
        (["align", table, source, target, "--method", "beam"], "beam"),
        (["align", table, source, target, "--time-limit", "0"], "--time-limit 0.0"),
        (["align", table, "-", "-"], "standard input"),
        (["train", table, source, target, "--time-limit", "-1"], "--time-limit -1.0"),
        (["evaluate", links, links, "--target", target], "--target needs --source"),
        (["extract", source, target, links, "--max-length", "17"], "max-length"),
    ):
        assert run(["phrases", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_two_outputs_have_two_places(text, capsys):
    (source, target, links), place = text
    table = str(place / "table")
    extract = ["phrases", "extract", source, target, links, "-o", table]
    assert run([*extract, "--reordering", str(place / "." / "table")]) == 2
    assert "two outputs are written to the same place" in capsys.readouterr().err
    assert run([*extract, "--reordering", f"{table}.s2t", "--dictionary", table]) == 2
    assert run(["phrases", "align", table, source, target, "--report", "-"]) == 2
    assert "two outputs are written to the same place" in capsys.readouterr().err


def test_texts_and_links_must_be_of_the_same_pairs(text, capsys):
    (source, target, _), place = text
    few = write(place / "few", "0-0\n")
    assert run(["phrases", "extract", source, target, few, "-o", str(place / "table"), "-q"]) == 1
    assert "41 lines" in capsys.readouterr().err
    assert not (place / "table").exists()
    far = write(place / "far", "0-0 99-0\n" + "\n" * 40)
    assert run(["phrases", "extract", source, target, far, "-o", str(place / "table"), "-q"]) == 1
    assert "far, line 1" in capsys.readouterr().err
    assert run(["phrases", "evaluate", few, far]) == 1
    assert "1 sentence pair but" in capsys.readouterr().err
