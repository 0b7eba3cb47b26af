"""Streams by file name: compression by suffix, output whole or not at all, errors that name the file.

Files called `.gz`, `.bz2`, `.xz` and `.zst` are (de)compressed (`dualign._core.files.packed`); `-` is
standard input or output. A pattern, or a list with commas between, is several files as one; paths with a
scheme (`s3://…`) are remote (`dualign._core.files.remote`).

Reading. Any failure, when opening or in the middle of a damaged archive, is a `DataError` that names the
file. An archive that ends early is an error, never a short text.

Writing. The bytes go to a temporary file beside the destination. If the `with` block succeeds, it is synced
and renamed to the destination, otherwise it is removed: readers see the old file or the new one. A symbolic
link is kept, and its target replaced. What is not a regular file (`/dev/null`, a named pipe) is written
directly. Commands refuse to overwrite what they read (`dualign.commands.command`). Compressed output depends
on the content alone: no time stamp, no file name.

A `BrokenPipeError` (the reader of our output went away) is passed on: the data are not at fault, and only the
command line knows how to end quietly.
"""

from __future__ import annotations

import glob
import io
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO

from dualign._core.errors import DataError, UsageError
from dualign._core.files.atomic import Temporary, explaining, temporary_folder
from dualign._core.files.packed import MAGIC, METHODS, SUFFIXES, Unpacked, compressor, packed_by

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

FilePath = str | os.PathLike[str]
"""How a caller may name a file; here it becomes a string."""

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BLOCK = 1 << 18
_PACKED_BY = 4  # how much larger a compressed text is, about
_NO_TEXT = {
    b"PK\3\4": ("a zip archive, as spreadsheets are", "name a spreadsheet .xlsx, or save it as text"),
    b"\xd0\xcf\x11\xe0": ("an old Office document", "save it as .xlsx, or as text"),
    b"%PDF-": ("a PDF document", "save it as text"),
}
"""How files begin that are no text, what they are, and a remedy."""
# Opening the second by its name would truncate a file that the shell has redirected us to.
_STANDARD_OUTPUT = ("-", "/dev/stdout")
_DESCRIPTORS = ("/dev/stderr", "/dev/fd/", "/proc/")


def is_remote(path: str) -> bool:
    """Whether a path has a scheme, and is for fsspec."""
    return _REMOTE.match(path) is not None


def is_several(path: str) -> bool:
    """Whether a path is a pattern such as `text.*.de.gz`, or a list with commas between, not one file."""
    if not any(sign in path for sign in ",*?["):
        return False
    return is_remote(path) or not os.path.exists(path)


def listed(path: str) -> list[str]:
    """The files that a path stands for: those of a pattern by name; nothing that does not exist."""
    if not is_several(path):
        return [path]
    found: list[str] = []
    for part in path.split(","):
        if not is_several(part):
            matches = [part] if is_remote(part) or os.path.exists(part) else []
        elif is_remote(part):
            from dualign._core.files.remote import remote_names

            matches = remote_names(part)
        else:
            matches = sorted(glob.glob(part))
        if not matches:
            raise DataError(f"{part}: no file has such a name; check the path, or the pattern")
        found += matches
    return found


def open_input(path: FilePath, begin: int = 0) -> io.BufferedReader:
    """Read the bytes of `path`, decompressed by its suffix; `-` is standard input, which stays open, and is
    decompressed if it begins like compressed data.

    The first `begin` bytes are passed over: at no cost in a plain file.
    """
    path = os.fspath(path)
    if path == "-":
        buffer = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            raise DataError("standard input is closed; redirect a file into it, or name one")
        method = packed_by(buffer.peek(8)) if hasattr(buffer, "peek") else None
        return _after(begin, "standard input", _reader("standard input", buffer, method, owned=False))
    method = _method(path)
    if is_several(path) or is_remote(path):
        from dualign._core.files.remote import Joined, open_remote

        if is_several(path):
            return _after(begin, path, io.BufferedReader(Joined(listed(path), open_input), _BLOCK))
        remote = _reader(path, open_remote(path), None)
        return _after(begin, path, remote if method is None else _reader(path, remote, method))
    with explaining(path, "read"):
        file = open(path, "rb")  # noqa: SIM115 - closed by `_Source.close`
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode):
        if method is None and begin <= status.st_size:
            file.seek(begin)
            begin = 0
        elif method is not None and status.st_size == 0:
            # `gzip.GzipFile` reads no bytes as an empty text; we refuse them, like gzip(1).
            file.close()
            raise DataError(f"{path}: the file is empty, without a {method} header; write it again")
    return _after(begin, path, _reader(path, file, method))


def _reader(name: str, file: Any, method: str | None, *, owned: bool = True) -> io.BufferedReader:
    """The bytes of a file, decompressed; it is closed with the reader if that owns it."""
    stream = file if method is None else Unpacked(name, file, method)
    return io.BufferedReader(_Source(name, stream, file if owned else None), _BLOCK)


