"""A model in one file: a JSON header and named arrays that are used as they lie there, not parsed.

| bytes | content |
|---|---|
| 0-7 | the magic `DUALIGN\\0` |
| 8-11 | format version, uint32 (all numbers are little-endian) |
| 12-15 | length of the header, uint32 |
| 16-19 | CRC-32 of bytes 0-15 and of the header |
| 20- | the header: UTF-8 JSON, keys sorted |
| then | the arrays in the order of their names, C order, each at the next multiple of 64 |

The header is `{"arrays": {name: {"checksum", "dtype", "offset", "shape"}}, "user": …}`, where `user` is the
caller's, `checksum` the array's CRC-32 and `offset` counts from the start of the file's data, which is the
first multiple of 64 after the header. Bytes between the parts are zero, and the file ends with the last
array. The same content always gives the same bytes.

Loading verifies every byte: the checksums, the zeros between, the length. CRC-32 sees each changed byte and
each damage of up to 32 bits in a row, and any other but for one case in four billion; it does not
protect from a forger. zlib computes it at 3.8 GB/s here, 0.04 s for 150 MB, so there is no need for a cheaper
sum and no option to skip it. Nothing in a file is ever executed: a header is JSON, and an array's type must
be one of a list of plain numbers.

The arrays belong to the process: the file is read into memory first and verified there, so that whatever
happens to it later, such as another model copied over it, changes nothing. Workers of a cluster map the files
of their work folder instead, which nobody else may change, and so share them. Whoever writes to an array
never changes the file. (Numba takes read-only arrays for another type and would compile every kernel once
more.)
"""

from __future__ import annotations

import codecs
import json
import math
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualign._core.errors import ModelError, UsageError, refusing
from dualign._core.files.atomic import explaining
from dualign._core.files.packed import SUFFIXES, packed_by
from dualign._core.files.streams import open_binary_output

FORMAT_VERSION = 1
"""Changes whenever files of the old layout, or readers of the old code, would be misunderstood."""

_MAGIC = b"DUALIGN\0"
_PREAMBLE = struct.Struct("<8sIII")
_SEALED = _PREAMBLE.size - 4
_ALIGNMENT = 64
# A header is a few kilobytes; the bound keeps a foreign file from being read into memory as one.
_LONGEST_HEADER = 1 << 26
_DTYPES = ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
_FOREIGN = {
    b"PK\x03\x04": "a zip archive, as NumPy and PyTorch write",
    b"\x93NUMPY": "a NumPy array",
    b"\x80": "a Python pickle, which dualign never reads",
}


def write_container(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    sync: bool = True,
) -> None:
    """Write `header` (what JSON can hold) and `arrays` (integers or floats) to `path`, whole or not at all.

    Arrays in another memory order or byte order are copied; others are written as they lie. Without `sync`,
    nobody waits until the disk has it all.
    """
    name = checked_path(path)
    plain = {key: _plain(key, arrays[key]) for key in sorted(arrays)}
    text = _header_text(name, header, plain)
    sealed = _PREAMBLE.pack(_MAGIC, FORMAT_VERSION, len(text), 0)[:_SEALED]
    with open_binary_output(name, sync=sync) as stream:
        front = sealed + struct.pack("<I", zlib.crc32(text, zlib.crc32(sealed))) + text
        stream.write(front)
        position = len(front)
        for array in plain.values():
            stream.write(bytes(_aligned(position) - position))
            stream.write(_bytes(array))
            position = _aligned(position) + array.nbytes


