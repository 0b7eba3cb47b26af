"""No command overwrites what it reads, whatever the names, or writes two things to one place."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.commands.bitexts import write_bitext, write_lines

from dualign._core.files.streams import open_input, open_output
from dualign.commands.cli import run


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a text `s`, `t`, links, scores, and other names for `s`."""
    source, target = write_bitext(tmp_path)
    os.rename(source, tmp_path / "s")
    os.rename(target, tmp_path / "t")
    lines = len((tmp_path / "s").read_text(encoding="utf-8").splitlines())
    write_lines(tmp_path / "links", ["0-0"] * lines)
    np.savez(tmp_path / "scores.npz", np.eye(3))
    os.symlink(tmp_path / "s", tmp_path / "symbolic")
    os.link(tmp_path / "s", tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("align s t -o s", "s"),
        ("align s t -o ./t", "t"),
        ("align s t -o symbolic", "s"),
        ("align s t -o hard", "s"),
        ("align [s] t -o s", "s"),
        ("align s,t s,t -o t", "t"),
        ("align s t -o out --save t", "t"),
        ("align s t -o out --report t", "t"),
        ("align s t -o links --tune links", "links"),
        ("train s t s", "s"),
        ("symmetrize links links -o links", "links"),
        ("decode scores.npz -o scores.npz", "scores.npz"),
        ("phrases extract s t links -o links", "links"),
        ("translate lm s s", "s"),
    ],
)
def test_an_input_is_not_overwritten(place, command, lost, capsys):
    before = (place / lost).read_bytes()
    assert run(command.split()) == 2
    assert "would be lost; name another output" in capsys.readouterr().err
    assert (place / lost).read_bytes() == before
    assert not list(place.glob(".dualign-*"))


def test_a_file_of_a_folder_that_is_read_is_not_overwritten(place, capsys):
    (place / "system").mkdir()
    (place / "system" / "grammar").write_text("rules")
    assert run(["translate", "decode", "system", "s", "-o", "system/grammar"]) == 2
    assert "would be lost; name another output" in capsys.readouterr().err
    assert (place / "system" / "grammar").read_text() == "rules"


def test_two_outputs_in_one_place(place, capsys):
    assert run(["phrases", "extract", "s", "t", "links", "-o", "table", "--reordering", "table"]) == 2
    assert "two outputs are written to the same place, table" in capsys.readouterr().err
    assert not (place / "table").exists()


def test_programs_may_write_what_they_have_read(place):
    """Only a command keeps its files apart."""
    with open_input("s") as stream:
        text = stream.read().decode()
    with open_output("s") as out:
        out.write(text)
    assert (place / "s").read_text(encoding="utf-8") == text


def test_a_file_of_a_folder_or_of_a_list_that_is_read_is_not_overwritten(place, capsys):
    for command in ("decode . -o links", "align s,t links -o t"):
        before = (place / command.split()[-1]).read_bytes()
        assert run(command.split()) == 2
        assert "would be lost" in capsys.readouterr().err
        assert (place / command.split()[-1]).read_bytes() == before


def test_every_output_can_be_named_with_o(tmp_path, capsys):
    links, gold = write_lines(tmp_path / "links", ["0-0"]), write_lines(tmp_path / "gold", ["0-0"])
    source, target = write_lines(tmp_path / "s", ["a"]), write_lines(tmp_path / "t", ["b"])
    out = str(tmp_path / "out")
    for command in (
        ["convert", links, "--to", "talp"],
        ["evaluate", links, gold],
        ["phrases", "evaluate", links, gold],
        ["show", source, target, "-l", links],
        ["translate", "lm", source],
        ["view", source, target, "-l", links],
    ):
        assert run([*command, "-o", out]) == 0, command
        assert Path(out).read_text(encoding="utf-8") != ""
        Path(out).unlink()
    assert capsys.readouterr().out == ""
    # A report does not replace what it is about.
    assert run(["evaluate", links, gold, "-o", gold]) == 2
    assert Path(gold).read_text(encoding="utf-8") == "0-0\n"
    assert run(["convert", links, out, "--to", "talp", "-o", out]) == 2
    assert f"OUT is named twice, {out} and -o {out}; name it once" in capsys.readouterr().err
    assert run(["convert", links, "--to", "talp"]) == 2
    assert "no OUT; name it with -o OUT" in capsys.readouterr().err


def test_names_that_are_not_utf8_are_shown(place):
    """They are legal names of files."""
    name = os.fsdecode(b"s\xff")
    os.rename("s", name)
    for command in (
        ["view", name, "t", "--links", "links", "--html", "page.html"],
        ["summarize", name, "t", "--links", "links", "-o", "page.html"],
    ):
        assert run(command) == 0
        assert "s\ufffd" in Path("page.html").read_text(encoding="utf-8")
