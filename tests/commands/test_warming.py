"""What is compiled ahead can be run: a mistake in it would be silent, and every start slow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dualign.commands import warming


@pytest.mark.parametrize(
    "name", ["learning", "chains", "lines", "paths", "matchings", "agreement", "extraction", "phrases"]
)
def test_kernels_are_compiled_ahead_without_an_error(name):
    warming._compile(name)


APART = """
from dualign._core.jit import kernel_folder
from dualign.commands import warming
notes = []
warming.available = lambda: 2
for _ in range(2):
    warming.compile_kernels(notes.append, "cutting", "lines")
names = sorted(path.name.partition("-")[0] for path in kernel_folder().iterdir())
print(len(notes), *names)
"""


@pytest.mark.slow
def test_two_processes_share_a_temporary_folder_that_is_then_removed(tmp_path):
    environment = {"TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", APART], env=environment, capture_output=True, text=True, check=True
    )
    notes, *names = done.stdout.split()
    assert notes == "2"  # it begins, and it has ended; the second time there is nothing to do
    assert {"simple_tokenizer", "blocks"} <= {name.partition(".")[0] for name in names}
    assert done.stderr.count("no folder to keep compiled kernels in") == 1
    assert list(tmp_path.iterdir()) == []


def test_work_is_shared_out_evenly():
    assert warming._shared_out(["learning", "cutting", "chains"], 2) == [["chains"], ["learning", "cutting"]]
    assert warming._shared_out(["translation-exact"], 4) == [["translation-exact"]]


def test_what_fails_in_another_process_is_compiled_where_it_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(warming, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(warming, "available", lambda: 2)
    monkeypatch.setattr(warming, "_compile_apart", lambda groups: False)
    notes: list[str] = []
    warming.compile_kernels(notes.append, "cutting", "lines")
    assert [note.split()[0] for note in notes] == ["compiling"]
    assert list(tmp_path.iterdir()) == []


def test_kernels_that_were_all_in_the_cache_are_not_said_to_be_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(warming, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(warming, "_compile", lambda name: None)
    monkeypatch.setattr(warming, "available", lambda: 1)
    notes: list[str] = []
    warming.compile_kernels(notes.append, "cutting", "lines")
    assert [note.split()[0] for note in notes] == ["compiling"]
