"""Compressed data: the methods by suffix and by first bytes, compressors, and readers that notice damage."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, BinaryIO

from dualign._core.errors import DataError

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
# Of bzip2, a level and the first block, or the end, follow three letters that may begin a text, too.
MAGIC |= {b"BZh%d%b" % (n, after): "bzip2" for n in range(1, 10) for after in (b"1AY&", b"\x17rE8")}
"""How data of each method begin."""

SUFFIXES = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}
"""The suffix of names of files that are compressed by each method."""

METHODS = {suffix: method for method, suffix in SUFFIXES.items()}


class Unpacked:
    """The plain bytes of a packed file; damage is a `DataError` that names it."""

    def __init__(self, name: str, file: BinaryIO, method: str) -> None:
        self._name, self._file = name, file
        self._stream, self._damage = _decompressor(file, method)

    def read1(self, most: int) -> bytes | memoryview:
        """Return some bytes; none at the end."""
        try:
            part: bytes | memoryview = self._stream.read1(most)
        except self._damage as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            wrong = _wrong_name(self._name, self._file)
            what = f"corrupt or truncated compressed data ({error}); fetch the file or write it again"
            raise DataError(f"{self._name}: {f'{wrong}; rename it' if wrong else what}") from None
        return part

    def close(self) -> None:
        """Close what unpacks; the file is closed by whoever has opened it."""
        self._stream.close()


class _Frames:
    """The content of all frames of a packed file, each unpacked by what `begin` makes; `padding` in between.

    The libraries' own readers take damage after the first frame for the end, or do not notice that a file is
    cut off.
    """

    def __init__(self, file: BinaryIO, begin: Callable[[], Any], padding: bytes = b"") -> None:
        self._file, self._begin, self._padding = file, begin, padding
        self._frame: Any = None
        self._packed, self._plain = b"", memoryview(b"")

    def read1(self, most: int) -> memoryview:
        while not self._plain:
            self._packed = self._packed or self._file.read(1 << 16)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                break
            if self._frame is None:
                self._packed = self._packed.lstrip(self._padding)
                if not self._packed:
                    continue
                self._frame = self._begin()
            self._plain = memoryview(self._frame.decompress(self._packed))
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        part, self._plain = self._plain[:most], self._plain[most:]
        return part

    def close(self) -> None:
        """The file is closed by whoever has opened it."""


def packed_by(beginning: bytes) -> str | None:
    """By what method data that begin like this are compressed."""
    return next((method for magic, method in MAGIC.items() if beginning.startswith(magic)), None)


def _wrong_name(name: str, file: BinaryIO) -> str | None:
    """What the data are, if they do not begin as the suffix of the name says; else None."""
    suffix = os.path.splitext(name)[1]
    method = METHODS.get(suffix)
    if method is None or not file.seekable():
        return None
    file.seek(0)
    beginning = file.read(8)
    # Half a header, and what zstd may skip, are no other kind of data.
    skipped = method == "zstd" and beginning[1:4] == b"\x2a\x4d\x18"
    if skipped or any(magic.startswith(beginning[: len(magic)]) for magic in MAGIC if MAGIC[magic] == method):
        return None
    other = packed_by(beginning)
    return f"is {'not ' * (other is None)}{other or method} data, though its name ends in {suffix}"


def _decompressor(file: BinaryIO, method: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """The stream of plain bytes, and what it raises if the packed ones are damaged."""
    if method == "gzip":
        import gzip
        import zlib

        return gzip.GzipFile(fileobj=file, mode="rb"), (gzip.BadGzipFile, zlib.error, EOFError)
    if method == "bzip2":
        import bz2

        return _Frames(file, bz2.BZ2Decompressor), (OSError, EOFError)
    if method == "xz":
        import lzma

        return _Frames(file, lzma.LZMADecompressor, b"\0"), (lzma.LZMAError, EOFError)
    import zstandard

    # Files made with `zstd --long=31` need this window.
    frames = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    return _Frames(file, frames.decompressobj), (zstandard.ZstdError, EOFError)


def compressor(file: BinaryIO, method: str) -> Any:
    """The stream that packs what is written to it; content alone decides its bytes."""
    if method == "gzip":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    if method == "bzip2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if method == "xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)
