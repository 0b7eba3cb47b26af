"""Files of a work folder, which all machines see: each is made once, and says what it was made from.

A file is a container of arrays (`dualign._core.files.container`): it appears whole, under its final name,
and every byte of it has a checksum. Its header holds a mark of all that it depends on. Whoever finds it
whole, with the mark of what is wanted, need not make it again: that is how work that was interrupted goes on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from dualign._core import release
from dualign._core.arrays import Array
from dualign._core.errors import DataError, ModelError
from dualign._core.files.container import read_container, write_container
from dualign.hmm.model import Model

Arrays = Mapping[str, Array]
Others = TypeVarTuple("Others")
Result = TypeVar("Result")


PROTOCOL = 4
"""Changes whenever files of the same name have another content than before."""


def mark_of(*parts: object) -> str:
    """What tells arrays, and what has a `repr`, from any others; the release of dualign is part of it."""
    found = hashlib.sha256(f"{release()} {PROTOCOL}".encode())
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype} {part.shape}".encode())
            found.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            found.update(part if isinstance(part, bytes) else repr(part).encode())
        found.update(b"\0")
    return found.hexdigest()


def is_whole(path: str, mark: str) -> bool:
    """Whether a file is there, undamaged, and was made from this."""
    with suppress(ModelError):
        return read_container(path, mapped=True)[0].get("mark") == mark
    return False


def keep(path: str, mark: str, arrays: Arrays, header: Mapping[str, Any] = {}) -> None:
    """Write a file, perhaps in place of one that was read and is not what is wanted.

    Nobody waits for the disk: if the machine fails before the file is there, its checksum says so.
    """
    write_container(path, {"mark": mark, **header}, arrays, sync=False)


def made(path: str, only: Collection[str] | None = None) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header and arrays of a file that must be there; `only` some arrays are read and verified."""
    try:
        return read_container(path, only, mapped=True)
    except ModelError as error:
        reason = str(error).removeprefix(f"{path}: ").split(";")[0]
        raise DataError(
            f"{path}: {reason}; repeat the same command, which makes this file again and goes on"
        ) from None


def remembered(read: Callable[[str, *Others], Result]) -> Callable[[str, *Others], Result]:
    """What a function reads from a file is kept until the file, which is mapped, or the function's other
    arguments change."""
    last: tuple[object, Result] | None = None  # replaced as a whole: a worker may have several threads

    def found(path: str, /, *args: *Others) -> Result:
        nonlocal last
        key: object = None
        with suppress(OSError):
            status = os.stat(path)
            key = path, status.st_ino, status.st_size, status.st_mtime_ns, args
        if (known := last) is not None and key is not None and known[0] == key:
            return known[1]
        last = known = None  # what it holds may be large
        value = read(path, *args)
        last = key, value
        return value

    return found


def model_mark(model: Model) -> str:
    """What tells a model from any other."""
    arrays = model.arrays()
    return mark_of(
        *(part for name in sorted(arrays) for part in (name, arrays[name])), model.options.as_dict()
    )


def model_path(folder: str, mark: str) -> str:
    """The file of a model with this mark."""
    return os.path.join(folder, f"model-{mark[:20]}")


def kept_model(folder: str, model: Model, mark: str) -> str:
    """A model in a file for the workers, whose name tells its content; returns the path."""
    path = model_path(folder, mark)
    try:
        Model.load(path, mapped=True)
    except ModelError:
        model.save(path, sync=False)
    return path


def remove(*paths: str) -> None:
    """Remove files that are not needed any more."""
    for path in paths:
        with suppress(OSError):
            os.remove(path)