def read_container(
    path: str | os.PathLike[str], only: Collection[str] | None = None, *, mapped: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `write_container` wrote: the header and the arrays.

    Anything that is not exactly such a file is a `ModelError`. With `only` the names of some arrays, the
    content of all others is passed over. The arrays of a file that nobody will change in place may be
    `mapped`: processes share them, and those that are not used take no memory.
    """
    name = checked_path(path)
    content = _content(name, mapped)
    header, end = _read_header(name, content)
    arrays = {}
    for key, dtype, shape, begin, checksum in _places(name, header["arrays"], end):
        _check(not any(content[end:begin]), name, f"bytes {end} to {begin - 1} should be zero")
        end = begin + math.prod(shape) * dtype.itemsize
        _check_end(end, content, name, f"array `{key}`")
        if only is not None and key not in only:
            continue
        whole = zlib.crc32(content[begin:end]) == checksum
        _check(whole, name, f"array `{key}` does not match its checksum")
        try:
            arrays[key] = np.ndarray(shape, dtype, content, begin)
        except (ValueError, OverflowError) as error:
            # Too many axes, or an empty array with other axes beyond all bounds.
            raise _damaged(name, f"array `{key}` has an impossible shape: {error}") from None
    _check(end == len(content), name, f"{len(content) - end} bytes follow its last array")
    return header["user"], arrays


def _damaged(name: str, what: str, damage: str = "corrupt") -> ModelError:
    return ModelError(f"the model file is {damage}: {what}; copy it again or train it again", place=name)


def _check(right: bool, name: str, what: str, damage: str = "corrupt") -> None:
    """Refuse a file that is damaged."""
    if not right:
        raise _damaged(name, what, damage)


def _check_end(end: int, content: memoryview, name: str, what: str) -> None:
    text = f"{what} should end at byte {end}, the file does at {len(content)}"
    _check(end <= len(content), name, text, "truncated")


def is_model_file(path: str) -> bool:
    """Whether a file begins like one that `write_container` wrote.

    A pipe does not: what is read here would be lost to the next reader.
    """
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False  # whoever reads it will say what is wrong


def refuse_other_files(path: str, remedy: str, **values: Any) -> None:
    """Refuse to replace a file that is not a model: a text named in the wrong place would be lost."""
    if os.path.isfile(path) and os.path.getsize(path) and not is_model_file(path):
        raise UsageError(f"{{path}}: is not a model and would be overwritten; {remedy}", path=path, **values)


def checked_path(path: str | os.PathLike[str]) -> str:
    """The path of a model file as a string; what cannot hold a model is refused."""
    name = os.fspath(path)
    if name == "-":
        raise UsageError("a model cannot go through standard input or output; name a file")
    if name.endswith(tuple(SUFFIXES.values())):
        raise UsageError(
            f"{name}: a model is not compressed, so that processes can map it to memory; "
            f"give one that is not, without {os.path.splitext(name)[1]}"
        )
    return name


def _plain(key: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array in C order and little-endian."""
    dtype = np.dtype(array.dtype).newbyteorder("<")
    if dtype.str not in _DTYPES:
        raise UsageError(
            f"array `{key}` has dtype {array.dtype}, which a model file cannot hold; "
            "convert it to integers of 8 to 64 bits or floats of 16 to 64 bits"
        )
    # Not `ascontiguousarray`: it gives an array without axes one.
    return np.asarray(array, dtype=dtype, order="C")


def _bytes(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _header_text(name: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    offset = 0
    places = {}
    for key, array in arrays.items():
        offset = _aligned(offset)
        places[key] = {
            "checksum": zlib.crc32(_bytes(array)),
            "dtype": array.dtype.str,
            "offset": offset,
            "shape": array.shape,
        }
        offset += array.nbytes
    too_much = "the model's header is more than JSON can hold: {cause}"
    with refusing(TypeError, ValueError, RecursionError, by=UsageError, what=too_much, place=name):
        # Escaping all but ASCII also keeps lone surrogates, which UTF-8 has no bytes for.
        text = json.dumps({"arrays": places, "user": dict(header)}, sort_keys=True, allow_nan=False).encode()
    if len(text) > _LONGEST_HEADER:
        raise UsageError(
            f"{name}: a header of {len(text)} bytes is too long, the limit is {_LONGEST_HEADER}; "
            "store what is large as an array"
        )
    return text


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT


def _content(name: str, mapped: bool) -> memoryview:
    """Return the bytes of a file: a copy in memory, or the file itself, where writing changes a copy."""
    missing = "no such model file; check the path, or train one"
    with explaining(name, "read the model", ModelError, missing), open(name, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{name}: not a regular file, which a model must be; copy it to one")
        _check(status.st_size > 0, name, "it is empty", "truncated")
        if mapped:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        room = np.empty(status.st_size + _ALIGNMENT, np.uint8)
        begin = -room.ctypes.data % _ALIGNMENT
        content = room[begin : begin + status.st_size].data
        return content[: file.readinto(content)]


def _read_header(name: str, content: memoryview) -> tuple[dict[str, Any], int]:
    """The verified header, and where it ends."""
    start = bytes(content[: _PREAMBLE.size])
    if not _MAGIC.startswith(start[: len(_MAGIC)]):
        raise ModelError(f"{name}: not a dualign model but {_kind(bytes(content[:512]))}")
    _check(len(start) == _PREAMBLE.size, name, f"it has {len(start)} bytes", "truncated")
    _, version, length, checksum = _PREAMBLE.unpack(start)
    if version != FORMAT_VERSION:
        newer = f"newer than this dualign, which reads {FORMAT_VERSION}; upgrade dualign"
        older = f"older than what this dualign reads, {FORMAT_VERSION}; train the model again"
        raise ModelError(f"{name}: model format {version} is {newer if version > FORMAT_VERSION else older}")
    end = _PREAMBLE.size + length
    _check_end(end, content, name, "its header")
    _check(length <= _LONGEST_HEADER, name, f"a header cannot have {length} bytes")
    text = bytes(content[_PREAMBLE.size : end])
    whole = zlib.crc32(text, zlib.crc32(start[:_SEALED])) == checksum
    _check(whole, name, "its header does not match its checksum")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, f"its header is not JSON: {error}") from None
    match header:
        case {"arrays": dict(), "user": dict()}:
            return header, end
    raise _damaged(name, "its header lacks `arrays` or `user`")


def _places(
    name: str, arrays: dict[str, Any], header_end: int
) -> Iterator[tuple[str, np.dtype[Any], tuple[int, ...], int, int]]:
    """Each array's name, type, shape, first byte and checksum, in the file's order.

    The header's checksum says that it is as written, not that a sane writer wrote it; so nothing in it is
    trusted. Offsets follow from the shapes: one that differs is an error, and none can overlap.
    """
    data = _aligned(header_end)
    offset = 0
    for key in sorted(arrays):
        match arrays[key]:
            case {
                "checksum": int(checksum),
                "dtype": str(code),
                "offset": int(place),
                "shape": list(shape),
            } if code in _DTYPES and all(type(size) is int and size >= 0 for size in shape):
                offset = _aligned(offset)
                _check(place == offset, name, f"array `{key}` is said to lie where it cannot")
                dtype = np.dtype(code)
                yield key, dtype, tuple(shape), data + offset, checksum
                offset += math.prod(shape) * dtype.itemsize
            case _:
                raise _damaged(name, f"the description of array `{key}` makes no sense")


def _kind(start: bytes) -> str:
    """What a foreign file seems to be, from its first bytes."""
    if (method := packed_by(start)) is not None:
        return f"{method} data; decompress it first"
    for magic, kind in _FOREIGN.items():
        if start.startswith(magic):
            return kind
    with suppress(UnicodeDecodeError):
        # Not `bytes.decode`: the last character may be cut in two.
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
        if all(character.isprintable() or character.isspace() for character in text):
            return "text; a model is what `dualign train` writes"
    return "some other binary file; check the path"
