"""Where compiled kernels are kept: in the right folder, found again by content, and not for ever."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualign._core import jit as folders

PACKAGE = Path(folders.__file__).parents[1]

PROGRAM = """
import numpy as np
from dualign._core.jit import kernel, kernel_folder

@kernel
def doubled(x):
    return 2 * x

print(doubled(np.arange(3)).tolist(), len(list(kernel_folder().iterdir())), kernel_folder())
"""


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """No variable that names a folder for kernels; nothing is remembered from before, or afterwards."""
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(folders, "temporary_folders", [])
    forget()
    yield monkeypatch
    forget()


def forget():
    for function in (
        folders.kernel_folder, folders.sources_digest, folders.digest_and_imports
    ):  # fmt: skip
        function.cache_clear()


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "HOME", ".cache/dualign/kernels"),
        ("linux", "XDG_CACHE_HOME", "dualign/kernels"),
        ("linux", "NUMBA_CACHE_DIR", "dualign"),
        ("darwin", "HOME", "Library/Caches/dualign/kernels"),
        ("win32", "LOCALAPPDATA", "dualign/Cache/kernels"),
    ],
)
def test_each_platform_has_its_place(environment, tmp_path, platform, variable, expected):
    environment.setattr(sys, "platform", platform)
    environment.setenv(variable, str(tmp_path))
    assert folders.kernel_folder() == tmp_path / expected


def test_a_folder_that_cannot_be_made_is_passed_over(environment, tmp_path):
    (tmp_path / "file").write_text("")
    environment.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    environment.setenv("HOME", str(tmp_path))
    assert folders.kernel_folder() == tmp_path / ".cache/dualign/kernels"


@pytest.mark.parametrize("filled", [True, False])
def test_a_folder_that_can_only_be_read_serves_if_there_is_something_in_it(environment, tmp_path, filled):
    image = tmp_path / "image" / "dualign"
    image.mkdir(parents=True)
    if filled:
        (image / "kernel").write_text("")
    environment.setattr(os, "access", lambda place, mode: Path(place) != image)
    environment.setenv("NUMBA_CACHE_DIR", str(image.parent))
    environment.setenv("HOME", str(tmp_path))
    assert (folders.kernel_folder() == image) == filled


def test_without_a_home_one_temporary_folder_is_shared_and_removed(environment, tmp_path, caplog):
    environment.setattr("tempfile.tempdir", str(tmp_path))
    place = folders.kernel_folder()
    assert caplog.text.count("every run compiles them again") == 1
    child = folders.with_kernel_folder({"PATH": "/bin"})
    assert child == {"PATH": "/bin", "NUMBA_CACHE_DIR": str(place.parent)}
    folders.remove_temporary_kernels()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_the_users_is_not_removed_and_not_passed_on(environment, tmp_path):
    environment.setenv("HOME", str(tmp_path))
    place = folders.kernel_folder()
    environment.delenv("HOME")
    folders.remove_temporary_kernels()
    assert place.is_dir()
    assert folders.with_kernel_folder({}) == {}


def test_a_process_without_a_home_warns_and_leaves_nothing_behind(tmp_path):
    (program := tmp_path / "program.py").write_text(PROGRAM)
    (temporary := tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, str(program)],
        env={"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"[0, 2, 4] 1 {temporary}")
    assert done.stderr.count("no folder to keep compiled kernels in") == 1
    assert list(temporary.iterdir()) == []


def copied_package(environment, tmp_path, name):
    """A copy of a few of our sources, with other time stamps, as the package."""
    copy = tmp_path / name
    (copy / "_core").mkdir(parents=True)
    for file in ("__init__.py", "_core/__init__.py", "_core/jit.py", "_core/errors.py"):
        shutil.copyfile(PACKAGE / file, copy / file)
    environment.setattr(folders, "PACKAGE", copy)
    forget()
    return copy


def test_the_digest_of_a_file_does_not_depend_on_its_place(environment, tmp_path):
    digests = set()
    for name in ("z", "a"):
        copy = copied_package(environment, tmp_path, name)
        digests.add(folders.sources_digest(str(copy / "_core" / "jit.py")))
    assert len(digests) == 1


def test_what_nobody_has_read_for_a_month_is_removed(environment, tmp_path):
    environment.setenv("HOME", str(tmp_path))
    place = folders.kernel_folder()
    former = place.parent / "kernels-0123456789abcdef" / "a" / "entry"
    former.parent.mkdir(parents=True)
    now = 1_700_000_000
    ages = {place / "new": 0, place / "used": 20, place / "unused": 40, former: 40}
    for path, days in ages.items():
        path.write_text("")
        os.utime(path, (now - 86400 * days, now - 86400 * max(days, 60 * (path.name == "used"))))
    folders.remove_unused()
    assert sorted(path.name for path in place.iterdir()) == ["new", "used"]
    assert not former.exists()


def test_an_edit_to_an_imported_module_changes_the_digest(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "PACKAGE", tmp_path)
    for name, text in (
        ("a", "from dualign.b import f\n"),
        ("b", "from dualign import c\n"),
        ("c", "x = 1\n"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "__init__.py").write_text("")
    before = folders.sources_digest(str(tmp_path / "a.py"))
    for function in (folders.sources_digest, folders.digest_and_imports):
        function.cache_clear()
    assert folders.sources_digest(str(tmp_path / "a.py")) == before
    for function in (folders.sources_digest, folders.digest_and_imports):
        function.cache_clear()
    (tmp_path / "c.py").write_text("x = 2\n")
    assert folders.sources_digest(str(tmp_path / "a.py")) != before
