"""`dualign train`: a model that is written whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.bitexts import GOLD, SOURCE, TARGET, write_bitext, write_lines
from tests.cli.command import INTERRUPTIBLE, environment

from dualign.aligner import Aligner
from dualign.cli.main import run

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
    assert "IBM 1 round 2/2: objective" in shown.err
    assert "HMM round 2/2: objective" in shown.err
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
    assert f"{count} files named; write SOURCE TARGET MODEL" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "model.gz"])
def test_a_model_that_could_not_be_mapped_is_refused(files, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["train", *files, name, *FAST]) == 2
    assert "memory-mapped" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["text.de", "text.en"]


def test_bad_data_leaves_the_old_model(files, tmp_path, capsys):
    model = tmp_path / "model"
    model.write_bytes(b"old")
    shorter = write_lines(tmp_path / "shorter", TARGET[:-1])
    assert run(["train", files[0], shorter, str(model), *FAST]) == 1
    assert f"has {len(SOURCE)} lines but {shorter} has {len(SOURCE) - 1}" in capsys.readouterr().err
    assert model.read_bytes() == b"old"
    assert run(["train", *files, str(tmp_path / "no" / "model"), *FAST]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert run(["train", *files, str(tmp_path)]) == 1
    # At once: not a round has been reported.
    assert capsys.readouterr().err == f"dualign: error: {tmp_path}: a directory; name a file to write\n"


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_during_training_leaves_the_old_model_and_nothing_else(tmp_path: Path, threads: str):
    files = [write_lines(tmp_path / "s", SOURCE * 20), write_lines(tmp_path / "t", TARGET * 20)]
    model = tmp_path / "model"
    model.write_bytes(b"old")
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
    assert model.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["model", "s", "t"]