def _after(begin: int, name: str, stream: io.BufferedReader) -> io.BufferedReader:
    """The stream after its first bytes."""
    while begin > 0:
        part = stream.read1(min(begin, _BLOCK))
        if not part:
            stream.close()
            raise DataError(f"{name}: ends {begin} bytes before the place to go on from; it has changed")
        begin -= len(part)
    return stream


@contextmanager
def open_output(path: FilePath) -> Iterator[TextIO]:
    """Write UTF-8 text with `\\n` line ends to `path`, whole or not at all."""
    with open_binary_output(path) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        yield text
        # If this is not reached, `binary` is closed first, and what `text` still holds is dropped.
        text.flush()


def check_input(path: str) -> None:
    """Raise now the `DataError` that opening a file that does not exist would raise."""
    if path != "-" and not is_remote(path) and not is_several(path) and not os.path.exists(path):
        with explaining(path, "read"):
            raise FileNotFoundError(path)


def check_output(path: str) -> None:
    """Raise now the `DataError` that opening `path` for output would raise for its place or its rights."""
    if path in _STANDARD_OUTPUT or is_remote(path):
        return
    with explaining(path, "write"):
        final = _replaceable(path)
        if final is None:
            return
        folder = os.path.dirname(final)
        if not os.path.isdir(folder):
            raise FileNotFoundError(path)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(path)


