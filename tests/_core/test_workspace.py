"""Arrays in memory and in scratch files: where they go, what is counted, and what is said when it fails."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualign._core import memory as workspace
from dualign._core.errors import DataError, UsageError
from dualign._core.memory import (
    OWN,
    PER_THREAD,
    SMALL,
    Growing,
    Workspace,
    as_bytes,
    in_words,
    machine_memory,
)

MIB = 1 << 20
LARGE = 4 * MIB


def tight(folder: Path) -> Workspace:
    """One whose budget is smaller than the program itself."""
    return Workspace(1, str(folder))


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1", 1),
        ("512", 512),
        ("4G", 4 << 30),
        ("4 GB", 4 << 30),
        ("4gib", 4 << 30),
        (" 500M ", 500 << 20),
        ("1.5K", 1536),
        ("2t", 2 << 40),
        ("10B", 10),
        ("9" * 30 + "T", int("9" * 30) << 40),
    ],
)
def test_sizes(size: str, expected: int) -> None:
    assert as_bytes(size) == expected


@pytest.mark.parametrize(
    "size",
    [
        "",
        "G",
        "-1",
        "+1",
        "1e9",
        "4X",
        "4 G B",
        "1,5G",
        ".5G",
        "1.G",
        "nan",
        "inf",
        "½",
        "٤G",
        "4G4",
        "9" * 5000,
    ],
)
def test_what_is_not_a_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match=r"is not a size; write it as 4G or 500M"):
        as_bytes(size)


@pytest.mark.parametrize("size", ["0", "0G", "0.0001"])
def test_no_memory_at_all_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="must be more than nothing"):
        Workspace(as_bytes(size))


def test_sizes_in_words() -> None:
    assert [in_words(size) for size in (0, 1023, 1024, 5 * MIB, 3 << 29, 5 << 40)] == [
        "0 bytes",
        "1023 bytes",
        "1 KiB",
        "5 MiB",
        "1.5 GiB",
        "5120.0 GiB",
    ]


@pytest.mark.parametrize("memory", [0, -1])
def test_a_budget_must_be_positive(memory: int) -> None:
    with pytest.raises(UsageError, match=f"memory={memory} must be more than nothing"):
        Workspace(memory)


@given(
    st.one_of(st.integers(0, 40), st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)),
    st.sampled_from([np.int8, np.int32, np.float64, np.bool_, np.uint64]),
    st.booleans(),
)
def test_shape_and_type_are_as_asked(shape: int | tuple[int, ...], dtype: type, hot: bool) -> None:
    room = Workspace()
    expected = np.zeros(shape, dtype)
    for array in (room.empty(shape, dtype, hot=hot), room.zeros(shape, dtype, hot=hot)):
        assert array.shape == expected.shape
        assert array.dtype == expected.dtype
        assert array.flags.c_contiguous
        assert array.flags.writeable
    np.testing.assert_array_equal(room.zeros(shape, dtype, hot=hot), expected)


def test_large_arrays_beyond_half_of_the_budget_are_scratch_files(tmp_path: Path) -> None:
    room = Workspace(OWN + PER_THREAD + 4 * LARGE, str(tmp_path))
    held = [room.empty(LARGE, np.uint8) for _ in range(3)]
    assert (room.used, room.on_disk) == (2 * LARGE, LARGE)
    held.append(room.empty(LARGE, np.uint8, hot=True))
    assert (room.used, room.on_disk) == (3 * LARGE, LARGE)
    held.append(room.empty(SMALL, np.uint8))
    assert (room.used, room.on_disk) == (3 * LARGE + SMALL, LARGE)
    assert room.left == LARGE - SMALL


def test_scratch_files_hold_what_is_written_and_have_no_names(tmp_path: Path) -> None:
    room = tight(tmp_path)
    array = room.zeros((3, MIB), np.int32)
    assert room.on_disk == 12 * MIB
    assert not array.any()
    array[:] = np.arange(3 * MIB).reshape(3, -1)
    np.testing.assert_array_equal(array.ravel(), np.arange(3 * MIB))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("memory", [1, 1 << 40])
def test_an_array_counts_as_long_as_a_view_of_it_lives(tmp_path: Path, memory: int) -> None:
    room = Workspace(memory, str(tmp_path))
    view = room.empty((LARGE, 2), np.uint8)[1:].T.view(np.int8)[:, 5:]
    gc.collect()
    assert room.used + room.on_disk == 2 * LARGE
    view[...] = 1
    del view
    assert (room.used, room.on_disk) == (0, 0)


def test_a_tiny_budget_still_works(tmp_path: Path) -> None:
    room = tight(tmp_path)
    assert room.left == 0
    assert room.at_once(8, 1 << 40) == 1
    array = room.empty(10, np.int64)  # small ones are in memory all the same
    assert (room.used, room.on_disk) == (80, 0)
    del array


def test_how_many_pieces_of_work_fit() -> None:
    room = Workspace(OWN + 3 * PER_THREAD + 10 * MIB, threads=3)
    assert [room.at_once(8, size) for size in (0, MIB, 3 * MIB, 10 * MIB, 11 * MIB)] == [8, 8, 3, 1, 1]
    assert [room.at_once(8, MIB, share) for share in (1, 0.5, 0.01)] == [8, 5, 1]
    assert room.at_once(0, 1) == 1


def test_an_array_that_cannot_be_made_is_not_counted(tmp_path: Path) -> None:
    for room in (Workspace(1 << 62), tight(tmp_path)):
        with pytest.raises((MemoryError, DataError)):
            room.empty(1 << 60, np.uint8)
        assert (room.used, room.on_disk) == (0, 0)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match='scratch="/nowhere/at/all": there is no such folder'):
        Workspace(1 << 30, "/nowhere/at/all")


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match='file": not a folder'):
        Workspace(1 << 30, str(tmp_path / "file"))


def test_a_folder_without_rights_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match=f'{tmp_path}": no permission to write there'):
        Workspace(1 << 30, str(tmp_path))


def test_a_folder_that_vanishes_is_named(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    room = tight(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(DataError, match=r"gone: cannot hold a scratch file of 4 MiB: No such file"):
        room.empty(LARGE, np.uint8)
    with pytest.raises(DataError, match=r"gone: cannot be used: No such file"):
        room.expect(1)


def test_a_full_disk_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, begin: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    room = tight(tmp_path)
    with pytest.raises(DataError) as caught:
        room.empty(LARGE, np.uint8)
    assert str(caught.value) == (
        f"{tmp_path}: cannot hold a scratch file of 4 MiB: No space left on device; "
        "give another folder for scratch files, or a larger memory budget"
    )
    assert room.on_disk == 0


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_that_cannot_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def cannot(file: int, begin: int, size: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", cannot)
    array = tight(tmp_path).zeros(LARGE, np.uint8)
    array[-1] = 1
    assert array.sum() == 1
    with pytest.raises(DataError, match=r"scratch files are needed, .* are free"):
        tight(tmp_path).empty(1 << 60, np.uint8)


def test_what_will_not_fit_on_the_disk(tmp_path: Path) -> None:
    room = tight(tmp_path)
    room.expect(1)
    with pytest.raises(DataError, match=f"{tmp_path}: about 1073741824.0 GiB of scratch files are needed"):
        room.expect(1 << 60)


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "1048576\n"}, MIB),
        ("0::/a/b\n", {"a/memory.max": "2097152", "a/b/memory.max": "max"}, 2 * MIB),
        ("0::/a/b\n", {"memory.max": "3145728"}, 3 * MIB),  # a container sees its own folder as the root
        ("0::/../a\n", {}, None),
        (
            "5:cpu,cpuacct:/x\n4:memory:/y\n0::/\n",
            {
                "memory/y/memory.limit_in_bytes": "4194304",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            4 * MIB,
        ),
        ("4:memory:/y\n", {"memory/y/memory.limit_in_bytes": "-1"}, None),
        ("nonsense\n", {}, None),
        ("", {}, None),
    ],
)
def test_limits_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: str, limits: dict[str, str], expected: int | None
) -> None:
    (tmp_path / "own").write_text(groups)
    for name, value in limits.items():
        place = tmp_path / "root" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(value)
    places = workspace._group_limits(tmp_path / "root", tmp_path / "own")
    monkeypatch.setattr(workspace, "_group_limits", list)
    everything = machine_memory()
    monkeypatch.setattr(workspace, "_group_limits", lambda: places)
    assert machine_memory() == (everything if expected is None else expected)
    assert Workspace().memory == int(0.7 * machine_memory())


def test_a_system_that_does_not_say_how_much_memory_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    monkeypatch.setattr(workspace, "_group_limits", list)
    assert machine_memory() == 4 << 30


def test_the_default_folder_is_one_that_can_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Workspace().folder == str(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    assert os.path.isdir(Workspace().folder)


@given(st.lists(st.lists(st.integers(-9, 9), max_size=7), max_size=12), st.integers(0, 30), st.integers(1, 3))
def test_what_grows_is_what_was_written(parts: list[list[int]], expected: int, threads: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "SEGMENT", 5)
        patch.setattr(workspace, "SMALL", 32)
        room = Workspace(1)
        growing = Growing(np.int32, room, expected)
        rooms = [growing.room(len(part)) for part in parts]
        assert growing.length == sum(map(len, parts))
        for place, part in zip(rooms, parts, strict=True):
            place[:] = part
        rooms.clear()
        place = None
        whole = growing.finished(threads)
        assert whole.dtype == np.int32
        assert whole.tolist() == [value for part in parts for value in part]
        del whole
    assert (room.used, room.on_disk) == (0, 0)
