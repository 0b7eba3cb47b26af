"""Files of score matrices, one for each sentence pair: `.npz`, a directory of `.npy`, or lines of JSON.

- `scores.npz`, as `numpy.savez(path, *matrices)` writes it: the name of an array ends in its number.
- A directory: `0.npy`, `1.npy` … or any names that end in a number. Other files in it are not looked at.
- Lines of JSON (any other name; `-`; compressed by suffix): a line is a matrix as a list of rows, or an
  object with one as `scores`. An empty line is a pair without words on one side.

Numbers are consecutive and begin with 0 or 1: a pair that is missing is an error, not a shift of all that
follow. Rows are source words, columns target words. Nothing in a file is executed (no pickles).
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from dualign.core.errors import DataError, UsageError
from dualign.text.lines import read_lines
from dualign.text.places import reading

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})\.npy")
_TOO_MUCH = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, NotImplementedError)


def read_matrices(path: str, errors: str = "strict") -> Iterator[tuple[str, Any]]:
    """Yield where each matrix stands, for messages, and what stands there; nothing of it is checked yet."""
    if os.path.isdir(path):
        return _from_directory(path)
    if path.endswith(".npz"):
        return _from_archive(path)
    if path.endswith(".npy"):
        raise DataError(f"{path}: one array; name the directory it is in, or an .npz file")
    return _from_lines(path, errors)


def _from_directory(path: str) -> Iterator[tuple[str, Any]]:
    try:
        names = os.listdir(path)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror or error}") from None
    for name in _in_order(path, [name for name in names if name.endswith(".npy")]):
        place = os.path.join(path, name)
        try:
            yield place, np.load(place, allow_pickle=False)
        except _TOO_MUCH as error:
            raise DataError(f"{place}: cannot read the array: {_reason(error)}") from None


def _from_archive(path: str) -> Iterator[tuple[str, Any]]:
    try:
        # Opened here, because NumPy leaves the file open if it is no archive.
        with open(path, "rb") as file:
            reading(path, os.fstat(file.fileno()))
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path}: one array and no archive; write it with numpy.savez")
            for name in _in_order(path, [f"{name}.npy" for name in archive.files]):
                key = name.removesuffix(".npy")
                try:
                    matrix = archive[key]
                except _TOO_MUCH as error:
                    raise DataError(f"{path}: cannot read array `{key}`: {_reason(error)}") from None
                yield f"{path}, {key}", matrix
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except (DataError, UsageError):
        raise
    except _TOO_MUCH as error:
        raise DataError(f"{path}: no archive of arrays as numpy.savez writes: {_reason(error)}") from None


def _from_lines(path: str, errors: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(read_lines(path, errors), 1):
        place = f"{path}:{number}"
        if not line.strip():
            yield place, []
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: no JSON: {_reason(error)}; write a list of rows") from None
        if isinstance(content, dict):
            if "scores" not in content:
                raise DataError(f'{place}: an object without "scores"; write {{"scores": [[…]]}}')
            content = content["scores"]
        yield place, content


def _in_order(path: str, names: list[str]) -> list[str]:
    """Names by the number at their end, which must be consecutive."""
    if not names:
        raise DataError(f"{path}: no matrices; expected arrays with numbered names, such as 0.npy or arr_0")
    found: dict[int, str] = {}
    for name in sorted(names):
        numbered = _NUMBERED.fullmatch(name)
        shown = name.removesuffix(".npy")
        if numbered is None:
            raise DataError(f"{path}: `{shown}` does not end in the number of its sentence pair")
        if (number := int(numbered[2])) in found:
            raise DataError(
                f"{path}: `{found[number].removesuffix('.npy')}` and `{shown}` have the same number"
            )
        found[number] = name
    first, last = min(found), max(found)
    if first > 1:
        raise DataError(f"{path}: matrix 0 (or 1) is missing; the first is number {first}")
    for number in range(first, last):
        if number not in found:
            raise DataError(f"{path}: matrix {number} is missing, but there are {first} to {last}")
    return [found[number] for number in sorted(found)]


def _reason(error: BaseException) -> str:
    if "pickle" in str(error):
        # NumPy's own message advises to read it in spite of that.
        return "neither numbers nor an archive, or Python objects, which are never read"
    return str(error).partition("\n")[0] or type(error).__name__
