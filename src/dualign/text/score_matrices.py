"""Matrices of scores, one for each sentence pair: `.npz`, a directory of `.npy`, or lines of JSON.

- `scores.npz`, as `numpy.savez(path, *matrices)` writes it: the name of an array ends in its number.
- A directory: `0.npy`, `1.npy` … or any names that end in a number. Other files in it are ignored.
- Lines of JSON (any other name; `-`; compressed by suffix): each line is a matrix as a list of rows, or an
  object that has one as `scores`. An empty line is a pair without words on one side.

Numbers are consecutive and begin with 0 or 1; a missing pair is an error. Rows are source words, columns
target words. Nothing in a file is executed (no pickles).

Matrices may also say how similar words are, as evidence: an emission p becomes p · exp(w · s) for the
similarity s of its two words, a factor that neither direction normalises, so that a word with no similar word
is left to null and to the lexicon.
"""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import DataError, refusing
from dualign._core.fields import check_value
from dualign._core.files.atomic import explaining
from dualign._core.files.streams import FilePath
from dualign.text.tables import parse_json
from dualign.text.utf8 import parsed, read_lines

MOST = 20.0
"""The largest |w · s|: kernels compute in single precision."""

MAGIC = b"\x93NUMPY"
"""How every file begins that `numpy.save` writes."""

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
        return _of_directory(path)
    if path.endswith(".npz"):
        return _of_archive(path)
    if path.endswith(".npy"):
        raise DataError(f"{path}: one array; name the directory it is in, or an .npz file")
    matrices = parsed(path, read_lines(path, errors), _of_line)
    return ((f"{path}:{number}", matrix) for number, matrix in enumerate(matrices, 1))


def _of_directory(path: str) -> Iterator[tuple[str, Any]]:
    with explaining(path, "read"):
        names = [name for name in os.listdir(path) if name.endswith(".npy")]
    for name in _in_order(path, names):
        place = os.path.join(path, name)
        yield place, _array(place, partial(open, place, "rb"))


def _of_archive(path: str) -> Iterator[tuple[str, Any]]:
    with explaining(path, "read"), open(path, "rb") as file:
        if file.read(6) == MAGIC:
            raise DataError(f"{path}: a single array, not an archive; write it with numpy.savez")
        with refusing(Exception, what="not an archive written by numpy.savez: {cause}", place=path):
            archive = zipfile.ZipFile(file)
        members = {f"{name.removesuffix('.npy')}.npy": name for name in archive.namelist()}
        for name in _in_order(path, list(members)):
            place = f"{path}, {name.removesuffix('.npy')}"
            yield place, _array(place, partial(archive.open, members[name]))


def _array(place: str, opened: Callable[[], Any]) -> Array:
    content = b""
    try:
        with opened() as stream:
            content = stream.read()
        matrix: Array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # the header is Python: a parser's errors, memory for a shape that it claims
        reason = str(error).partition("\n")[0] or type(error).__name__
        if not content.startswith(MAGIC):
            reason = "it is not what numpy.save writes"
        elif b"'|O'" in content[:1000]:
            reason = "it has Python objects, which are never read"
        raise DataError(f"{place}: cannot read the array: {reason}") from None
    return matrix


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
    numbers = sorted(found)
    first, last = numbers[0], numbers[-1]
    if first > 1:
        raise DataError(f"{path}: matrix 0 (or 1) is missing; the first is number {first}")
    if missing := [number for number, other in enumerate(numbers, first) if number != other]:
        raise DataError(f"{path}: matrix {missing[0]} is missing, but there are {first} to {last}")
    return [found[number] for number in numbers]


def emission_factors(
    lengths: tuple[Array, Array], matrices: Iterable[tuple[str, Any]], weight: float
) -> Iterator[Array]:
    """Yield what emissions are multiplied by, float32, in the first pairs of a text whose pairs have these
    `lengths`, source and target: from the similarities of their words, each with its place for messages."""
    check_value("similarity_weight", weight, least=-MOST, most=MOST)
    sizes = list(zip(lengths[0].tolist(), lengths[1].tolist(), strict=True))
    for number, (place, content) in enumerate(matrices):
        if number == len(sizes):
            raise DataError(f"{place}: a matrix too many; the text has {len(sizes):,} pairs")
        try:
            matrix = np.asarray(content)
        except ValueError:  # rows of different lengths
            matrix = np.empty(0, object)
        if matrix.dtype.kind not in "biuf":
            raise DataError(f"{place}: not a matrix of numbers")
        I, J = sizes[number]
        if matrix.size == I * J == 0:
            yield np.zeros(0, np.float32)
            continue
        if matrix.shape != (I, J):
            shown = " × ".join(map(str, matrix.shape))
            raise DataError(
                f"{place}: {shown or 'one number'}, but pair {number + 1} has {I} source and {J} target words"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            exponent = weight * matrix.astype(np.float64)
        if not np.isfinite(exponent).all():
            raise DataError(f"{place}: a similarity is not a finite number")
        if not (np.abs(exponent) <= MOST).all():
            raise DataError(f"{place}: a similarity times the weight {weight:g} is not within {MOST:g} of 0")
        yield np.exp(exponent).astype(np.float32)
