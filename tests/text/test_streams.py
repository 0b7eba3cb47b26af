"""Compressed streams, whole-or-nothing output, and errors that name the file."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import zstandard

from dualign._core.errors import DataError
from dualign._core.files.streams import check_output, open_binary_output, open_input, open_output

SUFFIXES = ["", ".gz", ".bz2", ".xz", ".zst"]
# Does not compress away to nothing, so that cutting a file in half cuts the text.
NOISE = np.random.default_rng(1).bytes(300_000).hex().encode()


def pack(suffix: str, data: bytes) -> bytes:
    """Compress with the library itself, not with the module under test."""
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".bz2":
        return bz2.compress(data)
    if suffix == ".xz":
        return lzma.compress(data)
    return zstandard.ZstdCompressor().compress(data) if suffix == ".zst" else data


def unpack(suffix: str, data: bytes) -> bytes:
    if suffix == ".gz":
        return gzip.decompress(data)
    if suffix == ".bz2":
        return bz2.decompress(data)
    if suffix == ".xz":
        return lzma.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if suffix == ".zst" else data


def read(path: Path | str) -> bytes:
    with open_input(str(path)) as stream:
        return stream.read()


def write_nothing(path: str) -> None:
    with open_output(path):
        pass


def write_and_raise(path: str, error: BaseException) -> None:
    with open_output(path) as stream:
        stream.write("new" * 500_000)
        raise error


def no_leftovers(folder: Path, *expected: str) -> bool:
    return sorted(os.listdir(folder)) == sorted(expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("data", [b"", b"one line\n", NOISE])
def test_input_is_decompressed_by_suffix(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(suffix, data))
    assert read(path) == data


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_output_is_compressed_by_suffix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    with open_output(str(path)) as stream:
        stream.write("häuser\n" * 100_000)
    assert unpack(suffix, path.read_bytes()) == "häuser\n".encode() * 100_000
    assert no_leftovers(tmp_path, path.name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_binary_output_is_compressed_by_suffix(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    with open_binary_output(str(path)) as stream:
        for start in range(0, len(NOISE), 1000):
            stream.write(NOISE[start : start + 1000])
    assert unpack(suffix, path.read_bytes()) == NOISE


def test_numpy_archives_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    with open_binary_output(str(path)) as stream:
        np.savez(stream, table=np.arange(100_000), other=np.ones((3, 4)))
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["table"], np.arange(100_000))
        np.testing.assert_array_equal(arrays["other"], np.ones((3, 4)))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_archives_glued_together_are_read_to_the_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(suffix, b"one\n") + pack(suffix, NOISE) + pack(suffix, b"three\n"))
    assert read(path) == b"one\n" + NOISE + b"three\n"


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
@pytest.mark.parametrize("keep", [0, 1, 5, 20, 100_000, -1])
def test_truncated_archive_is_a_data_error_that_names_the_file(
    tmp_path: Path, suffix: str, keep: int
) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(suffix, NOISE)[:keep])
    with pytest.raises(DataError, match=rf"text\{suffix}: .*again"):
        read(path)


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_truncated_second_frame_is_a_data_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    path.write_bytes(pack(suffix, b"one\n") + pack(suffix, NOISE)[:-3])
    with pytest.raises(DataError, match=rf"text\{suffix}: "):
        read(path)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_damage_in_a_second_frame_is_a_data_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    second = bytearray(pack(suffix, NOISE))
    for place in (2, len(second) // 2):
        damaged = second.copy()
        damaged[place] ^= 1
        path.write_bytes(pack(suffix, b"one\n") + damaged)
        with pytest.raises(DataError, match=rf"text\{suffix}: corrupt"):
            read(path)


def test_zeros_between_streams_of_xz_are_padding(tmp_path: Path) -> None:
    path = tmp_path / "text.xz"
    path.write_bytes(pack(".xz", b"one\n") + bytes(8) + pack(".xz", b"two\n") + bytes(4))
    assert read(path) == b"one\ntwo\n"


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_text_that_is_not_compressed_at_all_is_a_data_error(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text{suffix}"
    for text in (b"x", b"just a line\n", b"just a line\n" * 9):
        path.write_bytes(text)
        said = rf"text\{suffix}: is not \w+ data, though its name ends in \{suffix}; rename it"
        with pytest.raises(DataError, match=said):
            read(path)


def test_damage_in_the_middle_shows_after_the_good_beginning(tmp_path: Path) -> None:
    data = bytearray(pack(".gz", NOISE))
    data[len(data) // 2] ^= 0xFF
    path = tmp_path / "text.gz"
    path.write_bytes(data)
    with open_input(str(path)) as stream:
        assert stream.read(1000) == NOISE[:1000]
        with pytest.raises(DataError, match=r"text\.gz: corrupt"):
            stream.read()


def test_missing_input_names_the_path_and_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent: no such file; check the path"):
        open_input(str(tmp_path / "absent"))


def test_directory_as_input_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory; name a file"):
        open_input(str(tmp_path))


def test_nul_in_a_name_is_a_data_error() -> None:
    with pytest.raises(DataError, match="null"):
        open_input("a\0b")
    with pytest.raises(DataError, match="null"):
        write_nothing("a\0b")


def test_input_without_permission_is_a_data_error(monkeypatch: pytest.MonkeyPatch) -> None:
    # Simulated: the tests may run as root, who may read everything.
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"secret: no permission to read"):
        open_input("secret")


def test_read_error_of_the_disk_is_a_data_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(pack(".gz", b"text"))

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(gzip.GzipFile, "read1", fail)
    with pytest.raises(DataError, match=r"text\.gz: cannot read: Input/output error"):
        read(path)


def test_dash_is_standard_input_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"a\nb\n"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert read("-") == b"a\nb\n"
    assert not stdin.buffer.closed


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_closed_standard_stream_is_a_data_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, name, None)
    opening = open_input if name == "stdin" else write_nothing
    with pytest.raises(DataError, match="closed"):
        opening("-")


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_dash_is_standard_output_and_stays_open(capfdbinary: pytest.CaptureFixture[bytes], path: str) -> None:
    print("before")
    with open_output(path) as stream:
        stream.write("é\n")
    print("after")
    assert capfdbinary.readouterr().out == b"before\n\xc3\xa9\nafter\n"


def test_standard_output_redirected_to_a_file_is_not_truncated(tmp_path: Path) -> None:
    code = (
        "from dualign._core.files.streams import open_output\n"
        "print('before')\n"
        "with open_output('/dev/stdout') as stream: stream.write('text\\n')\n"
        "print('after')\n"
    )
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, timeout=300)
    assert (tmp_path / "out").read_text() == "before\ntext\nafter\n"


def test_broken_pipe_is_passed_on_for_the_command_line_to_end_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with pytest.raises(BrokenPipeError), open_output(f"/dev/fd/{writing}") as stream:
        stream.write("text")
    os.close(writing)


@pytest.mark.parametrize("error", [ValueError("stop"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_old_file_is_intact_after_an_exception(tmp_path: Path, suffix: str, error: BaseException) -> None:
    path = tmp_path / f"out{suffix}"
    path.write_text("old")
    with pytest.raises(type(error)):
        write_and_raise(str(path), error)
    assert path.read_text() == "old"
    assert no_leftovers(tmp_path, path.name)


def test_no_file_appears_after_an_exception(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_and_raise(str(tmp_path / "out"), ZeroDivisionError())
    assert no_leftovers(tmp_path)


def test_os_error_of_the_caller_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="mine") as caught:
        write_and_raise(str(tmp_path / "out"), OSError(errno.ENOSPC, "mine"))
    assert not isinstance(caught.value, DataError)


def test_old_file_is_seen_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with open_output(str(path)) as stream:
        stream.write("new")
        stream.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_input_may_be_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a\nb\n")
    with open_input(str(path)) as source, open_output(str(path)) as stream:
        for line in source:
            stream.write(line.decode().upper())
    assert path.read_text() == "A\nB\n"


@pytest.mark.parametrize("existing", [True, False])
def test_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path, existing: bool) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if existing:
        (folder / "target").write_text("old")
    link = tmp_path / "link"
    link.symlink_to(folder / "target")
    with open_output(str(link)) as stream:
        stream.write("new")
    assert link.is_symlink()
    assert (folder / "target").read_text() == "new"
    assert no_leftovers(folder, "target")


def test_permissions_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o640)
    with open_output(str(path)) as stream:
        stream.write("new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_permissions_of_a_new_file_follow_the_umask(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("made the usual way")
    with open_output(str(tmp_path / "out")) as stream:
        stream.write("new")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match="no permission to write"):
        write_nothing(str(path))
    assert path.read_text() == "old"


def test_dev_null_is_written_directly_and_stays_a_device() -> None:
    with open_output("/dev/null") as stream:
        stream.write("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_named_pipe_is_written_directly(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gz"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    with open_output(str(path)) as stream:
        stream.write("through the pipe\n")
    reader.join(timeout=30)
    assert gzip.decompress(got[0]) == b"through the pipe\n"
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("size", [1, 2_000_000])
def test_full_device_is_a_data_error(tmp_path: Path, suffix: str, size: int) -> None:
    link = tmp_path / f"full{suffix}"
    link.symlink_to("/dev/full")
    with (
        pytest.raises(DataError, match=r"full.*: cannot write: No space left"),
        open_output(str(link)) as out,
    ):
        out.write((NOISE * 4)[:size].decode())


def test_disk_that_fills_up_at_the_end_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="out: cannot write: No space left"), open_output(str(path)) as stream:
        stream.write("new")
    assert path.read_text() == "old"
    assert no_leftovers(tmp_path, "out")


def test_failing_rename_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", busy)
    with pytest.raises(DataError, match="out: cannot write: Device or resource busy"):
        write_nothing(str(tmp_path / "out"))
    assert no_leftovers(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent/out", r"absent/out: there is no folder .*/absent to write to; make it first"),
        ("", r'"" is no name of a file; name one to write'),
        (".", r"is a directory; name a file"),
        ("new/", r"new/: is a directory; name a file"),
        ("file/out", r"file/out: there is no folder .*/file to write to; make it first"),
    ],
)
def test_output_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=message):
        write_nothing(name)
    with pytest.raises(DataError, match=message):
        check_output(name)
    assert no_leftovers(tmp_path, "file")


@pytest.mark.parametrize(
    "name", ["-", "/dev/stdout", "/dev/null", "/dev/stderr", "new", "new.gz", "old", "link"]
)
def test_output_that_can_be_made_is_not_refused_and_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "link").symlink_to("old")
    check_output(name)
    assert no_leftovers(tmp_path, "old", "link")
    assert (tmp_path / "old").read_bytes() == b"old"


@pytest.mark.parametrize("kept", ["old", "."])
def test_rights_are_checked_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    (tmp_path / "old").touch()
    monkeypatch.setattr("os.access", lambda path, mode: not os.path.samefile(path, tmp_path / kept))
    with pytest.raises(DataError, match=r"old: no permission to write; .*directory"):
        check_output(str(tmp_path / "old"))


def test_unwritable_directory_is_a_data_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"out: no permission to write; .*directory"):
        write_nothing(str(tmp_path / "out"))


@pytest.mark.parametrize("suffix", SUFFIXES[1:])
def test_compressed_output_depends_on_the_content_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    for name, now in [("one", 1e9), ("another", 1.5e9)]:
        monkeypatch.setattr("time.time", lambda now=now: now)
        with open_output(str(tmp_path / f"{name}{suffix}")) as stream:
            stream.write("text\n" * 1000)
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"another{suffix}").read_bytes()


def test_line_ends_are_written_as_they_are(tmp_path: Path) -> None:
    with open_output(str(tmp_path / "out")) as stream:
        stream.write("a\nb\r\n")
    assert (tmp_path / "out").read_bytes() == b"a\nb\r\n"


def test_import_is_light() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "import dualign.text.link_formats, dualign.text.utf8\n"
        "print({'gzip', 'bz2', 'lzma', 'zstandard', 'numpy', 'numba'} & (set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_standard_input_is_decompressed_by_its_beginning(suffix, monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(suffix, NOISE))))
    monkeypatch.setattr(sys, "stdin", stdin)
    with open_input("-") as stream:
        assert stream.read() == NOISE
    cut = io.TextIOWrapper(io.BufferedReader(io.BytesIO(pack(suffix, NOISE)[:-1000])))
    monkeypatch.setattr(sys, "stdin", cut)
    if suffix:
        with (
            open_input("-") as stream,
            pytest.raises(DataError, match="standard input: corrupt or truncated"),
        ):
            stream.read()


def test_packed_data_with_another_name_or_cut_off_are_told_apart(tmp_path):
    path = tmp_path / "text.xz"
    path.write_bytes(gzip.compress(b"text"))
    with pytest.raises(DataError, match=r"is gzip data, though its name ends in \.xz; rename"):
        read(path)
    for name, head in (("a.gz", b"\x1f\x8b\x08"), ("a.bz2", b"BZh9"), ("a.zst", b"\x50\x2a\x4d\x18\x04")):
        (tmp_path / name).write_bytes(head)
        with pytest.raises(DataError, match="corrupt or truncated"):
            read(tmp_path / name)
