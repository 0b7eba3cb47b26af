"""`dualign compile`, and commands that have no place for compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.commands.command import DUALIGN, write

from dualign._core.jit import kernel_folder
from dualign.commands import warming
from dualign.commands.cli import run


def test_compile_prints_the_folder_of_the_kernels(capsys):
    assert run(["compile", "--quiet"]) == 0
    assert capsys.readouterr().out == f"{kernel_folder()}\n"


@pytest.mark.parametrize(
    ("arguments", "some", "others"),
    [
        ([], {"chains", "learning", "lines"}, {"phrases"}),
        (["--all"], {"phrases", "translation-exact"}, {"translation"}),
    ],
)
def test_compile_asks_for_the_right_kernels(monkeypatch, arguments, some, others):
    asked: list[str] = []
    monkeypatch.setattr(warming, "compile_kernels", lambda note, *names: asked.extend(names))
    assert run(["compile", *arguments]) == 0
    assert some <= set(asked)
    assert not others & set(asked)


@pytest.mark.slow
def test_without_a_home_a_command_warns_and_leaves_nothing_behind(tmp_path):
    links = write(tmp_path / "links", "0-0 1-1\n")
    (temporary := tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [*DUALIGN, "symmetrize", links, links, "-o", str(tmp_path / "both")],
        env={"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no folder to keep compiled kernels in") == 1
    assert (tmp_path / "both").read_text() == "0-0 1-1\n"
    assert list(temporary.iterdir()) == []
