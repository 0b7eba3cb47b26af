from __future__ import annotations

import json

import pytest
from tests.show import samples

from dualign.commands.cli import run

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def text(tmp_path):
    return samples.write(tmp_path / "s", samples.SOURCE), samples.write(tmp_path / "t", samples.TARGET)


@pytest.fixture
def gold(tmp_path):
    return samples.write(tmp_path / "g", samples.GOLD)


def drawn(tmp_path, *arguments):
    path = tmp_path / "figure.svg"
    assert run(["figure", *arguments, "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def test_matrix(tmp_path, text, gold):
    scored = samples.write(tmp_path / "p", samples.ONE)
    assert "<svg" in drawn(
        tmp_path, "matrix", *text, "--probabilities", scored, "--gold", gold, "--line", "2"
    )
    assert "<svg" in drawn(tmp_path, "matrix", *text, "--gold", gold)
    other = samples.write(tmp_path / "l", samples.TWO)
    one, both = (
        drawn(tmp_path, "matrix", *text, *(word for path in paths for word in ("-l", path)))
        for paths in ([other], [other, f"again={other}"])
    )
    assert one.count("again") < both.count("again")


@pytest.mark.kernel
def test_posteriors_and_curves_of_a_model(tmp_path, text, gold):
    from dualign.aligner import Aligner

    pairs = [
        (line.split(), other.split()) for line, other in zip(samples.SOURCE, samples.TARGET, strict=True)
    ]
    model = tmp_path / "m"
    Aligner(threads=1, rounds=1, ibm1_rounds=1).fit(pairs[:2]).save(model)
    assert "<svg" in drawn(tmp_path, "posteriors", *text, "--model", str(model), "--gold", gold)
    more = [
        "--probabilities",
        samples.write(tmp_path / "p", samples.ONE),
        "-l",
        samples.write(tmp_path / "l", samples.TWO),
    ]
    assert "<svg" in drawn(tmp_path, "curve", *text, "--gold", gold, "--model", f"HMM={model}", *more)
    assert "<svg" in drawn(tmp_path, "calibration", *text, "--gold", gold, "--model", f"m={model}", *more[:2])


def test_traces_and_pruning(tmp_path):
    records = [{"line": n, "trace": [[3, 0, 1.0], [2, 1, 0.5]]} for n in (2, 5)]
    report = samples.write(tmp_path / "r", [json.dumps(record) for record in records])
    assert "<svg" in drawn(tmp_path, "trace", report)
    assert "<svg" in drawn(tmp_path, "trace", report, f"again={report}", "--line", "2", "--line", "5")
    assert "<svg" in drawn(tmp_path, "pruning", report)


@pytest.mark.parametrize("number", ["9" * 400, "1e309", "NaN", '"x"', "null", "[" * 99999])
def test_cost_that_is_no_number_is_said(tmp_path, number, capsys):
    file = samples.write(tmp_path / "c.jsonl", [f'{{"pairs": 1, "seconds": {number}}}'])
    assert run(["figure", "cost", file, "-o", str(tmp_path / "x.svg")]) == 1
    assert "c.jsonl:1: no JSON object with numbers `pairs` and `seconds`" in capsys.readouterr().err


def test_cost(tmp_path):
    lines = [json.dumps({"pairs": 10**n, "seconds": 2.0**n, "corpus": "x"}) for n in (1, 2, 3)]
    file = samples.write(tmp_path / "c.jsonl", lines)
    assert "<svg" in drawn(tmp_path, "cost", file, "--by", "corpus")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["matrix", "TEXT", "-o", "x.gif"], 2, "figures are written as .svg, .pdf, .png"),
        (["matrix", "TEXT", "-o", "x.svg", "--line", "9"], 2, "the text has 8 lines"),
        (["matrix", "TEXT", "-o", "x.svg", "--line", "3"], 2, "the source sentence is empty"),
        (["curve", "TEXT", "-o", "x.svg", "--gold", "GOLD"], 2, "nothing to draw"),
        (["calibration", "TEXT", "-o", "x.svg", "--gold", "GOLD"], 2, "nothing to draw"),
        (["trace", "REPORT", "-o", "x.svg"], 1, "no traces"),
        (["cost", "REPORT", "-o", "x.svg"], 1, ":1: no JSON object with numbers `pairs` and `seconds`"),
        (["cost", "EMPTY", "-o", "x.svg"], 1, "the file is empty"),
    ],
)
def test_what_cannot_be_drawn_is_said(tmp_path, text, gold, arguments, code, message, capsys):
    stand_ins = {
        "TEXT": text,
        "GOLD": [gold],
        "REPORT": [samples.write(tmp_path / "r", ['{"line": 1}'])],
        "EMPTY": [samples.write(tmp_path / "e", [])],
    }
    assert run(["figure", *(word for part in arguments for word in stand_ins.get(part, [part]))]) == code
    assert message in capsys.readouterr().err
