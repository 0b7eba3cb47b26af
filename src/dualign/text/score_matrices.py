"""Files of score matrices, one for each sentence pair: `.npz`, a directory of `.npy`, or lines of JSON.

- `scores.npz`, as `numpy.savez(path, *matrices)` writes it: the name of an array ends in its number.
- A directory: `0.npy`, `1.npy` … or any names that end in a number. Other files in it are ignored.
- Lines of JSON (any other name; `-`; compressed by suffix): each line is a matrix as a list of rows, or an
  object that has one as `scores`. An empty line is a pair without words on one side.

Numbers are consecutive and begin with 0 or 1; a missing pair is an error. Rows are source words, columns
target words. Nothing in a file is executed (no pickles).
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, UsageError
from dualign._core.files.streams import FilePath
from dualign.text.tables import parse_json
from dualign.text.utf8 import parsed, read_lines

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})\.npy")


class MatrixArchive:
    """Writes matrices to an `.npz` file, numbered as they come: the same matrices, the same bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._archive = zipfile.ZipFile(stream, "w")
        self._number = 0

    def write(self, matrix: Array) -> None:
        """Add a matrix."""
        content = io.BytesIO()
        np.save(content, matrix, allow_pickle=False)
        # The time stamp of an entry is the earliest there can be.
        self._archive.writestr(zipfile.ZipInfo(f"arr_{self._number}.npy"), content.getvalue())
        self._number += 1

    def finish(self) -> None:
        """Write the list of entries."""
        self._archive.close()

    def give_up(self) -> None:
        """Write no more: an archive that is left as it is would write its list to a closed stream."""
        self._archive.fp = None


def read_matrices(path: FilePath, errors: str = "strict") -> Iterator[tuple[str, Any]]:
    """Yield the place of each matrix, for messages, and its content, which is not checked yet."""
    path = os.fspath(path)
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
            matrix = np.load(place, allow_pickle=False)
        except (
            Exception
        ) as error:  # the header is Python: a parser's errors, memory for a shape that it claims
            raise DataError(f"{place}: cannot read the array: {_reason(error)}") from None
        yield place, matrix


def _from_archive(path: str) -> Iterator[tuple[str, Any]]:
    try:
        # Opened here, because NumPy leaves the file open if it is not an archive.
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path}: a single array, not an archive; write it with numpy.savez")
            for name in _in_order(path, [f"{name}.npy" for name in archive.files]):
                key = name.removesuffix(".npy")
                try:
                    matrix = archive[key]
                except Exception as error:
                    raise DataError(f"{path}: cannot read array `{key}`: {_reason(error)}") from None
                yield f"{path}, {key}", matrix
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check the path") from None
    except (DataError, UsageError):
        raise
    except Exception as error:
        raise DataError(f"{path}: not an archive written by numpy.savez: {_reason(error)}") from None


def _from_lines(path: str, errors: str) -> Iterator[tuple[str, Any]]:
    for number, content in enumerate(parsed(path, read_lines(path, errors), _of_line), 1):
        yield f"{path}:{number}", content


def _of_line(line: str) -> Any:
    content = parse_json(line, "write a list of rows") if line.strip() else []
    if not isinstance(content, dict):
        return content
    if "scores" not in content:
        raise DataError('an object without "scores"; write {"scores": [[…]]}')
    return content["scores"]


def _in_order(path: str, names: list[str]) -> list[str]:
    """Return names by the number at their end, which must be consecutive."""
    if not names:
        raise DataError(f"{path}: no matrices; expected arrays with numbered names, such as 0.npy or arr_0")
    found: dict[int, str] = {}
    for name in sorted(names):
        numbered = _NUMBERED.fullmatch(name)
        shown = name.removesuffix(".npy")
        if numbered is None:
            raise DataError(f"{path}: `{shown}` does not end in the number of its sentence pair")
        if (number := int(numbered[2])) in found:
            other = found[number].removesuffix(".npy")
            raise DataError(f"{path}: `{other}` and `{shown}` have the same number")
        found[number] = name
    first, last = min(found), max(found)
    if first > 1:
        raise DataError(f"{path}: matrix 0 (or 1) is missing; the first is number {first}")
    if last - first >= len(found):
        missing = next(number for number in range(first, last) if number not in found)
        raise DataError(f"{path}: matrix {missing} is missing, but there are {first} to {last}")
    return [found[number] for number in sorted(found)]


def _reason(error: BaseException) -> str:
    if "pickle" in str(error):
        # NumPy's own message advises to read it in spite of that.
        return "neither numbers nor an archive, or Python objects, which are never read"
    return str(error).partition("\n")[0] or type(error).__name__
