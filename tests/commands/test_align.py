"""`dualign align`: what it reads and writes, and what it says of what it cannot read or write."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from tests.commands.bitexts import GOLD, LINES, SOURCE, TARGET, write_bitext, write_lines
from tests.commands.command import dualign

from dualign._core.files.container import write_container
from dualign._core.files.streams import open_input
from dualign.aligner import Aligner, align
from dualign.commands.cli import run
from dualign.decode import decoders as aligning
from dualign.measure.links import evaluate
from dualign.text.corpus import numbered
from dualign.text.formats.pharaoh import parse_pharaoh
from dualign.text.link_formats import read_links
from dualign.text.score_matrices import read_matrices

FAST = ["--rounds", "2", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("align")


@pytest.fixture(scope="module")
def files(folder) -> list[str]:
    return list(write_bitext(folder))


@pytest.fixture(scope="module")
def expected() -> str:
    """The links of the bitext by the library, as `--rounds 2` gives them."""
    found = align(SOURCE, TARGET, threads=1, rounds=2)
    assert len(found) == LINES
    return "".join(f"{alignment}\n" for alignment in found)


@pytest.fixture(scope="module")
def model(files, folder) -> str:
    path = str(folder / "model")
    assert run(["train", *files, path, *FAST]) == 0
    return path


def failure(capsys, *arguments: str, code: int = 1) -> str:
    """What an unsuccessful run says."""
    assert run(["align", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert shown.err.startswith("dualign: ")
    return shown.err


def test_two_files_give_the_librarys_links(files, expected, capsys):
    assert run(["align", *files, *FAST]) == 0
    assert capsys.readouterr() == (expected, "")


@pytest.mark.parametrize("separator", [" ||| ", "\t"])
def test_one_file_with_both_sides_gives_the_same(tmp_path, separator, expected, capsys):
    both = write_lines(tmp_path / "both", [f"{s}{separator}{t}" for s, t in zip(SOURCE, TARGET, strict=True)])
    assert run(["align", both, *FAST]) == 0
    assert capsys.readouterr().out == expected


def test_compressed_files_are_read_and_written(tmp_path, expected, capsys):
    names = []
    for name, lines in (("a.gz", SOURCE), ("b.gz", TARGET)):
        (tmp_path / name).write_bytes(gzip.compress("".join(f"{x}\n" for x in lines).encode()))
        names.append(str(tmp_path / name))
    assert run(["align", *names, "-o", str(tmp_path / "links.gz"), *FAST]) == 0
    assert gzip.decompress((tmp_path / "links.gz").read_bytes()).decode() == expected
    assert capsys.readouterr().out == ""


def test_standard_input_and_output_in_a_process_of_its_own(files, expected):
    done = dualign("align", "-", files[1], *FAST, stdin="".join(f"{line}\n" for line in SOURCE))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == expected
    both = "".join(f"{s} ||| {t}\n" for s, t in zip(SOURCE, TARGET, strict=True))
    assert dualign("align", "-", *FAST, stdin=both).stdout == expected


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_threads_change_no_byte_of_any_output(files, tmp_path, threads, capsys):
    folder = tmp_path / threads
    folder.mkdir()
    arguments = [
        "-o",
        str(folder / "links"),
        "--probabilities",
        str(folder / "p"),
        "--save",
        str(folder / "model"),
    ]
    assert run(["align", *files, *arguments, "--threads", threads, *FAST]) == 0
    reference = align(SOURCE, TARGET, threads=1, rounds=2)
    assert (folder / "links").read_text() == "".join(f"{alignment}\n" for alignment in reference)
    lines = [
        " ".join(f"{i}-{j}:{p:.6f}" for (i, j), p in zip(a.links, a.probabilities, strict=True))
        for a in reference
    ]
    assert (folder / "p").read_text().splitlines() == lines
    Aligner(threads=1, rounds=2).fit((SOURCE, TARGET)).save(tmp_path / "reference")
    assert (folder / "model").read_bytes() == (tmp_path / "reference").read_bytes()


@pytest.mark.parametrize("decoder", ["submodular", "matching"])
def test_matching_decoders_are_tuned_saved_and_used_again(files, tmp_path, decoder, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    saved, report = str(tmp_path / "model"), tmp_path / "report"
    arguments = ["--decoder", decoder, "--tune", gold, "--save", saved, "--report", str(report)]
    assert run(["align", *files, *arguments, "--rounds", "2"]) == 0
    shown = capsys.readouterr()
    assert "tuned on 40 pairs: threshold" in shown.err
    assert ("alpha" in shown.err) == (decoder == "submodular")
    records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert [record["line"] for record in records] == list(range(1, LINES + 1))
    assert all(record["bound"] >= record["score"] - 1e-9 for record in records)
    assert decoder == "submodular" or all(record["certified"] for record in records)
    assert run(["align", *files, "--model", saved, "--quiet"]) == 0
    assert capsys.readouterr().out == shown.out
    assert Aligner.load(saved).options.decoder == decoder


@pytest.mark.parametrize("decoder", ["viterbi", "bidirectional", "matching", "submodular"])
def test_style_changes_nothing_for_other_decoders(files, model, decoder, capsys):
    shown = []
    for style in ("lean", "full"):
        assert run(["align", *files, "--model", model, "--decoder", decoder, "--style", style, "-q"]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_full_style_gives_the_librarys_links(files, model, capsys):
    assert run(["align", *files, "--model", model, "--style", "full", "--quiet"]) == 0
    aligner = Aligner.load(model).set_options(style="full")
    assert capsys.readouterr().out == "".join(f"{found}\n" for found in aligner.align(SOURCE, TARGET))


def test_options_of_the_submodular_decoder_are_checked(files, model, capsys):
    for setting, message in (
        ("alpha=0", "alpha=0"),
        ("source_limit=-1", "source_limit=-1"),
        ("quantile=0.5", "needs a model that knows how many links words have"),
        ("scores=forward", "are those of ibm1 and ibm2"),
    ):
        arguments = ["--model", model, "--decoder", "submodular", "--set", setting]
        assert message in failure(capsys, *files, *arguments, code=2)


def test_a_saved_model_gives_the_same_bytes_as_aligning_directly(files, tmp_path, expected, capsys):
    saved = str(tmp_path / "model")
    assert run(["align", *files, "--save", saved, *FAST]) == 0
    assert capsys.readouterr().out == expected
    assert run(["align", *files, "--model", saved, "--quiet"]) == 0
    assert capsys.readouterr().out == expected


def test_a_saved_model_aligns_other_text_line_by_line_alike(model, tmp_path, capsys):
    strange = ["Das Haus steht in Wladiwostok .", "", "ganz anders", SOURCE[3]]
    other = ["The house is in Wladiwostok .", "empty", "", TARGET[3]]
    lines = []
    for n, (s, t) in enumerate(zip(strange, other, strict=True)):
        pair = write_lines(tmp_path / f"s{n}", [s]), write_lines(tmp_path / f"t{n}", [t])
        assert run(["align", *pair, "--model", model, "--quiet"]) == 0
        lines.append(capsys.readouterr().out)
    whole = write_lines(tmp_path / "s", strange), write_lines(tmp_path / "t", other)
    assert run(["align", *whole, "--model", model, "--quiet"]) == 0
    assert capsys.readouterr().out == "".join(lines)
    assert lines[1] == lines[2] == "\n"
    assert len(lines[0].split()) > 0


@pytest.mark.parametrize("decoder", ["soft-union", "posterior", "viterbi"])
def test_report_has_an_object_for_each_line(files, model, decoder, tmp_path, capsys):
    report = tmp_path / "report.jsonl"
    arguments = ["--model", model, "--report", str(report), "--decoder", decoder, "--quiet"]
    assert run(["align", *files, *arguments]) == 0
    links = capsys.readouterr().out.splitlines()
    records = [json.loads(line) for line in report.read_text().splitlines()]
    assert [record["line"] for record in records] == list(range(1, LINES + 1))
    for record, line in zip(records, links, strict=True):
        assert {"line", "score", "bound", "certified", "seconds"} <= record.keys()
        assert record["certified"] is (record["bound"] - record["score"] <= 1e-9)
        assert record["certified"] or decoder != "soft-union"
        assert record["bound"] >= record["score"]
        assert record["seconds"] >= 0
        assert record["links"] == len(line.split())


def test_joint_decoding_reports_its_proofs_round_by_round(files, model, tmp_path, capsys):
    report = tmp_path / "report.jsonl"
    arguments = ["--model", model, "--decoder", "bidirectional", "--report", str(report)]
    assert run(["align", *files, *arguments]) == 0
    shown = capsys.readouterr()
    assert f"{LINES} of {LINES} alignments are proved optimal" in shown.err
    records = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(records) == LINES
    for record in records:
        assert record["certified"]
        assert record["bound"] == pytest.approx(record["score"])
        if "iterations" in record:
            assert all(bound is None or bound >= record["score"] - 1e-6 for bound, _ in record["trace"])
    assert any(record.get("trace") for record in records)
    assert run(["align", *files, *arguments[:4], "--threads", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == shown.out


def test_scores_are_the_librarys_in_the_file_and_in_the_report(files, model, tmp_path, capsys):
    texts = [Path(path).read_text("utf-8").splitlines() for path in files]
    texts[0][3] = ""
    paths = [write_lines(tmp_path / name, lines) for name, lines in zip("st", texts, strict=True)]
    scores, report = tmp_path / "scores", tmp_path / "report"
    outputs = ["--scores", str(scores), "--report", str(report), "-o", os.devnull]
    assert run(["align", *paths, "--model", model, *outputs, "--quiet"]) == 0
    lines = scores.read_text().splitlines()
    found = Aligner.load(model, threads=1).score(*texts)
    assert lines == ["\t".join(f"{value:.6f}" for value in score) for score in found]
    assert lines[3] == "nan\tnan\t0.000000\t1.000000"
    records = [json.loads(line) for line in report.read_text().splitlines()]
    assert records[3]["target_given_source"] is None
    for record, score in zip(records[4:], found[4:], strict=True):
        assert record["target_given_source"] == round(score.target_given_source, 6)
        assert record["source_given_target"] == round(score.source_given_target, 6)
        assert record["unlinked"] == round(score.unlinked, 6)


def test_probabilities_are_read_back_as_links(files, model, tmp_path, capsys):
    path = str(tmp_path / "p")
    assert run(["align", *files, "--model", model, "--probabilities", path, "--quiet"]) == 0
    links = [parse_pharaoh(line) for line in capsys.readouterr().out.splitlines()]
    scored = list(read_links(path))
    assert [a.links for a in scored] == [a.links for a in links]
    assert all(0.4 < p <= 1 for a in scored for p in a.probabilities or ())
    assert sum(len(a) for a in scored) > LINES


@pytest.mark.parametrize("decoder", ["soft-union", "posterior", "viterbi"])
def test_tuning_chooses_what_serves_the_gold_links(files, tmp_path, decoder, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    base = [
        "align",
        *files,
        "--rounds",
        "2",
        "--decoder",
        decoder,
        "--threshold",
        "0.9",
        "--symmetrize",
        "intersection",
    ]
    assert run([*base, "--quiet"]) == 0
    before = capsys.readouterr().out.splitlines()
    assert run([*base, "--tune", gold]) == 0
    after = capsys.readouterr()
    assert "dualign: tuned on 40 pairs: " in after.err
    assert len(after.out.splitlines()) == LINES
    aer = [evaluate(lines[: len(GOLD)], GOLD).aer for lines in (before, after.out.splitlines())]
    assert aer[1] < aer[0]


def test_tuning_on_pairs_of_their_own_and_with_a_saved_model(files, model, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    own = [write_lines(tmp_path / "gs", SOURCE[:40]), write_lines(tmp_path / "gt", TARGET[:40])]
    rest = [write_lines(tmp_path / "s", SOURCE[40:]), write_lines(tmp_path / "t", TARGET[40:])]
    saved = str(tmp_path / "tuned")
    arguments = ["--tune", gold, "--tune-source", own[0], "--tune-target", own[1]]
    options = ["--rounds", "2", "--threshold", "0.95"]
    assert run(["align", *rest, *arguments, *options, "--save", saved]) == 0
    shown = capsys.readouterr()
    assert "tuned on 40 pairs: threshold" in shown.err
    assert len(shown.out.splitlines()) == LINES - 40
    assert Aligner.load(saved).options.threshold < 0.95
    # The first lines of the input, which are tuned on and aligned both; and text of its own.
    assert run(["align", *files, "--model", model, "--tune", gold]) == 0
    first = capsys.readouterr()
    assert run(["align", *files, "--model", model, *arguments]) == 0
    second = capsys.readouterr()
    assert first.out == second.out
    untimed = [re.sub(r"[\d.]+ s\b", "", shown.err) for shown in (first, second)]
    assert untimed[0] == untimed[1]
    assert len(first.out.splitlines()) == LINES


def test_early_stop_trains_no_longer_than_it_pays(files, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    training = ["--early-stop", "--rounds", "30", "--constraint", "agreement"]
    assert run(["align", *files, "--tune", gold, *training]) == 0
    shown = capsys.readouterr()
    rounds = shown.err.count("HMM round")
    assert 1 <= rounds < 30
    assert f"early stop: kept round {rounds - 1} of 30, area under the curve 0." in shown.err
    assert len(shown.out.splitlines()) == LINES


def test_flags_and_set_reach_the_model(files, tmp_path, capsys):
    saved = str(tmp_path / "model")
    flags = [
        "--rounds",
        "1",
        "--constraint",
        "none",
        "--max-length",
        "50",
        "--threshold",
        "0.3",
        "--keep-case",
    ]
    sets = [
        "--set",
        "ibm1_rounds=2",
        "--set",
        "stem-weight = 0",
        "--set",
        "projection=none",
        "--set",
        "lowercase=false",
    ]
    assert run(["align", *files, *flags, *sets, "--save", saved, "--quiet"]) == 0
    options = Aligner.load(saved).options
    assert (options.rounds, options.constraint, options.max_length, options.threshold) == (1, "none", 50, 0.3)
    assert (options.ibm1_rounds, options.stem_weight, options.projection) == (2, 0.0, "none")
    assert options.lowercase is False
    assert "Das" in Aligner.load(saved).model.source.numbers


def test_notes_on_what_was_not_learnt_from(tmp_path, capsys):
    source, target = ["a b", "", "c " * 30, "a"], ["x y", "z", "w", "x"]
    pair = write_lines(tmp_path / "s", source), write_lines(tmp_path / "t", target)
    assert run(["align", *pair, "--max-length", "20"]) == 0
    shown = capsys.readouterr()
    assert "1 of 4 pairs has an empty side (pair " in shown.err
    assert "1 pair has more than 20 words per side" in shown.err
    assert "round" in shown.err
    assert len(shown.out.splitlines()) == 4
    assert shown.out.splitlines()[1] == ""


def test_pairs_too_long_to_align_are_empty_flagged_and_mentioned(files, model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(aligning, "MOST_CELLS", 60)
    report = tmp_path / "report"
    assert run(["align", *files, "--model", model, "--report", str(report)]) == 0
    shown = capsys.readouterr()
    records = [json.loads(line) for line in report.read_text().splitlines()]
    long = [len(s.split()) * len(t.split()) > 60 for s, t in zip(SOURCE, TARGET, strict=True)]
    assert 0 < sum(long) < LINES
    for line, record, too_long in zip(shown.out.splitlines(), records, long, strict=True):
        assert record["certified"] is not too_long
        if too_long:
            assert line == ""
            assert record["bound"] is None
    said = f"{sum(long)} pairs are too long to align (over 10 million cells), and without links"
    said = f"dualign: warning: {said}\n"
    assert said in shown.err
    # Links that are lost are no note, which --quiet would silence.
    assert run(["align", *files, "--model", model, "--quiet"]) == 0
    assert capsys.readouterr().err == said


def test_windows_files_marks_and_wide_blanks_change_nothing(tmp_path, expected, capsys):
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in SOURCE).encode())
    target.write_text(
        "".join("\u00a0" + line.replace(" ", "\u3000") + " \n" for line in TARGET), encoding="utf-8"
    )
    assert run(["align", str(source), str(target), *FAST]) == 0
    assert capsys.readouterr().out == expected


# What it refuses, and what it says then.


@pytest.mark.parametrize(("lines", "others"), [(5, 3), (3, 5), (0, 2)])
def test_different_numbers_of_lines_are_both_named(tmp_path, lines, others, capsys):
    pair = write_lines(tmp_path / "s", SOURCE[:lines]), write_lines(tmp_path / "t", TARGET[:others])
    out = tmp_path / "out"
    shown = failure(capsys, *pair, "-o", str(out))
    assert f"{pair[0]} has {lines} lines but {pair[1]} has {others};" in shown
    assert not out.exists()


def test_text_without_anything_to_learn_from_gives_empty_lines_and_no_model(tmp_path, capsys):
    pair = write_lines(tmp_path / "s", ["", "a"]), write_lines(tmp_path / "t", ["x", ""])
    assert run(["align", *pair]) == 0
    shown = capsys.readouterr()
    assert shown.out == "\n\n"
    assert "none of the 2 sentence pairs has words on both sides" in shown.err
    assert "none of the 2 sentence pairs" in failure(capsys, *pair, "--save", str(tmp_path / "m"))
    assert not (tmp_path / "m").exists()


def test_the_first_pair_with_an_empty_side_is_named(tmp_path, capsys):
    pair = write_lines(tmp_path / "s", ["a", "", "a", "a"]), write_lines(tmp_path / "t", ["x", "x", "", "x"])
    assert run(["align", *pair, "--rounds", "1"]) == 0
    said = "2 of 4 pairs have an empty side (the first is pair 2); skipped"
    assert said in capsys.readouterr().err
    assert run(["train", *pair, str(tmp_path / "m"), "--sample", "4"]) == 0
    assert "2 of 4 pairs have an empty side; skipped" in capsys.readouterr().err


def test_a_text_that_is_its_own_translation_is_suspected(files, tmp_path, capsys):
    link = tmp_path / "other"
    link.symlink_to(files[0])
    assert run(["align", files[0], str(link), "--quiet", *FAST]) == 0
    said = f"warning: {files[0]}: both the source and the target text; name the file of the other language"
    assert capsys.readouterr().err.splitlines() == [f"dualign: {said}"]
    assert run(["align", *files, "--quiet", *FAST]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("stdin", [False, True])
def test_text_of_no_lines_gives_no_lines_and_a_warning_that_names_it(tmp_path, stdin, monkeypatch, capsys):
    empty, report = write_lines(tmp_path / "e", []), tmp_path / "r.gz"
    with open(empty, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        texts, name = (["-"], "standard input") if stdin else ([empty, empty], empty)
        assert run(["align", *texts, "--report", str(report), "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown == ("", f"dualign: warning: {name}: no lines, so the output is empty, too\n")
    assert gzip.decompress(report.read_bytes()) == b""
    said = f"{empty}: no lines; nothing to learn from: give a text with words on both sides"
    assert said in failure(capsys, empty, "--save", str(tmp_path / "m"))
    assert run(["train", empty, empty, str(tmp_path / "m")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_text_without_anything_to_learn_from_gives_every_output_a_line_per_pair(tmp_path, capsys):
    pair = write_lines(tmp_path / "s", ["", "a"]), write_lines(tmp_path / "t", ["x", ""])
    names = ("--probabilities", "--report", "--scores", "--tokens")
    outputs = [word for name in names for word in (name, str(tmp_path / name))]
    assert run(["align", *pair, *outputs]) == 0
    assert capsys.readouterr().out == "\n\n"
    assert (tmp_path / "--probabilities").read_text() == "\n\n"
    assert [json.loads(line)["links"] for line in (tmp_path / "--report").read_text().splitlines()] == [0, 0]
    assert (tmp_path / "--scores").read_text() == "nan\tnan\t0.000000\t1.000000\n" * 2
    assert (tmp_path / "--tokens").read_text() == "\tx\na\t\n"
    table = write_lines(tmp_path / "table.tsv", ["p1\t\tx", "p2\ta\t"])
    assert run(["align", table, "--columns", "source=2,target=3,id=1"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "p1\t\np2\t\n"
    assert f"{table}: none of the 2 sentence pairs" in shown.err


def test_invalid_utf8_names_file_and_line_or_is_replaced(tmp_path, files, capsys):
    bad = tmp_path / "bad"
    bad.write_bytes(b"".join(b"gr\xfcn\n" if n == 6 else f"{x}\n".encode() for n, x in enumerate(SOURCE)))
    shown = failure(capsys, str(bad), files[1], *FAST)
    assert f"{bad}:7: invalid UTF-8 (0xfc, byte 3 of the line)" in shown
    assert "--errors replace" in shown
    assert run(["align", str(bad), files[1], "--errors", "replace", *FAST]) == 0
    assert len(capsys.readouterr().out.splitlines()) == LINES


def test_what_is_missing_is_said_before_anything_is_compiled(files, tmp_path, monkeypatch, capsys):
    def compile_kernels(*_: object) -> None:
        raise AssertionError("too late")

    monkeypatch.setattr("dualign.commands.warming.compile_kernels", compile_kernels)
    absent = str(tmp_path / "absent")
    plain = write_lines(tmp_path / "plain", ["", "no separator here"])
    for arguments, said in (
        ([files[0], absent], "absent: no such file"),
        ([*files, "--model", absent], "absent: no such model file"),
        ([*files, "--glossary", absent], "absent: no such file"),
        ([*files, "--tune", absent], "absent: no such file"),
        ([plain], "plain:2: no separator"),
    ):
        assert said in failure(capsys, *arguments)


def test_a_note_on_a_text_that_is_small(tmp_path, capsys):
    for count, noted in ((199, True), (200, False)):
        paths = [write_lines(tmp_path / side, [f"{side} {k % 7}" for k in range(count)]) for side in "st"]
        assert run(["align", *paths, "-o", str(tmp_path / "links")]) == 0
        assert ("only 199 pairs to learn from" in capsys.readouterr().err) == noted


def test_a_note_on_a_small_text_counts_the_pairs_that_are_learnt_from(tmp_path, capsys):
    lines = ["a b"] * 3 + ["", "c " * 30]
    pair = [write_lines(tmp_path / side, lines * 50) for side in "st"]
    more = [write_lines(tmp_path / side, ["a b", "", "c " * 30]) for side in "uv"]
    common = ["-o", str(tmp_path / "links"), "--rounds", "1", "--max-length", "20"]
    assert run(["align", *pair, *common]) == 0
    assert "note: the text has only 150 pairs to learn from" in capsys.readouterr().err
    assert run(["align", *pair, *common, "--background", *more, "--background-ratio", "2"]) == 0
    assert "note: the text has only 151 pairs to learn from" in capsys.readouterr().err
    nothing = write_lines(tmp_path / "n", ["", "", ""])
    assert run(["align", nothing, nothing, *common]) == 0
    assert "to learn from, so" not in capsys.readouterr().err


def test_missing_input_and_unwritable_output_are_named(files, model, tmp_path, capsys):
    missing = str(tmp_path / "none.de")
    assert missing in failure(capsys, missing, files[1])
    out = str(tmp_path / "no" / "folder" / "links")
    for option in ("-o", "--probabilities", "--report"):
        assert out in failure(capsys, *files, "--model", model, option, out, *FAST[2:])
    shown = failure(capsys, *files, "--save", out, *FAST)
    assert out in shown
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_writing_leaves_no_output(files, model, tmp_path, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dualign.commands.outputs.WholeFiles.write", fail)
    assert run(["align", *files, "--model", model, "-o", str(tmp_path / "links"), "--quiet"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_no_models_are_refused(files, model, tmp_path, capsys):
    whole = Path(model).read_bytes()
    cases = {
        "truncated": (whole[:-1], "truncated"),
        "half": (whole[: len(whole) // 2], "truncated"),
        "corrupt": (whole[:-5] + b"\x55" + whole[-4:], "corrupt"),
        "text": (b"das Haus\n" * 9, "not a dualign model but text"),
        "gzip": (gzip.compress(whole), "gzip"),
    }
    for name, (content, message) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        shown = failure(capsys, *files, "--model", str(path))
        assert str(path) in shown
        assert message in shown
    write_container(tmp_path / "other", {"kind": "phrase-table"}, {})
    assert "not a word-alignment model but `phrase-table`" in failure(
        capsys, *files, "--model", str(tmp_path / "other")
    )
    assert "no such model file" in failure(capsys, *files, "--model", str(tmp_path / "none"))
    assert "is a directory" in failure(capsys, *files, "--model", str(tmp_path))


def test_gold_that_does_not_fit_the_text_is_refused(files, tmp_path, capsys):
    beyond = write_lines(tmp_path / "beyond", [*GOLD[:4], "0-0 999-0"])
    shown = failure(capsys, *files, "--tune", beyond, *FAST)
    assert f"{beyond}:5: link 999-0 is outside the pair" in shown
    assert "if they belong to another text, name it: --tune-source, --tune-target" in shown
    more = write_lines(tmp_path / "more", ["0-0"] * (LINES + 1))
    shown = failure(capsys, *files, "--tune", more, *FAST)
    assert f"{more} has {LINES + 1} pairs but the input has {LINES};" in shown
    malformed = write_lines(tmp_path / "malformed", ["0-0", "0:0 x"])
    assert f"{malformed}:2" in failure(capsys, *files, "--tune", malformed, *FAST)
    own = write_lines(tmp_path / "own", ["a ||| x"] * 3)
    shown = failure(capsys, *files, "--tune", beyond, "--tune-source", own, *FAST)
    assert f"has 5 pairs but {own} has 3" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--decoder", "best"], "--decoder best is not one of"),
        (["--symmetrize", "grow"], "--symmetrize grow is not one of"),
        (["--constraint", "full"], "--constraint full is not one of"),
        (["--model-type", "ibm4"], "--model-type ibm4 is not one of"),
        (["--style", "fat"], "--style fat is not one of lean, full"),
        (["--threshold", "1.5"], "--threshold 1.5 must be 0, or at least 1e-06 and below 1"),
        (["--rounds", "-1"], "--rounds -1 must be at least 0"),
        (["--rounds", "many"], "--rounds"),
        (["--max-length", "0"], "--max-length 0 must be at least 1"),
        (["--threads", "0"], "threads"),
        (["--errors", "ignore"], "errors"),
        (["--set", "colour=red"], "--set colour=red: write NAME=VALUE with an option"),
        (["--set", "threshold"], "--set threshold: no value; write --set threshold=VALUE"),
        (["--set", "leave-out"], "--set leave-out: no value; write --set leave_out=VALUE"),
        (["--set", "slack=much"], "--set slack=much: not a number"),
        (["--set", "rounds=0.5"], "--set rounds=0.5: not a whole number"),
        (
            ["--threshold", "0.5", "--set", "threshold=0.3"],
            "--threshold 0.5 and --set threshold=0.3 contradict",
        ),
        (["--keep-case", "--set", "lowercase=true"], "--keep-case and --set lowercase=true contradict"),
        (["--set", "lowercase=maybe"], "--set lowercase=maybe: write true or false"),
        (["--early-stop"], "needs --tune GOLD"),
        (["--tune-source", "x"], "needs --tune GOLD"),
        (["--tune", "-", "--tune-target", "x"], "--tune-target needs --tune-source"),
        (["--nonsense"], "--nonsense"),
        (["one", "file", "more"], "more"),
    ],
)
def test_wrong_usage_is_told(files, arguments, message, capsys):
    assert message in failure(capsys, *files, *arguments, code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--constraint", "none"], "--constraint none: for training, but there is a model already"),
        (["--keep-case"], "--keep-case: for training, but there is a model already"),
        (["--rounds", "3", "--max-length", "5"], "--rounds 3, --max-length 5: for training"),
        (["--early-stop", "--tune", "gold"], "--early-stop is for training, but --model is given"),
    ],
)
def test_what_a_trained_model_cannot_change_is_told(files, model, arguments, message, capsys):
    assert message in failure(capsys, *files, "--model", model, *arguments, code=2)


def test_one_place_for_two_things_is_refused(files, tmp_path, capsys):
    assert "only one file can be standard input" in failure(capsys, "-", "-", code=2)
    assert "only one file" in failure(capsys, "-", files[1], "--tune", "-", code=2)
    here = str(tmp_path / "x")
    roundabout = os.path.join(str(tmp_path), ".", "x")
    assert "two outputs are written to the same place" in failure(
        capsys, *files, "-o", here, "--report", roundabout, code=2
    )
    assert "two outputs are written to the same place" in failure(
        capsys, *files, "--probabilities", "-", code=2
    )


@pytest.mark.parametrize(
    ("arguments", "noted"),
    [
        (["--agreement", "full"], "--agreement full has no effect with --decoder soft-union"),
        (["--symmetrize", "union"], "--symmetrize union has no effect with --decoder soft-union"),
        (["--decoder", "matching", "--style", "full"], "--style full has no effect with --decoder matching"),
        (["--set", "alpha=0.7"], "--set alpha=0.7 has no effect with --decoder soft-union"),
        (
            ["--decoder", "viterbi", "--threshold", "0.3"],
            "--threshold 0.3 has no effect with --decoder viterbi",
        ),
        (["--decoder", "matching", "--threshold", "0.3"], None),
    ],
)
def test_options_without_effect_are_noted(files, model, arguments, noted, capsys):
    assert run(["align", *files, "--model", model, *arguments]) == 0
    *shown, last = capsys.readouterr().err.splitlines()
    assert shown == ([] if noted is None else [f"dualign: note: {noted}"])
    assert re.fullmatch(r"dualign: 120 pairs, [\d,]+ links, \d+\.\d s", last)
    assert run(["align", *files, "--model", model, *arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_the_threshold_is_part_of_viterbis_report(files, model, tmp_path, capsys):
    options = ["--decoder", "viterbi", "--threshold", "0.3", "--report", str(tmp_path / "report")]
    assert run(["align", *files, "--model", model, *options]) == 0
    assert "note" not in capsys.readouterr().err


def test_training_options_without_effect_are_noted(files, tmp_path, capsys):
    options = [
        "--model-type",
        "ibm1",
        "--set",
        "jump_words=5",
        "--constraint",
        "symmetric",
        "--set",
        "alpha=0.7",
    ]
    for verb in (["align", *files, "-o"], ["train", *files]):
        assert run([*verb, str(tmp_path / verb[0]), *options]) == 0
        shown = capsys.readouterr().err
        assert "note: --set jump_words=5 has no effect with --model-type ibm1\n" in shown
        assert "note: --constraint symmetric has no effect with --model-type ibm1\n" in shown
        # A model keeps decoders' options, whichever aligns with it.
        assert ("note: --set alpha" in shown) == (verb[0] == "align")


def test_a_directory_as_output_is_refused_before_the_work(files, tmp_path, capsys):
    for option in ("-o", "--probabilities", "--report", "--save"):
        assert f"{tmp_path}: is a directory; name a file to write" in failure(
            capsys, *files, option, str(tmp_path)
        )


def test_one_file_without_a_separator_is_refused(files, capsys):
    assert f"{files[0]}:1: no separator" in failure(capsys, files[0])


@pytest.mark.parametrize("extra", [[], ["--early-stop"]])
def test_gold_without_a_line_is_refused(files, tmp_path, extra, capsys):
    gold = write_lines(tmp_path / "gold", [])
    assert "gold" in failure(capsys, *files, "--tune", gold, *extra, *FAST)


def test_gold_without_a_link_is_nothing_to_tune_by(files, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", ["", ""])
    assert "gold: no gold links in 2 lines" in failure(capsys, *files, "--tune", gold)


def test_joint_decoding_takes_no_glossary(files, model, tmp_path, capsys):
    glossary = write_lines(tmp_path / "glossary", ["a\tx"])
    arguments = ["--model", model, "--decoder", "bidirectional", "--glossary", glossary]
    assert "looks at no constraints" in failure(capsys, *files, *arguments, code=2)


def test_a_limit_that_leaves_nothing_is_lifted_and_says_so(files, capsys):
    assert run(["align", *files, "--rounds", "1", "--max-length", "1"]) == 0
    assert (
        "every pair has more than 1 word per side; they are used for training anyway"
        in capsys.readouterr().err
    )


def test_text_in_other_languages_than_the_models(files, model, capsys):
    assert run(["align", *files, "--model", model]) == 0
    assert "warning" not in capsys.readouterr().err
    assert run(["align", *reversed(files), "--model", model]) == 0
    assert "the model does not know" in capsys.readouterr().err


# Texts in chunks.


def test_neither_chunks_nor_threads_change_a_byte(files, model, tmp_path, monkeypatch):
    expected = None
    for chunk, threads in ((4096, "1"), (7, "1"), (7, "3"), (1, "2")):
        monkeypatch.setattr("dualign.hmm.encoding.CHUNK", chunk)
        outputs = [str(tmp_path / name) for name in ("links", "p", "scores")]
        arguments = ["-o", outputs[0], "--probabilities", outputs[1], "--scores", outputs[2]]
        arguments += ["--model", model, "--threads", threads, "--quiet"]
        assert run(["align", *reversed(files), *arguments]) == 0
        found = [Path(path).read_bytes() for path in outputs]
        expected = expected or found
        assert found == expected


def test_what_is_wrong_in_the_middle_of_a_stream_leaves_no_links(files, model, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dualign.hmm.encoding.CHUNK", 16)
    whole = gzip.compress(Path(files[0]).read_bytes())
    cut, short, bad = tmp_path / "cut.gz", tmp_path / "short", tmp_path / "bad"
    cut.write_bytes(whole[: len(whole) // 2])
    short.write_text("".join(f"{line}\n" for line in SOURCE[:-3]), "utf-8")
    bad.write_bytes(b"".join(b"\xff\n" if n == 70 else f"{x}\n".encode() for n, x in enumerate(SOURCE)))
    for path, message in (
        (cut, "corrupt or truncated compressed data"),
        (short, f"has {LINES - 3} lines but"),
        (bad, f"{bad}:71: invalid UTF-8"),
    ):
        shown = failure(
            capsys, str(path), files[1], "--model", model, "-o", str(tmp_path / "links"), "--threads", "3"
        )
        assert message in shown
        assert str(path) in shown
        assert sorted(os.listdir(tmp_path)) == ["bad", "cut.gz", "short"]


def test_a_very_long_line_among_others(files, model, tmp_path, capsys):
    source, target = [*SOURCE[:5], "das " * 100_000, *SOURCE[5:9]], [*TARGET[:5], "the " * 150, *TARGET[5:9]]
    pair = write_lines(tmp_path / "s", source), write_lines(tmp_path / "t", target)
    assert run(["align", *pair, "--model", model, "--threads", "2"]) == 0
    shown = capsys.readouterr()
    assert "1 pair is too long to align" in shown.err
    lines = shown.out.split("\n")
    assert lines[5] == ""
    assert len(lines) == 11


def test_an_empty_text_gives_an_empty_archive(model, tmp_path):
    empty = write_lines(tmp_path / "e", [])
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        out = str(tmp_path / f"links{suffix}")
        assert run(["align", empty, empty, "--model", model, "-o", out, "--quiet"]) == 0
        with open_input(out) as stream:
            assert stream.read() == b""


def test_tuning_on_the_first_lines_of_a_pipe(files, model, tmp_path):
    gold = write_lines(tmp_path / "gold", GOLD)
    text = "".join(f"{line}\n" for line in SOURCE)
    options = ["--model", model, "--tune", gold, "--quiet"]
    piped = dualign("align", "-", files[1], *options, stdin=text)
    assert piped.returncode == 0
    assert piped.stdout == dualign("align", *files, *options).stdout


@pytest.mark.parametrize(
    ("chosen", "note"),
    [
        ([3, 10, 30], "nothing is tuned by them: 3 of the pairs have any, and it takes 20"),
        ([*range(5, 25)], "tuned on 20 pairs: threshold"),
    ],
)
def test_corrections_are_kept_to_in_training_and_set_the_threshold(files, tmp_path, chosen, note, capsys):
    path = write_lines(tmp_path / "corrections", [f"{n + 1}\t{GOLD[n]}" for n in chosen])
    outputs = [str(tmp_path / "links"), str(tmp_path / "model")]
    assert (
        run(["align", *files, "--gold", path, "-o", outputs[0], "--save", outputs[1], "--rounds", "2"]) == 0
    )
    assert note in (shown := capsys.readouterr().err)
    assert ("tuned on" in shown) == (len(chosen) >= 20)
    expected = Aligner(threads=1, rounds=2).fit(
        (SOURCE, TARGET), gold={n: parse_pharaoh(GOLD[n]) for n in chosen}
    )
    found = Aligner.load(outputs[1])
    assert (found.model.lexicon.table == expected.model.lexicon.table).all()
    assert run(["evaluate", outputs[0], path, "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("AER")
    piped = dualign(
        "align",
        "-",
        "--gold",
        path,
        *FAST,
        stdin="".join(f"{s} ||| {t}\n" for s, t in zip(SOURCE, TARGET, strict=True)),
    )
    assert piped.stdout == Path(outputs[0]).read_text()


def test_a_correction_may_say_that_a_pair_has_no_links(files, tmp_path):
    path = write_lines(tmp_path / "corrections", ["2\t"])
    model = str(tmp_path / "model")
    assert run(["train", *files, model, "--gold", path, "--rounds", "2", "--quiet"]) == 0
    expected = Aligner(threads=1, rounds=2).fit((SOURCE, TARGET), gold={1: parse_pharaoh("")})
    assert (Aligner.load(model).model.lexicon.table == expected.model.lexicon.table).all()
    assert Aligner.load(model).options.threshold == Aligner().options.threshold


@pytest.mark.parametrize(
    ("arguments", "gold", "code", "message"),
    [
        (["--tune", "g"], "1\t0-0\n", 2, "--gold tunes by its links itself"),
        (["--model", "m"], "1\t0-0\n", 2, "--gold is for training"),
        ([], "9999\t0-0\n", 1, "links of line 9999, but the input has 120 lines"),
        ([], "1\t0-99\n", 1, "pair 1: link 0-99 is outside the pair"),
        (["--early-stop"], "1\t\n", 1, "nothing to tune by"),
        (["--model-type", "ibm1"], "1\t0-0\n", 2, "known links are for the HMM"),
    ],
)
def test_corrections_that_cannot_be_used_are_told(files, tmp_path, arguments, gold, code, message, capsys):
    path = tmp_path / "corrections"
    path.write_text(gold)
    assert message in failure(capsys, *files, "--gold", str(path), *arguments, code=code)


@pytest.fixture
def halves(files, tmp_path) -> list[str]:
    """The first forty pairs of the text, and the others."""
    parts = []
    for begin, end in ((0, 40), (40, LINES)):
        for side, lines in (("source", SOURCE), ("target", TARGET)):
            parts.append(write_lines(tmp_path / f"{begin}.{side}", lines[begin:end]))
    return parts


@pytest.mark.parametrize(("given", "times"), [([], 4), (["--background-ratio", "1"], 1)])
def test_background_is_learnt_from_and_not_aligned(halves, tmp_path, given, times, capsys):
    expected = align(
        times * SOURCE[:40] + SOURCE[40:], times * TARGET[:40] + TARGET[40:], threads=1, rounds=2
    )
    for threads in ("1", "3"):
        command = ["align", *halves[:2], "--background", *halves[2:], "--rounds", "2", "--threads", threads]
        assert run([*command, *given]) == 0
        shown = capsys.readouterr()
        assert shown.out == "".join(f"{alignment}\n" for alignment in expected[:40])
        counts = f"; each of the text's counts like {times} of it" if times > 1 else ""
        assert f"background: 80 pairs{counts}\n" in shown.err
    model = str(tmp_path / "model")
    assert run(["train", *halves[:2], model, "--background", *halves[2:], *given, *FAST]) == 0
    assert run(["align", *halves[:2], "--model", model, "--quiet"]) == 0
    assert capsys.readouterr().out == shown.out


def test_known_links_are_kept_to_in_every_copy_of_the_text(halves, tmp_path):
    gold = write_lines(tmp_path / "gold.tsv", ["1\t0-0", "3\t0-0 1-1"])
    first = str(tmp_path / "first")
    command = ["train", *halves[:2], first, "--background", *halves[2:], "--background-ratio", "2"]
    assert run([*command, "--gold", gold, *FAST]) == 0
    pairs = list(zip(2 * SOURCE[:40] + SOURCE[40:], 2 * TARGET[:40] + TARGET[40:], strict=True))
    known = {0: parse_pharaoh("0-0"), 2: parse_pharaoh("0-0 1-1")}
    both = Aligner(threads=1, rounds=2).fit(pairs, gold=known | {n + 40: known[n] for n in known})
    assert (Aligner.load(first).model.lexicon.table == both.model.lexicon.table).all()


def test_nothing_to_learn_gives_as_many_empty_lines_as_the_text_has(tmp_path, capsys):
    three, two = write_lines(tmp_path / "three", ["", "", ""]), write_lines(tmp_path / "two", ["", ""])
    assert run(["align", three, three, "--background", two, two, "--background-ratio", "5"]) == 0
    assert capsys.readouterr().out == "\n\n\n"


def test_what_of_a_background_is_not_learnt_from_is_told(files, tmp_path, capsys):
    other = [write_lines(tmp_path / side, ["", "a b", "a " * 150]) for side in "st"]
    assert run(["align", *files, "--background", *other, "-o", str(tmp_path / "links"), "--rounds", "2"]) == 0
    shown = capsys.readouterr().err
    assert "2 pairs of the background not learnt from: an empty side, or more than 100 words" in shown
    assert "they are used for training anyway" not in shown


def test_background_that_cannot_be_used_is_told(files, halves, model, tmp_path, capsys):
    background = ["--background", *halves[2:]]
    message = failure(capsys, *files, "--model", model, *background, code=2)
    assert "background text is for training, but a saved model is given" in message
    assert "--background-ratio 2 needs --background" in failure(
        capsys, *files, "--background-ratio", "2", code=2
    )
    assert "background-ratio" in failure(capsys, *files, *background, "--background-ratio", "0", code=2)
    assert "no such file" in failure(capsys, *files, "--background", halves[2], str(tmp_path / "none"))
    assert "80 lines" in failure(capsys, *files, "--background", halves[2], halves[1])
    assert "only one file can be standard input" in failure(
        capsys, files[0], "-", "--background", halves[2], "-", code=2
    )
    overwritten = failure(capsys, *files, *background, "-o", halves[2], code=2)
    assert halves[2] in overwritten


@pytest.fixture
def matrices(tmp_path) -> str:
    """Similarities of the words of the first 30 pairs, in the format of --posteriors."""
    random = np.random.default_rng(1)
    sizes = [(len(s.split()), len(t.split())) for s, t in zip(SOURCE[:30], TARGET[:30], strict=True)]
    path = str(tmp_path / "similar.npz")
    np.savez(path, *(random.uniform(0, 1, size) for size in sizes))
    return path


@pytest.mark.parametrize("weight", [4.0, 1.5])
def test_similarities_are_evidence_in_training_and_aligning(
    files, matrices, tmp_path, weight, expected, capsys
):
    pairs = [(s.split(), t.split()) for s, t in zip(SOURCE, TARGET, strict=True)]
    text = numbered(pairs, True).with_similarities([m for _, m in read_matrices(matrices)], weight)
    aligner = Aligner(threads=1, rounds=2).fit(text)
    links = "".join(f"{alignment}\n" for alignment in aligner.align(text))
    assert links != expected
    given = ["--similarity", matrices, *([] if weight == 4 else ["--similarity-weight", str(weight)])]
    for threads in ("1", "3"):
        assert run(["align", *files, *given, *FAST, "--threads", threads]) == 0
        assert capsys.readouterr() == (links, "")
    model = str(tmp_path / "model")
    assert run(["train", *files, model, *given, *FAST]) == 0
    assert (Aligner.load(model).model.lexicon.table == aligner.model.lexicon.table).all()


def test_tuning_sees_the_similarities(files, matrices, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    found = str(tmp_path / "links")
    assert run(["align", *files, "--similarity", matrices, "--tune", gold, "--rounds", "2", "-o", found]) == 0
    told = capsys.readouterr().err
    assert "tuned on 40 pairs: threshold" in told
    areas = dict(re.findall(r"(\d): (0\.\d+)", told.partition("by weight: ")[2].partition("\n")[0]))
    assert list(areas) == ["1", "2", "4", "8"]
    assert f"similarity weight {max(areas, key=areas.__getitem__)};" in told
    links, truth = (list(read_links(path, "pharaoh"))[:40] for path in (found, gold))
    untuned = str(tmp_path / "untuned")
    assert run(["align", *files, "--similarity", matrices, *FAST, "-o", untuned]) == 0
    assert evaluate(links, truth).aer <= evaluate(list(read_links(untuned, "pharaoh"))[:40], truth).aer


def test_a_weight_is_tuned_with_similarities_from_a_pipe_and_with_all_that_is_known(files, tmp_path):
    gold = write_lines(tmp_path / "gold.conll", GOLD)  # whatever it is called, it is not a text
    rows = [
        json.dumps([[0.1] * len(t.split()) for _ in s.split()])
        for s, t in zip(SOURCE[:30], TARGET[:30], strict=True)
    ]
    given = ["align", *files, "--similarity", "-", "--tune", gold, "--background", *files, *FAST[:2]]
    ended = dualign(*given, stdin="".join(f"{row}\n" for row in rows))
    assert ended.returncode == 0, ended.stderr
    assert len(ended.stdout.splitlines()) == LINES
    assert "similarities: trying weights 1, 2, 4, 8, a training for each" in ended.stderr


def test_a_cluster_refuses_similarities_before_the_work(files, matrices, tmp_path, capsys):
    pytest.importorskip("distributed")
    gold = write_lines(tmp_path / "gold", GOLD)
    work = ["--cluster", "local:1", "--work", str(tmp_path / "work"), "-o", str(tmp_path / "links")]
    assert run(["align", *files, "--similarity", matrices, "--tune", gold, *work]) == 2
    told = capsys.readouterr().err
    assert "a cluster does not know similarities" in told
    assert "trying" not in told


def test_similarities_that_cannot_be_used_are_told(files, matrices, model, tmp_path, capsys):
    given = [*files, "--similarity", matrices]
    assert "leave the saved model out" in failure(capsys, *given, "--model", model, code=2)
    assert "leave out the tokens, and positions" in failure(capsys, *given, "--positions", "words", code=2)
    assert "--similarity-weight 2.0 needs --similarity" in failure(
        capsys, *files, "--similarity-weight", "2", code=2
    )
    assert "--similarity-weight 50.0 must be" in failure(capsys, *given, "--similarity-weight", "50", code=2)
    assert "for the HMM" in failure(capsys, *given, "--model-type", "ibm1", code=2)
    assert "no such file" in failure(capsys, *files, "--similarity", str(tmp_path / "none.npz"))
    assert "pair 1 has" in failure(capsys, *reversed(files), "--similarity", matrices)
    assert "not an archive" in failure(
        capsys, *files, "--similarity", write_lines(tmp_path / "bad.npz", ["x"])
    )
    nothing = str(tmp_path / "nothing.npz")
    np.savez(nothing)
    assert "nothing.npz: no matrices" in failure(capsys, *files, "--similarity", nothing)
    few = [write_lines(tmp_path / "few.de", SOURCE[:9]), write_lines(tmp_path / "few.en", TARGET[:9])]
    assert "a matrix too many" in failure(capsys, *few, "--similarity", matrices)
    assert run(["train", *files, str(tmp_path / "m"), "--similarity", matrices, "--sample", "50"]) == 2
    assert "but a sample is drawn" in capsys.readouterr().err