def check_apart(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """Refuse to write what is read, `dualign align a b -o b`, and two outputs to one place."""
    files = [each for path in inputs for each in listed(path)]
    for output, other in product(outputs, files):
        if _is_same(output, other):
            what = "{path} is both read and written, and would be lost; name another output"
            raise UsageError(what, path=output)
    places = [path if path == "-" else os.path.realpath(path) for path in outputs]
    for path, place in zip(outputs, places, strict=True):
        if places.count(place) > 1:
            what = "two outputs are written to the same place, {path}; give each its own"
            raise UsageError(what, path=path)


def _is_same(output: str, other: str) -> bool:
    """Return whether an output is a file that is read, or one in a folder that is read."""
    with suppress(OSError, ValueError):
        if os.path.isdir(other):
            folder = os.path.dirname(os.path.realpath(output))
            return os.path.isfile(output) and os.path.samefile(folder, other)
        return os.path.samefile(output, other) and os.path.isfile(other)
    return False


def pack(data: bytes, path: str) -> bytes:
    """Compress a part of what goes to `path`, by its suffix, so that several threads can compress.

    The concatenated parts are a valid file; see `packed` of `open_binary_output`.
    """
    method = _method(path) if path not in _STANDARD_OUTPUT else None
    if method is None:
        return data
    buffer = io.BytesIO()
    stream = compressor(buffer, method)
    stream.write(data)
    stream.close()
    return buffer.getvalue()


@contextmanager
def open_binary_output(path: FilePath, *, packed: bool = False, sync: bool = True) -> Iterator[BinaryIO]:
    """Write bytes to `path`, whole or not at all, without seeking; `packed` ones are not compressed.

    `sync`: the file gets its name when it is on the disk.
    """
    path = os.fspath(path)
    if is_remote(path):
        from dualign._core.files.remote import upload

        with temporary_folder() as folder:
            local = os.path.join(folder, f"output{os.path.splitext(path)[1]}")
            with open_binary_output(local, packed=packed) as stream:
                yield stream
            upload(local, path)
        return
    temporary = None
    if path in _STANDARD_OUTPUT:
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is None:
            raise DataError("standard output is closed or takes no bytes; name a file")
        sys.stdout.flush()
        sink = _Sink("standard output", buffer, owned=False)
    else:
        with explaining(path, "write"):
            if (final := _replaceable(path)) is not None:
                temporary = Temporary(final)
            file = open(path, "wb") if temporary is None else temporary.file  # noqa: SIM115 - `_Sink` does
        sink = _Sink(path, file, owned=True)
    writer = io.BufferedWriter(sink, _BLOCK)
    try:
        sink.compress(None if packed else _method(path))
        yield writer
        writer.flush()
        sink.finish(sync=sync and temporary is not None)
        if temporary is not None:
            with explaining(path, "write"):
                temporary.rename()
    except BaseException:
        sink.abandon()
        if temporary is not None:
            temporary.remove()
        raise
    finally:
        writer.close()


def flush_through(stream: IO[bytes]) -> None:
    """Pass on what was written to an output so far: a buffer does not ask what is below it to do so."""
    stream.flush()
    if isinstance(sink := getattr(stream, "raw", None), _Sink):
        sink.pass_on()


class _Source(io.RawIOBase):
    """A stream whose read errors are `DataError`s with the file's name; closing it closes `file`."""

    def __init__(self, name: str, stream: Any, file: Any) -> None:
        self._name, self._stream, self._file = name, stream, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        with explaining(self._name, "read"):
            # Lines from a pipe are passed on when they come, not when a block is full: not `readinto`, nor
            # `readinto1`, which reads on after what was looked at before.
            part = self._stream.read1(len(view))
        view[: len(part)] = part
        return len(part)

    def close(self) -> None:
        if self._file is not None and not self.closed:
            self._stream.close()
            self._file.close()
        super().close()


class _Sink(io.RawIOBase):
    """A stream whose write errors are `DataError`s with the file's name; `abandon` drops the rest."""

    def __init__(self, name: str, file: BinaryIO, *, owned: bool) -> None:
        self._name = name
        self._file = file
        self._owned = owned
        self._stream: Any = file
        self._abandoned = False

    def compress(self, method: str | None) -> None:
        """Compress what will be written; a separate step, because writing the header may fail."""
        if method is not None:
            with explaining(self._name, "write"):
                self._stream = compressor(self._file, method)

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        if not self._abandoned:
            with explaining(self._name, "write"):
                self._stream.write(data)
        return memoryview(data).nbytes

    def pass_on(self) -> None:
        """Flush what was written, if it is not compressed. (`flush` is called when this is closed, too.)"""
        if not self._abandoned and self._stream is self._file:
            with explaining(self._name, "write"):
                self._file.flush()

    def finish(self, *, sync: bool) -> None:
        """Write what compressor and buffer hold back, down to the disk if `sync`; close if `owned`."""
        with explaining(self._name, "write"):
            if self._stream is not self._file:
                self._stream.close()
            self._file.flush()
            if sync:
                os.fsync(self._file.fileno())
            if self._owned:
                self._file.close()

    def abandon(self) -> None:
        """Ignore further writes and close; errors are ignored, since one is being raised already."""
        self._abandoned = True
        if self._owned:
            for stream in (self._stream, self._file):
                with suppress(OSError, ValueError):
                    stream.close()


def checksum(path: str) -> str:
    """Return a checksum of a file as it lies there, packed or not."""
    import hashlib

    with explaining(path, "read"), open(path, "rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def refuse_packed(path: str, beginning: bytes) -> None:
    """Refuse what is no text: compressed data, whose suffix must say so, archives, and UTF-16."""
    for magic, method in MAGIC.items():
        if beginning.startswith(magic):
            remedy = "decompress it first" if path == "-" else f"name the file {SUFFIXES[method]}"
            raise DataError(f"{path}: looks like {method} data; {remedy}")
    for magic, (what, remedy) in _NO_TEXT.items():
        if beginning.startswith(magic):
            raise DataError(f"{path}: looks like {what}; {remedy}")
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in beginning[:4096]:
        raise DataError(f"{path}: looks like UTF-16; convert it to UTF-8, for example with iconv")


def plain_name(path: str) -> str:
    """The last part of a path, without its compression suffix; what is not UTF-8 is U+FFFD."""
    name, suffix = os.path.splitext(os.path.basename(path))
    return readable(name if suffix in METHODS else name + suffix)


def readable(name: str) -> str:
    """A file name as text; bytes of it that are not UTF-8 are U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def base_name(path: str) -> str:
    """Return how a file is called for short."""
    return plain_name(path) if path != "-" else "standard input"


def named(item: str) -> tuple[str, str]:
    """Return name and file of `NAME=FILE`, or of `FILE`, which is then named after the file."""
    name, equals, path = item.partition("=")
    if equals and name and path and not os.path.exists(item):
        return name, path
    return base_name(item), item


def is_regular(path: str) -> bool:
    """Whether it is a file that can be read again, unlike a pipe or standard input."""
    return path != "-" and (os.path.isfile(path) or is_remote(path) or is_several(path))


def is_compressed(path: str) -> bool:
    """Whether a file is decompressed when it is read, by its name."""
    return path != "-" and not is_several(path) and _method(path) is not None


def text_size(path: str | None) -> int:
    """About how many bytes of text a file has; 0 for what is not a regular file."""
    if path is None or not is_regular(path):
        return 0
    if is_several(path):
        return sum(map(text_size, listed(path)))
    if is_remote(path):
        from dualign._core.files.remote import remote_size

        size = remote_size(path)
    else:
        size = os.stat(path).st_size
    return size * (1 if _method(path) is None else _PACKED_BY)


def _method(path: str) -> str | None:
    return METHODS.get(os.path.splitext(path)[1])


def _replaceable(path: str) -> str | None:
    """The regular file behind `path`, existing or to be made; None if it is written directly."""
    if not path:
        raise DataError('"" is no name of a file; name one to write')
    if path.endswith("/"):
        raise IsADirectoryError(path)
    final = os.path.realpath(path)
    if os.path.abspath(path).startswith(_DESCRIPTORS):
        return None
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return final
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(path)
    if not stat.S_ISREG(mode):
        return None
    if not os.access(path, os.W_OK):
        # A rename would replace it, but somebody removed the right to write on purpose.
        raise PermissionError(path)
    return final
