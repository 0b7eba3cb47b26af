"""Model files: what is written comes back; what is damaged, foreign or from the future is refused."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dualign._core.errors import DataError, ModelError, UsageError
from dualign._core.files.container import FORMAT_VERSION, read_container, write_container

HEADER = {"kind": "hmm", "layers": [1, 2.5, None, True], "nested": {"β": "\ud800", "": {}}}
ARRAYS = {
    "table": np.arange(18, dtype=np.float32).reshape(9, 2),
    "ids": np.array([3, -1, 2**31 - 1], np.int32),
    "nothing": np.empty((0, 4), np.int64),
    "weight": np.array(0.5),
}
PREAMBLE = struct.Struct("<8sIII")

codes = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
dtypes = st.sampled_from([order + code for order in "<>" for code in codes])
plain_arrays = hnp.arrays(
    dtypes.map(np.dtype), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    write_container(path, HEADER, ARRAYS)
    return path


def forge(path: Path, header: Any, data: bytes = b"", version: int = FORMAT_VERSION) -> None:
    """Write a file whose checksum is right and whose header may hold anything (bytes go in as they are)."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = PREAMBLE.pack(b"DUALIGN\0", version, len(text), 0)[:-4]
    front = start + struct.pack("<I", zlib.crc32(start + text)) + text
    path.write_bytes(front + bytes(-len(front) % 64) + data if data else front)


def described(**changes: Any) -> dict[str, Any]:
    """The header of a file with one array of eight bytes, all zero."""
    entry = {"checksum": zlib.crc32(bytes(8)), "dtype": "<i4", "offset": 0, "shape": [2], **changes}
    return {"arrays": {"a": entry}, "user": {}}


def assert_holds_the_model(path: Path) -> None:
    header, arrays = read_container(path)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name], strict=True)


@given(
    st.dictionaries(st.text(), json_values, max_size=4), st.dictionaries(st.text(), plain_arrays, max_size=4)
)
def test_what_is_written_comes_back(header: dict, arrays: dict) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        write_container(path, header, arrays)
        read_header, read_arrays = read_container(path)
    assert read_header == header
    assert read_arrays.keys() == arrays.keys()
    for name, array in read_arrays.items():
        assert array.dtype == arrays[name].dtype.newbyteorder("<")
        assert array.shape == arrays[name].shape
        assert array.tobytes() == arrays[name].astype(array.dtype).tobytes()


@pytest.mark.parametrize(
    "array", [np.arange(24).reshape(4, 6).T, np.arange(24)[::-3], np.asfortranarray(np.eye(3))]
)
def test_memory_order_does_not_matter(tmp_path: Path, array: np.ndarray) -> None:
    write_container(tmp_path / "model", {}, {"a": array})
    np.testing.assert_array_equal(read_container(tmp_path / "model")[1]["a"], array, strict=True)


def test_arrays_are_aligned_views_and_writing_to_them_leaves_the_file_alone(model: Path) -> None:
    before = model.read_bytes()
    for array in read_container(model)[1].values():
        assert array.ctypes.data % 64 == 0
        assert not array.flags.owndata
        array[...] = 0
    assert model.read_bytes() == before


def test_same_content_gives_same_bytes(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write_container(other, dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items())))
    assert other.read_bytes() == model.read_bytes()


def test_replacing_a_model_leaves_its_readers_alone(model: Path) -> None:
    _, arrays = read_container(model)
    write_container(model, {}, {"table": np.zeros(9)})
    np.testing.assert_array_equal(arrays["table"], ARRAYS["table"])


@pytest.mark.parametrize("size", [0, 7, 100_000])
def test_what_is_written_over_a_model_changes_nothing_for_its_readers(model: Path, size: int) -> None:
    """`cp other model` writes into the same file: a mapped one would become a mixture, or end the process."""
    _, arrays = read_container(model)
    with open(model, "r+b") as file:
        file.write(b"\x3e" * size)
        file.truncate(size)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


def test_mapped_arrays_are_those_of_the_file(model: Path) -> None:
    _, arrays = read_container(model, ["table"], mapped=True)
    np.testing.assert_array_equal(arrays["table"], ARRAYS["table"], strict=True)
    before = model.read_bytes()
    arrays["table"][...] = 0
    assert model.read_bytes() == before


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_any_changed_byte_is_noticed(model: Path, mask: int) -> None:
    whole = model.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= mask
        model.write_bytes(damaged)
        with pytest.raises(ModelError, match=str(model)):
            read_container(model)


def test_any_truncation_is_noticed(model: Path) -> None:
    whole = model.read_bytes()
    for length in range(len(whole)):
        model.write_bytes(whole[:length])
        with pytest.raises(ModelError, match=r"truncated: .*; copy it again"):
            read_container(model)


def test_bytes_after_the_end_are_noticed(model: Path) -> None:
    model.write_bytes(model.read_bytes() + b"\0")
    with pytest.raises(ModelError, match="corrupt: 1 bytes follow its last array"):
        read_container(model)


