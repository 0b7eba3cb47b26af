"""`dualign train`: a model that is written whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.commands.bitexts import GOLD, SOURCE, TARGET, write_bitext, write_lines
from tests.commands.command import INTERRUPTIBLE, environment

from dualign.aligner import Aligner
from dualign.commands.cli import run
from dualign.text.checks import number_of

FAST = ["--rounds", "2", "--quiet"]


@pytest.fixture
def files(tmp_path) -> list[str]:
    return list(write_bitext(tmp_path))


def test_the_model_is_the_librarys(files, tmp_path, capsys):
    assert run(["train", *files, str(tmp_path / "model"), *FAST]) == 0
    assert capsys.readouterr() == ("", "")
    Aligner(threads=1, rounds=2).fit((SOURCE, TARGET)).save(tmp_path / "library")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "library").read_bytes()


def test_one_file_with_both_sides_gives_the_same_model(files, tmp_path):
    both = write_lines(tmp_path / "both", [f"{s} ||| {t}" for s, t in zip(SOURCE, TARGET, strict=True)])
    assert run(["train", *files, str(tmp_path / "a"), *FAST]) == 0
    assert run(["train", both, str(tmp_path / "b"), "--threads", "7", *FAST]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("kind", ["hmm", "ibm1", "ibm2"])
def test_every_model_can_be_trained_and_used(files, tmp_path, kind, capsys):
    model = str(tmp_path / "model")
    assert run(["train", *files, model, "--model-type", kind, *FAST]) == 0
    assert Aligner.load(model).options.model == kind
    assert run(["align", *files, "--model", model, "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SOURCE)


def test_rounds_are_reported_unless_quiet(files, tmp_path, capsys):
    assert run(["train", *files, str(tmp_path / "model"), "--rounds", "2"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "IBM 1 round 2/2: log-likelihood" in shown.err
    assert "HMM round 2/2: log-likelihood" in shown.err
    assert "bits per word" in shown.err


def test_tuning_is_kept_in_the_model(files, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    options = ["--tune", gold, "--rounds", "2", "--set", "threshold=0.95"]
    assert run(["train", *files, str(tmp_path / "model"), *options]) == 0
    assert "tuned on 40 pairs: threshold" in capsys.readouterr().err
    assert Aligner.load(tmp_path / "model").options.threshold < 0.95


@pytest.mark.parametrize("count", [1, 4])
def test_a_wrong_number_of_files_is_wrong_usage(files, count, capsys):
    assert run(["train", *(files * 2)[:count]]) == 2
    assert f"{number_of(count, 'files')} named; write SOURCE TARGET -o MODEL" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "model.gz"])
def test_a_name_that_no_model_can_have_is_refused(files, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["train", *files, name, *FAST]) == 2
    assert ("name a file" if name == "-" else "not compressed") in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["text.de", "text.en"]


def test_bad_data_leaves_the_old_model(files, tmp_path, capsys):
    model = tmp_path / "model"
    model.write_bytes(b"DUALIGN\0 old")
    shorter = write_lines(tmp_path / "shorter", TARGET[:-1])
    assert run(["train", files[0], shorter, str(model), *FAST]) == 1
    assert f"has {len(SOURCE)} lines but {shorter} has {len(SOURCE) - 1}" in capsys.readouterr().err
    assert model.read_bytes() == b"DUALIGN\0 old"
    assert run(["train", *files, str(tmp_path / "no" / "model"), *FAST]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert run(["train", *files, str(tmp_path)]) == 1
    # At once: not a round has been reported.
    assert capsys.readouterr().err == f"dualign: error: {tmp_path}: is a directory; name a file to write\n"


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_during_training_leaves_the_old_model_and_nothing_else(tmp_path: Path, threads: str):
    files = [write_lines(tmp_path / "s", SOURCE * 20), write_lines(tmp_path / "t", TARGET * 20)]
    model = tmp_path / "model"
    model.write_bytes(b"DUALIGN\0 old")
    command = [*INTERRUPTIBLE, "train", *files, str(model), "--rounds", "1000", "--threads", threads]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "HMM round 3/" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err.endswith("dualign: interrupted\n")
    assert "Traceback" not in err
    assert model.read_bytes() == b"DUALIGN\0 old"
    assert sorted(os.listdir(tmp_path)) == ["model", "s", "t"]


# Samples, memory and scratch files.


def test_a_sample_is_learnt_from_as_if_it_were_the_text(files, tmp_path, capsys):
    from dualign.text.sampling import keys_of

    keys = keys_of(0, len(SOURCE), 3)
    chosen = sorted(sorted(range(len(SOURCE)), key=lambda n: keys[n])[:50])
    small = [
        write_lines(tmp_path / str(n), [side[k] for k in chosen]) for n, side in enumerate((SOURCE, TARGET))
    ]
    assert run(["train", *small, str(tmp_path / "expected"), *FAST]) == 0
    both = write_lines(tmp_path / "both", [f"{s}\t{t}" for s, t in zip(SOURCE, TARGET, strict=True)])
    for inputs, threads in ((files, "1"), (files, "3"), ([both], "2")):
        model = tmp_path / "model"
        arguments = [*inputs, str(model), "--sample", "50", "--seed", "3", "--threads", threads]
        assert run(["train", *arguments, "--scratch", str(tmp_path), *FAST]) == 0
        assert model.read_bytes() == (tmp_path / "expected").read_bytes()
    names = {"0", "1", "both", "expected", "model", *(Path(path).name for path in files)}
    assert set(os.listdir(tmp_path)) == names


def test_another_seed_draws_another_sample(files, tmp_path):
    for seed in ("0", "1"):
        arguments = [*files, str(tmp_path / seed), "--sample", "0.05k", "--seed", seed]
        assert run(["train", *arguments, *FAST]) == 0
    assert (tmp_path / "0").read_bytes() != (tmp_path / "1").read_bytes()


def test_a_sample_larger_than_the_text_is_the_text(files, tmp_path, capsys):
    assert run(["train", *files, str(tmp_path / "a"), "--sample", "1M", "--rounds", "2"]) == 0
    assert f"the text has only {len(SOURCE)} pairs; the sample is the whole text" in capsys.readouterr().err
    assert run(["train", *files, str(tmp_path / "b"), *FAST]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tuning_with_a_sample_is_by_the_first_lines_of_the_text(files, tmp_path, capsys):
    gold = write_lines(tmp_path / "gold", GOLD)
    arguments = [*files, str(tmp_path / "model"), "--tune", gold, "--sample", "60", "--rounds", "2"]
    assert run(["train", *arguments]) == 0
    assert f"tuned on {len(GOLD)} pairs" in capsys.readouterr().err


def test_bad_bytes_outside_the_sample_are_noticed(files, tmp_path, capsys):
    bad = tmp_path / "bad"
    bad.write_bytes(Path(files[0]).read_bytes().replace(b"\n", b"\xff\n"))
    assert run(["train", str(bad), files[1], str(tmp_path / "model"), "--sample", "2", "--quiet"]) == 1
    assert f"{bad}:1: invalid UTF-8" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("verb", ["train", "align"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--memory", "much"], "--memory much: 'much' is not a size"),
        (["--memory", "0"], "--memory 0 must be more than nothing"),
        (["--scratch", "/no/such/folder"], "--scratch /no/such/folder: there is no such folder"),
    ],
)
def test_room_that_cannot_be_had_is_refused_before_the_work(
    files, tmp_path, verb, arguments, message, capsys
):
    output = [str(tmp_path / "out")] if verb == "train" else ["-o", str(tmp_path / "out")]
    assert run([verb, *files, *output, *arguments]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "round" not in shown


def test_a_scratch_folder_that_cannot_be_written_is_refused(files, tmp_path, monkeypatch, capsys):
    scratch = str(tmp_path / "scratch")
    os.mkdir(scratch)
    # Who runs the tests may be allowed everything.
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != scratch)
    assert run(["train", *files, str(tmp_path / "model"), "--scratch", scratch]) == 2
    assert "no permission to write there" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["none", "0", "1.5", "-2"])
def test_what_is_no_sample_is_refused(files, tmp_path, wrong, capsys):
    assert run(["train", *files, str(tmp_path / "model"), f"--sample={wrong}"]) == 2
    assert f"--sample {wrong}" in capsys.readouterr().err


def test_memory_changes_no_byte(files, tmp_path):
    for name, more in (("a", []), ("b", ["--memory", "300M", "--scratch", str(tmp_path)])):
        assert run(["train", *files, str(tmp_path / name), *FAST, *more]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_text_is_not_overwritten_by_a_model(files, tmp_path, capsys):
    text = tmp_path / "corpus.en"
    text.write_text("a text\n")
    assert run(["train", *files, str(text)]) == 2
    assert (
        "is not a model and would be overwritten; name the model with --output MODEL"
        in capsys.readouterr().err
    )
    assert text.read_text() == "a text\n"
    for _ in range(2):  # a model may be replaced
        assert run(["train", *files, "-o", str(tmp_path / "model"), "--rounds", "0", "-q"]) == 0
