"""What is compiled ahead can be run: a mistake in it would be silent, and every start slow."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dualign._core import jit
from dualign._core.jit import kernel_folder
from dualign.commands import warming


@pytest.mark.parametrize(
    "name",
    [*(name for name in warming.KERNELS if name != "translation"), "translation-exact", "translation-cube"],
)
def test_the_work_that_needs_kernels_can_be_done(name):
    warming._compile([name])


def test_work_that_is_done_ahead_compiles_nothing_ahead_itself(monkeypatch):
    asked = []
    monkeypatch.setattr(warming, "not_compiled", lambda names: asked.extend(names) or {})
    warming._compile(["learning", "lines"])
    assert asked == []


@pytest.mark.slow
def test_the_default_run_finds_all_but_a_few_kernels_that_were_compiled_ahead(tmp_path):
    """Training and aligning in a process of its own: the costly kernels are there."""
    environment = dict(os.environ) | {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    ahead = "from dualign.commands import warming; warming.compile_kernels(print, *warming.WORD_ALIGNER)"
    subprocess.run([sys.executable, "-c", ahead], env=environment, check=True)
    before = {path.name for path in (tmp_path / "dualign").iterdir()}
    run = "from dualign.text.samples import sample; from dualign import align; align(*sample()[:2])"
    subprocess.run([sys.executable, "-c", run], env=environment, check=True)
    new = {path.name for path in (tmp_path / "dualign").iterdir()} - before
    assert {name.partition("-")[0].rpartition(".")[2] for name in new} <= {
        "add_counts",
        "add_null_counts",
        "pool",
        "smooth",
        "divide_entries",
    }


APART = """
from dualign._core.jit import kernel_folder
from dualign.commands import warming
notes = []
warming.available = lambda: 2
for _ in range(2):
    warming.compile_kernels(notes.append, "cutting", "cluster")
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
    assert {"simple_tokenizer", "tasks"} <= {name.partition(".")[0] for name in names}
    assert done.stderr.count("no folder to keep compiled kernels in") == 1
    assert list(tmp_path.iterdir()) == []


def test_work_is_shared_out_evenly():
    assert warming._shared_out(["learning", "cutting", "chains"], 2) == [["chains"], ["learning", "cutting"]]
    assert warming._shared_out(["translation-exact"], 4) == [["translation-exact"]]


def test_one_process_has_all_that_needs_the_posteriors():
    groups = warming._shared_out(["agreement", "learning", "lines", "chains"], 4)
    assert groups == [["chains", "agreement", "lines"], ["learning"]]


def test_what_fails_in_another_process_is_compiled_where_it_is_used(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(warming, "available", lambda: 2)
    monkeypatch.setattr(warming, "_compile_apart", lambda groups: False)
    notes: list[str] = []
    warming.compile_kernels(notes.append, "cutting", "learning")
    assert [note.split()[0] for note in notes] == ["compiling"]
    assert list(tmp_path.iterdir()) == []


def test_kernels_that_were_all_in_the_cache_are_not_said_to_be_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "kernel_folder", lambda: tmp_path)
    monkeypatch.setattr(warming, "_compile", lambda names: None)
    monkeypatch.setattr(warming, "remove_unused", lambda: None)
    monkeypatch.setattr(warming, "available", lambda: 1)
    notes: list[str] = []
    for _ in range(2):
        warming.compile_kernels(notes.append, "cutting", "lines")
    assert [note.split()[0] for note in notes] == ["compiling"]


def test_an_edit_is_compiled_again_and_other_versions_are(monkeypatch, tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(jit, "PACKAGE", tmp_path)
    jit._state.cache_clear()
    names = {*jit.not_compiled(["job"]).values(), *jit.not_compiled(["job"]).values()}
    jit._state.cache_clear()
    (tmp_path / "b.py").write_text("edited = True\n")
    names |= {*jit.not_compiled(["job"]).values()}
    monkeypatch.setattr(jit, "versions", lambda: "others")
    names |= {*jit.not_compiled(["job", "other"]).values()}
    jit._state.cache_clear()
    assert len(names) == 4
    assert all(name.parent == kernel_folder() for name in names)
