"""Files of score matrices: every form gives the same matrices, and what is missing or broken is named."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dualign._core.errors import DataError
from dualign.text.score_matrices import read_matrices

MATRICES = [np.arange(6.0).reshape(2, 3) / 7, np.zeros((1, 1)), np.eye(12, dtype=np.float32)]


def directory(folder: Path, names: list[str]) -> str:
    folder.mkdir()
    for name, matrix in zip(names, MATRICES, strict=True):
        np.save(folder / name, matrix)
    return str(folder)


def lines(path: Path, items: list[object]) -> str:
    path.write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
    return str(path)


def check(path: str) -> None:
    found = [np.asarray(matrix) for _, matrix in read_matrices(path)]
    assert len(found) == len(MATRICES)
    for one, other in zip(found, MATRICES, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_form_holds_the_same_matrices(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", *MATRICES)
    np.savez_compressed(tmp_path / "b.npz", **{f"pair{n}": m for n, m in enumerate(MATRICES, 1)})
    check(str(tmp_path / "a.npz"))
    check(str(tmp_path / "b.npz"))
    check(directory(tmp_path / "c", ["0.npy", "1.npy", "2.npy"]))
    check(directory(tmp_path / "d", ["s-001.npy", "s-002.npy", "s-003.npy"]))
    plain = lines(tmp_path / "e.jsonl", [matrix.tolist() for matrix in MATRICES])
    check(plain)
    check(lines(tmp_path / "f.jsonl", [{"scores": m.tolist(), "id": 7} for m in MATRICES]))
    (tmp_path / "g.jsonl.gz").write_bytes(gzip.compress(Path(plain).read_bytes().replace(b"\n", b"\r\n")))
    check(str(tmp_path / "g.jsonl.gz"))


def test_numbers_count_not_the_alphabet(tmp_path: Path) -> None:
    many = [np.full((1, 1), n) for n in range(12)]
    np.savez(tmp_path / "a.npz", *many)
    assert [int(m[0, 0]) for _, m in read_matrices(str(tmp_path / "a.npz"))] == list(range(12))


def test_an_empty_line_is_an_empty_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n[[1]]\n \n", encoding="utf-8")
    assert [matrix for _, matrix in read_matrices(str(path))] == [[], [[1]], []]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["0.npy", "1.npy", "3.npy"], "matrix 2 is missing, but there are 0 to 3"),
        (["2.npy", "3.npy", "4.npy"], "matrix 0 (or 1) is missing; the first is number 2"),
        (["0.npy", "a.npy", "1.npy"], "`a` does not end in the number"),
        (["0.npy", "a1.npy", "b1.npy"], "`a1` and `b1` have the same number"),
    ],
)
def test_gaps_between_matrices_are_named(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_matrices(directory(tmp_path / "d", names)))
    keys = {name.removesuffix(".npy"): matrix for name, matrix in zip(names, MATRICES, strict=True)}
    np.savez(tmp_path / "a.npz", **keys)
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_matrices(str(tmp_path / "a.npz")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1]]\n[[1\n", ":2: not JSON"),
        ('[[1]]\n\n{"score": [[1]]}\n', ':3: an object without "scores"'),
        ("[" * 100_000 + "\n", ":1: not JSON"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        list(read_matrices(str(path)))


def test_files_that_are_no_archives_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    (tmp_path / "nothing.npz").write_bytes(b"")
    np.savez(tmp_path / "cut.npz", *MATRICES)
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.eye(2))
    np.save(tmp_path / "one.npy", np.eye(2))
    for name, message in (
        ("empty", "no matrices"),
        ("text.npz", "not an archive"),
        ("nothing.npz", "not an archive"),
        ("cut.npz", "not an archive"),
        ("array.npz", "a single array, not an archive"),
        ("one.npy", "name the directory"),
        ("absent.npz", "no such file"),
        ("absent.jsonl", "no such file"),
    ):
        with pytest.raises(DataError, match=message) as error:
            list(read_matrices(str(tmp_path / name)))
        assert "allow_pickle" not in str(error.value)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError, match=r"a\.npz, arr_0: .*Python objects, which are never read"):
        list(read_matrices(str(tmp_path / "a.npz")))
    folder = tmp_path / "d"
    folder.mkdir()
    np.save(folder / "0.npy", np.array([{"a": 1}], dtype=object))
    with pytest.raises(
        DataError, match=r"0\.npy: cannot read the array: .*Python objects, which are never read"
    ):
        list(read_matrices(str(folder)))
    for content in (pickle.dumps([1, 2]), b"[[1]]", b""):
        (folder / "0.npy").write_bytes(content)
        with pytest.raises(
            DataError, match=r"0\.npy: cannot read the array: it is not what numpy\.save writes"
        ):
            list(read_matrices(str(folder)))


def _with_header(header: str, data: bytes = b"") -> bytes:
    text = header.encode("latin1").ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 99999999), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999, 2), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (200000, 200000), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2), }",
        "{'descr': '<f8,' * 3, 'fortran_order': False, 'shape': (1, 2), }",
        "(" * 100,
        "\x00\xff",
    ],
)
@pytest.mark.parametrize("form", ["folder", "archive"])
def test_whatever_is_wrong_with_the_header_of_an_array_is_bad_data(
    tmp_path: Path, header: str, form: str
) -> None:
    content = _with_header(header, bytes(32))
    path = tmp_path / "a.npz"
    if form == "folder":
        (tmp_path / "0.npy").write_bytes(content)
        path = tmp_path
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("arr_0.npy", content)
    with pytest.raises(DataError, match=r"cannot read (the )?array"):
        list(read_matrices(str(path)))


def test_a_matrix_with_a_huge_number_does_not_fill_memory(tmp_path: Path) -> None:
    for number in (0, 999999999):
        np.save(tmp_path / f"{number}.npy", np.eye(2))
    with pytest.raises(DataError, match="matrix 1 is missing, but there are 0 to 999999999"):
        list(read_matrices(str(tmp_path)))
