"""Files for arrays that are written once and read once, in a folder for scratch files.

Such a file has no name from the moment it is opened, so that it vanishes with the process, however that ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from dualign.core.arrays import Array
from dualign.core.errors import DataError

REMEDY = "make room there, or give another folder for scratch files"


class ScratchFile:
    """Arrays one after the other: first all are written, then, after `rewind`, they are read."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._file: Any = None
        with self._holding():
            self._file = tempfile.TemporaryFile(prefix="dualign-", dir=folder)  # noqa: SIM115

    def write(self, array: Array) -> None:
        """Append an array."""
        with self._holding():
            # Not `tofile`: of a disk that is full it says only how much it could not write.
            self._file.write(np.ascontiguousarray(array).data)

    def rewind(self) -> None:
        """Go back to the beginning, to read."""
        with self._holding():
            self._file.seek(0)

    def read(self, dtype: npt.DTypeLike, count: int) -> Array:
        """The next `count` numbers, or as many as there are."""
        array = np.empty(count, dtype)
        with self._holding():
            size: int = self._file.readinto(array.view(np.uint8).data)
        return array[: size // array.itemsize]

    def close(self) -> None:
        """Give its place on the disk back."""
        self._file.close()

    def __del__(self) -> None:
        """Files that were not read to their end, because of an error, are many: nobody else closes them."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    @contextmanager
    def _holding(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = self._folder or tempfile.tempdir or "the system's folder for temporary files"
            raise DataError(
                f"{place}: cannot hold scratch files: {error.strerror or error}; {REMEDY}"
            ) from None
