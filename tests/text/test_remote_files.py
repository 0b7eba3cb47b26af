"""Texts on other machines, and texts in several files."""

from __future__ import annotations

import gzip

import pytest

from dualign import jobs
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import is_regular, open_input, open_output, text_size
from dualign.text.utf8 import read_lines


def test_several_files_are_one_text(tmp_path):
    (tmp_path / "a.1.txt").write_text("one\ntwo")
    (tmp_path / "a.2.txt.gz").write_bytes(gzip.compress(b"three\n"))
    (tmp_path / "a.3.txt").write_text("")
    (tmp_path / "b.txt").write_text("four\n")
    pattern = f"{tmp_path}/a.*"
    assert list(read_lines(pattern)) == ["one", "two", "three"]
    assert list(read_lines(f"{tmp_path}/b.txt,{pattern}")) == ["four", "one", "two", "three"]
    assert is_regular(pattern)
    assert text_size(pattern) > 7
    with open_input(pattern, 4) as stream:
        assert stream.read() == b"two\nthree\n"


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path):
    for name in ("a*,b", "a[1].txt"):
        (tmp_path / name).write_text("x\n")
        assert list(read_lines(str(tmp_path / name))) == ["x"]


@pytest.mark.parametrize("path", ["nothing.*", "here,nowhere"])
def test_a_pattern_without_files_is_an_error(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").write_text("x\n")
    with pytest.raises(DataError, match="no file has such a name"):
        list(read_lines(path))


def test_a_remote_text_is_read_and_written(tmp_path):
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: dualign[cluster]")
    memory = fsspec.filesystem("memory")
    memory.pipe("/texts/a.gz", gzip.compress(b"das haus\n"))
    memory.pipe("/texts/b", b"ein buch\n")
    assert list(read_lines("memory://texts/*")) == ["das haus", "ein buch"]
    with open_output("memory://texts/out.gz") as out:
        out.write("links\n")
    assert gzip.decompress(memory.cat("/texts/out.gz")) == b"links\n"

    def fail() -> None:
        with open_output("memory://texts/none") as out:
            out.write("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not memory.exists("/texts/none")
    with pytest.raises(DataError, match=r"memory://texts/c: no such file"):
        list(read_lines("memory://texts/c"))
    memory.pipe("/texts/target", b"the house\na book\n")
    source = "memory://texts/a.gz,memory://texts/b"
    jobs.align(source, "memory://texts/target", "memory://texts/links", run=jobs.Run(1), rounds=1)
    assert memory.cat("/texts/links").count(b"\n") == 2


def test_a_damaged_remote_archive_is_named():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: dualign[cluster]")
    fsspec.filesystem("memory").pipe("/texts/cut.gz", gzip.compress(b"x\n" * 1000)[:-9])
    with pytest.raises(DataError, match=r"memory://texts/cut\.gz: corrupt or truncated"):
        list(read_lines("memory://texts/cut.gz"))


def test_an_unknown_scheme_says_what_to_install():
    pytest.importorskip("fsspec", reason="fsspec is not installed: dualign[cluster]")
    with pytest.raises(UsageError, match=r"strange://x: .*install what fsspec needs"):
        list(read_lines("strange://x"))


def test_files_of_services_are_read_though_they_are_no_buffered_readers():
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: dualign[cluster]")
    texts = {"/a": b"das haus\n" * 40_000, "/b.gz": gzip.compress(b"ein buch\n" * 3)}

    class Opened(fsspec.spec.AbstractBufferedFile):
        def _fetch_range(self, start: int, end: int) -> bytes:
            return texts[self.path][start:end]

    class Service(fsspec.AbstractFileSystem):
        protocol = "service"
        cachable = False

        def info(self, path, **_):
            return {"name": path, "size": len(texts[path]), "type": "file"}

        def _open(self, path, mode="rb", **_):
            return Opened(self, path, mode, block_size=1 << 16)

    fsspec.register_implementation("service", Service, clobber=True)
    assert list(read_lines("service:///a")) == ["das haus"] * 40_000
    assert list(read_lines("service:///b.gz")) == ["ein buch"] * 3
    with open_input("service:///a", 9) as stream:
        assert stream.read(4) == b"das "
