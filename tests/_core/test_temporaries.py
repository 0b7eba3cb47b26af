"""What a killed process leaves beside its outputs is removed by the next one, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from dualign._core.files import atomic as temporaries
from dualign._core.files.atomic import Temporary, temporary_folder

pytest.importorskip("fcntl", reason="this system has no locks")


@pytest.fixture(autouse=True)
def _first_in_its_folder():
    temporaries._clean.cache_clear()


def pass_by(folder) -> None:
    each = Temporary(str(folder / "out"))
    each.file.close()
    each.remove()


def writer_in(folder) -> subprocess.Popen:
    program = f"""
import sys
from dualign._core.files.atomic import Temporary
each = Temporary({str(folder / "out")!r})
print(each.path, flush=True)
sys.stdin.readline()
each.file.close()
each.rename()
"""
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_file_of_a_killed_process_is_removed_by_the_next(tmp_path):
    with writer_in(tmp_path) as process:
        left = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    assert os.path.exists(left)
    pass_by(tmp_path)
    assert os.listdir(tmp_path) == []


def test_file_of_a_living_process_is_kept_until_it_has_its_name(tmp_path):
    with writer_in(tmp_path) as process:
        process.stdout.readline()
        pass_by(tmp_path)
        process.communicate("\n", timeout=60)
    assert (process.returncode, os.listdir(tmp_path)) == (0, ["out"])


def test_files_of_others_are_kept(tmp_path):
    name = os.path.basename(temporaries._new_name(""))
    mine, elsewhere = name[9:15], f"{int(name[9:15], 16) ^ 1:06x}"
    names = {".dualign-x.tmp", name[1:], f"{name}.gz", name.replace(mine, elsewhere)}
    for name in names:
        (tmp_path / name).touch()
    os.mkdir(tmp_path / ".dualign-0123456789abcdef")
    pass_by(tmp_path)
    assert set(os.listdir(tmp_path)) == names | {".dualign-0123456789abcdef"}


def test_file_that_is_removed_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    lock, removed = temporaries._lock, []

    def late(descriptor: int, *, otherwise: bool) -> bool:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        return lock(descriptor, otherwise=otherwise)

    monkeypatch.setattr(temporaries, "_lock", late)
    each = Temporary(str(tmp_path / "out"))
    each.file.close()
    each.rename()
    assert (len(removed), os.listdir(tmp_path)) == (1, ["out"])


def test_lock_lasts_until_the_file_has_its_name(tmp_path):
    each = Temporary(str(tmp_path / "out"))
    each.file.close()
    temporaries._clean.cache_clear()
    pass_by(tmp_path)
    assert os.path.exists(each.path)
    each.remove()
    assert os.listdir(tmp_path) == []


def test_folder_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_is_not(tmp_path):
    program = f"""
import sys
from dualign._core.files.atomic import temporary_folder
with temporary_folder({str(tmp_path)!r}) as folder:
    open(folder + "/file", "w").close()
    print(folder, flush=True)
    sys.stdin.readline()
"""
    words = [sys.executable, "-c", program]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        left = process.stdout.readline().strip()
        with temporary_folder(str(tmp_path)) as mine:
            assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, (left, mine)))
        process.send_signal(signal.SIGKILL)
    assert os.listdir(left) == ["file"]
    temporaries._clean.cache_clear()
    with temporary_folder(str(tmp_path)) as mine:
        assert os.listdir(tmp_path) == [os.path.basename(mine)]
    assert os.listdir(tmp_path) == []