def test_a_corrupt_array_is_named(model: Path) -> None:
    whole = model.read_bytes()
    at = whole.index(ARRAYS["ids"].tobytes())
    model.write_bytes(whole[:at] + b"\x07" + whole[at + 1 :])
    with pytest.raises(ModelError, match="array `ids` does not match its checksum"):
        read_container(model)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (FORMAT_VERSION + 1, "newer than this dualign.*upgrade dualign"),
        (0, "older than.*train the model again"),
    ],
)
def test_other_format_versions_say_what_to_do(tmp_path: Path, version: int, message: str) -> None:
    forge(tmp_path / "model", {"a layout": "nobody knows yet"}, version=version)
    with pytest.raises(ModelError, match=message):
        read_container(tmp_path / "model")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"DUALIGN\0"), "gzip data; decompress"),
        (b"BZh91AY&SY", "bzip2 data"),
        (b"\xfd7zXZ\0\0\0", "xz data"),
        (b"\x28\xb5\x2f\xfd\0", "zstd data"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"\x93NUMPY\x01\0", "NumPy array"),
        (pickle.dumps({}), "pickle, which dualign never reads"),
        ("das Häuschen ist klein\n".encode() * 40, "text; a model is what `dualign train` writes"),
        (b"x" + "ä".encode() * 300, "text"),
        (b"\n", "text"),
        (b"DUALIGN ", "text"),
        (b"\x7fELF\x02\x01\x01\0", "other binary file"),
        (b"\xff" * 600, "other binary file"),
    ],
)
def test_foreign_files_are_recognised(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=f"not a dualign model but .*{message}"):
        read_container(path)


@pytest.mark.parametrize(
    "header",
    [
        b"\xff\xfe",
        b"{",
        b"9" * 5000,
        b"[" * 100_000,
        [],
        {},
        {"arrays": [], "user": {}},
        {"arrays": {}, "user": 1},
        {"arrays": {"a": None}, "user": {}},
        {"arrays": {"a": {"dtype": "<i4"}}, "user": {}},
        described(dtype="|O"),
        described(dtype="<U1"),
        described(dtype=">i4"),
        described(dtype="i4,i4"),
        described(dtype=["<i4"]),
        described(shape=[-2]),
        described(shape=[2.0]),
        described(shape=[True, 2]),
        described(shape=2),
        described(shape=[2**70]),
        described(shape=[2**47] * 3),
        described(shape=[1] * 100 + [2]),
        described(shape=[0, 2**62, 2**62], checksum=0),
        described(shape=[0, 2**100], checksum=0),
        described(offset=64),
        described(offset=-64),
        described(checksum=0),
        described(checksum="0"),
    ],
)
def test_a_forged_header_is_refused(tmp_path: Path, header: Any) -> None:
    path = tmp_path / "model"
    forge(path, described(), bytes(8))
    read_container(path)
    forge(path, header, bytes(8))
    with pytest.raises(ModelError, match=r"corrupt|truncated"):
        read_container(path)


def test_loading_runs_no_code(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return os.mkdir, (str(tmp_path / "trapped"),)

    payload = pickle.dumps(Trap())
    for header in (payload, described(dtype="|O", shape=[1])):
        forge(tmp_path / "model", header, payload)
        with pytest.raises(ModelError):
            read_container(tmp_path / "model")
    assert not (tmp_path / "trapped").exists()


def test_missing_files_directories_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    # Without a writer, opening the pipe to read would wait for one.
    writer = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        for name, message in [
            ("none", "no such model file"),
            (".", "is a directory"),
            ("pipe", "not a regular"),
        ]:
            with pytest.raises(ModelError, match=message):
                read_container(tmp_path / name)
    finally:
        os.close(writer)
    with pytest.raises(ModelError, match="cannot read the model"):
        read_container("a\0b")


@pytest.mark.parametrize("name", ["-", "m.gz", "m.bz2", "m.xz", "m.zst"])
def test_names_that_cannot_be_a_model_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"name a file|not compressed"):
        write_container(name, {}, {})
    with pytest.raises(UsageError, match=r"name a file|not compressed"):
        read_container(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        ({"x": float("nan")}, {}, "more than JSON can hold"),
        ({"x": {1, 2}}, {}, "more than JSON can hold"),
        ({}, {"flags": np.ones(3, bool)}, "array `flags` has dtype bool"),
        ({}, {"words": np.array(["a"])}, "array `words` has dtype <U1"),
        ({}, {"things": np.array([None])}, "array `things` has dtype object"),
        ({}, {"z": np.ones(1, complex)}, "array `z` has dtype complex128"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_and_the_old_file_stays(
    model: Path, header: dict, arrays: dict, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        write_container(model, header, arrays)
    assert_holds_the_model(model)


def test_a_failed_write_leaves_the_old_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DataError, match="No space left"):
        write_container(model, {}, {"a": np.zeros(1_000_000)})
    assert [path.name for path in model.parent.iterdir()] == ["model"]
    assert_holds_the_model(model)


def test_a_killed_writer_leaves_the_old_file(model: Path) -> None:
    program = (
        "import os, signal, sys, numpy as np\n"
        "from dualign._core.files.container import write_container\n"
        "os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_container(sys.argv[1], {}, {'a': np.zeros(1_000_000)})\n"
    )
    assert subprocess.run([sys.executable, "-c", program, model], check=False).returncode == -signal.SIGKILL
    assert_holds_the_model(model)


def test_a_missing_folder_is_said_when_writing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        write_container(tmp_path / "none" / "model", {}, {})
