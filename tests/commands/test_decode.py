"""`dualign decode`: links of matrices from elsewhere, and what it says of matrices that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.commands.bitexts import SOURCE as SOURCE_LINES
from tests.commands.bitexts import TARGET as TARGET_LINES
from tests.commands.bitexts import write_bitext
from tests.commands.command import dualign, write

from dualign.aligner import Aligner
from dualign.commands.cli import run
from dualign.decode import matching, submodular
from dualign.decode.similarity import CHOOSERS
from dualign.text.links import Alignment

SHAPES = [(3, 4), (1, 1), (5, 2), (12, 11)]
RANDOM = np.random.default_rng(5)
MATRICES = [RANDOM.random(shape) ** 3 for shape in SHAPES]
UNLIMITED = ["--source-limit", "0", "--target-limit", "0"]
SOURCE = "".join(f"{' '.join(['s'] * rows)}\n" for rows, _ in SHAPES)
TARGET = "".join(f"{' '.join(['t'] * columns)}\n" for _, columns in SHAPES)


@pytest.fixture
def scores(tmp_path: Path) -> str:
    np.savez(tmp_path / "scores.npz", *MATRICES)
    return str(tmp_path / "scores.npz")


def failure(capsys, *arguments: str, code: int = 1) -> str:
    assert run(["decode", *arguments, "--quiet"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("dualign: error: ")
    return shown.err


def test_links_are_those_of_the_library(scores: str, capsys) -> None:
    assert run(["decode", scores, "--alpha", "0.3", "--source-limit", "2", "--target-limit", "1"]) == 0
    expected = [
        submodular(matrix, alpha=0.3, concave="both", row_limits=2, column_limits=1) for matrix in MATRICES
    ]
    assert capsys.readouterr().out == "".join(f"{Alignment.of(each.solution)}\n" for each in expected)
    assert run(["decode", scores, "--decoder", "matching"]) == 0
    expected = [matching(matrix) for matrix in MATRICES]
    assert capsys.readouterr().out == "".join(f"{Alignment.of(each.solution)}\n" for each in expected)


def test_source_is_rows_and_target_columns(scores: str, capsys) -> None:
    for side, concave in (("source", "rows"), ("target", "columns")):
        assert run(["decode", scores, "--concave", side, "--target-limit", "0"]) == 0
        expected = [submodular(matrix, concave=concave, row_limits=1) for matrix in MATRICES]
        assert capsys.readouterr().out == "".join(f"{Alignment.of(each.solution)}\n" for each in expected)


def test_scores_at_most_the_threshold_are_left_out(scores: str, capsys) -> None:
    assert run(["decode", scores, "--threshold", "0.5", *UNLIMITED]) == 0
    expected = [Alignment.of((int(i), int(j)) for i, j in np.argwhere(matrix > 0.5)) for matrix in MATRICES]
    assert capsys.readouterr().out == "".join(f"{each}\n" for each in expected)


@pytest.mark.parametrize("decoder", ["submodular", "matching"])
def test_the_report_has_what_the_library_proves(scores: str, tmp_path: Path, decoder: str, capsys) -> None:
    report = str(tmp_path / "report.jsonl")
    limits = ["--target-limit", "0"]
    assert run(["decode", scores, "--decoder", decoder, *limits, "--report", report]) == 0
    lines = capsys.readouterr().out.splitlines()
    records = [json.loads(line) for line in Path(report).read_text(encoding="utf-8").splitlines()]
    assert [each["line"] for each in records] == [1, 2, 3, 4]
    for matrix, line, each in zip(MATRICES, lines, records, strict=True):
        expected = (
            matching(matrix) if decoder == "matching" else submodular(matrix, concave="both", row_limits=1)
        )
        assert each["links"] == len(line.split()) == len(expected.solution)
        assert each["score"] == pytest.approx(expected.score, rel=1e-12)
        assert each["bound"] == pytest.approx(expected.bound, rel=1e-12)
        assert each["certified"] == expected.certified
        assert each["seconds"] >= 0


def test_threads_change_nothing(scores: str, capsys) -> None:
    answers = []
    for threads in ("1", "3"):
        assert run(["decode", scores, "--threads", threads]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_standard_input_in_a_process_of_its_own() -> None:
    text = "".join(json.dumps(matrix.tolist()) + "\n" for matrix in MATRICES) + "\n"
    done = dualign("decode", "-", "--decoder", "matching", stdin=text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"{Alignment.of(matching(m).solution)}\n" for m in MATRICES) + "\n"


def test_matrices_of_the_size_of_their_sentences_pass(scores: str, tmp_path: Path, capsys) -> None:
    source, target = write(tmp_path / "s", SOURCE), write(tmp_path / "t", TARGET)
    assert run(["decode", scores, "--source", source, "--target", target]) == 0
    both = "".join(f"{s} ||| {t}\n" for s, t in zip(SOURCE.split("\n"), TARGET.split("\n"), strict=True) if s)
    assert run(["decode", scores, "--source", write(tmp_path / "b", both)]) == 0
    capsys.readouterr()


def test_an_empty_side_needs_no_matrix_but_a_place(tmp_path: Path, capsys) -> None:
    path = write(tmp_path / "a.jsonl", "[[0.5]]\n\n[[],[]]\n[[0.7]]\n")
    source, target = write(tmp_path / "s", "a\n\na b\na\n"), write(tmp_path / "t", "x\nx y\n\nx\n")
    assert run(["decode", path, "--source", source, "--target", target]) == 0
    assert capsys.readouterr().out == "0-0\n\n\n0-0\n"


def test_lengths_are_checked(scores: str, tmp_path: Path, capsys) -> None:
    wrong = write(tmp_path / "s", SOURCE.replace("s s s s s\n", "s s s s\n", 1))
    target = write(tmp_path / "t", TARGET)
    message = failure(capsys, scores, "--source", wrong, "--target", target)
    assert "arr_2: a matrix of 5 × 2 scores, but line 3" in message
    assert "4 source and 2 target words" in message
    short = [
        write(tmp_path / name, "".join(text.splitlines(keepends=True)[:3]))
        for name, text in (("u", SOURCE), ("v", TARGET))
    ]
    assert "has 4 sentence pairs but" in failure(capsys, scores, "--source", short[0], "--target", short[1])
    long = [write(tmp_path / "w", SOURCE + "s\n"), write(tmp_path / "x", TARGET + "t\n")]
    assert "has 4 sentence pairs but" in failure(capsys, scores, "--source", long[0], "--target", long[1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[[0.5, -0.5]]", "a.jsonl:2[0, 1] is -0.5"),
        ("[[0.5, NaN]]", "a.jsonl:2[0, 1] is nan"),
        ("[[0.5], [0.5, 1]]", "a.jsonl:2: row 1 has 2 scores, but row 0 has 1"),
        ("[0.5]", "a.jsonl:2 has 1 axes"),
        ('[["x"]]', "a.jsonl:2: [0, 0] is not a number"),
        ("3", "a.jsonl:2 has 0 axes"),
        ("null", "a.jsonl:2: not a matrix"),
    ],
)
def test_bad_matrices_are_named_by_line_and_index(tmp_path: Path, line: str, message: str, capsys) -> None:
    path = write(tmp_path / "a.jsonl", f"[[1]]\n{line}\n")
    out = tmp_path / "links"
    assert message in failure(capsys, path, "-o", str(out))
    assert not out.exists()


def test_options_without_effect_are_noted(scores: str, capsys) -> None:
    options = ["--decoder", "matching", "--alpha", "0.3", "--source-limit", "2", "--threshold", "0.1"]
    assert run(["decode", scores, *options]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "dualign: note: --alpha 0.3 has no effect with --decoder matching",
        "dualign: note: --source-limit 2 has no effect with --decoder matching",
    ]
    assert run(["decode", scores, *options, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--alpha", "0"], "--alpha 0.0 must be over 0"),
        (["--alpha", "1.5"], "--alpha 1.5"),
        (["--alpha", "nan"], "--alpha nan"),
        (["--source-limit", "-1"], "--source-limit -1"),
        (["--target-limit", "-2"], "--target-limit -2"),
        (["--threshold", "-1"], "--threshold -1.0"),
        (["--threshold", "nan"], "--threshold nan"),
        (["--concave", "rows"], "--concave rows is not one of source, target, both"),
        (["--decoder", "viterbi"], "--decoder viterbi is not one of submodular, matching"),
        (["--target", "x"], "--target needs --source"),
        (["--report", "-"], "two outputs are written to the same place"),
    ],
)
def test_wrong_options_exit_with_2(scores: str, arguments: list[str], message: str, capsys) -> None:
    assert message in failure(capsys, scores, *arguments, code=2)


SIGNED = [matrix - 0.2 for matrix in MATRICES]


@pytest.mark.parametrize("decoder", ["argmax", "itermax", "softmax"])
def test_similarities_may_be_negative(decoder: str, tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "s.npz", *SIGNED)
    assert (
        run(["decode", str(tmp_path / "s.npz"), "--decoder", decoder, "--report", str(tmp_path / "r")]) == 0
    )
    choose = CHOOSERS[decoder][0]
    expected = [Alignment.of((int(i), int(j)) for i, j in np.argwhere(choose(matrix))) for matrix in SIGNED]
    assert capsys.readouterr().out == "".join(f"{each}\n" for each in expected)
    records = [json.loads(line) for line in (tmp_path / "r").read_text().splitlines()]
    assert [(record["bound"], record["certified"]) for record in records] == [(None, False)] * len(SIGNED)


def test_negative_scores_are_clipped_on_request(tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "s.npz", *SIGNED)
    np.savez(tmp_path / "t.npz", *(np.maximum(matrix, 0) for matrix in SIGNED))
    assert "not negative" in failure(capsys, str(tmp_path / "s.npz"))
    assert "not negative" in failure(capsys, str(tmp_path / "s.npz"), "--decoder", "soft-union")
    assert run(["decode", str(tmp_path / "s.npz"), "--clip"]) == 0
    clipped = capsys.readouterr().out
    assert run(["decode", str(tmp_path / "t.npz")]) == 0
    assert capsys.readouterr().out == clipped


def test_not_a_number_is_refused_by_all(tmp_path: Path, capsys) -> None:
    np.savez(tmp_path / "s.npz", np.array([[0.1, np.nan]]))
    for arguments in (["--clip"], ["--decoder", "argmax"], ["--decoder", "softmax", "--clip"]):
        assert "is nan" in failure(capsys, str(tmp_path / "s.npz"), *arguments)
    assert "must be at least 0" in failure(
        capsys, str(tmp_path / "s.npz"), "--decoder", "softmax", "--threshold", "-1", code=2
    )
    assert "itermax" in failure(capsys, str(tmp_path / "s.npz"), "--decoder", "nonsense", code=2)


def test_posteriors_of_align_are_read_back(tmp_path: Path, capsys) -> None:
    texts = write_bitext(tmp_path)
    posteriors, model = str(tmp_path / "p.npz"), str(tmp_path / "m")
    outputs = ["--posteriors", posteriors, "--save", model]
    assert run(["align", *texts, *outputs, "--rounds", "2", "--quiet"]) == 0
    links = capsys.readouterr().out
    decode = ["decode", posteriors, "--decoder", "soft-union"]
    assert run([*decode, "--source", texts[0], "--target", texts[1]]) == 0
    assert capsys.readouterr().out == links
    again = str(tmp_path / "again.npz")
    arguments = ["--model", model, "--posteriors", again, "--threads", "2", "--quiet"]
    assert run(["align", *texts, *arguments]) == 0
    assert Path(again).read_bytes() == Path(posteriors).read_bytes()
    with np.load(posteriors) as archive:
        expected = Aligner.load(model).posteriors(SOURCE_LINES, TARGET_LINES)
        for n, matrix in enumerate(expected):
            np.testing.assert_array_equal(archive[f"arr_{n}"], matrix)


def test_posteriors_need_an_archive(tmp_path: Path, capsys) -> None:
    texts = write_bitext(tmp_path)
    assert run(["align", *texts, "--posteriors", str(tmp_path / "p.json")]) == 2
    assert "FILE.npz" in capsys.readouterr().err
