"""Alignment that goes on where it was stopped, by whatever: a signal, a full disk, a power cut.

While a text is being aligned, the outputs are `FILE.part`, and `LINKS.resume` beside the links tells how far
they go: a place in the text, and the size of each part there. It is written every few seconds, after the
parts are safely on the disk, and replaced as a whole. Whoever goes on cuts the parts to these sizes and the
text at that place, so what is written twice is the same. It also holds what the result depends on; if
that has changed, going on would mix two results, and is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dualign._core import release
from dualign._core.errors import DataError, UsageError, refusing
from dualign._core.files.atomic import FileLocked, PartFile, explaining, part_of
from dualign._core.files.streams import is_regular, open_binary_output, pack
from dualign._core.progress import Clock
from dualign.commands.bundles import Outputs
from dualign.commands.outputs import PairTotals, Piece
from dualign.options import DECODING
from dualign.text.blocks import Position, TextFiles

EVERY = 5.0
"""Seconds between two records of how far we are."""

_HEAD = 1 << 20
_KIND = "dualign align"
_MOST = 1 << 62  # more lines or bytes than any file has
_NAMES = {
    "source": "the source text",
    "target": "the target text",
    "model": "the model",
    "glossary": "the glossary",
    "errors": "the treatment of bytes that are not UTF-8",
    "dualign": "the version of dualign",
    "probabilities": "the file of probabilities",
    "report": "the report",
    "tokens": "the file of tokens",
    "positions": "what the links are on",
    "scores": "the file of scores",
}


def check_resumable(outputs: Outputs, text: TextFiles) -> None:
    """Refuse what cannot be gone on with."""
    for wrong, why in (
        (text.columns is not None, "is for text files; write the columns of the table to files first"),
        (text.has_ids, "cannot write ids; leave them out"),
        (outputs.page is not None, "cannot write a page about the run; write a report instead"),
        (
            outputs.posteriors is not None,
            "cannot go on with an archive of posteriors; align in parts instead",
        ),
    ):
        if wrong:
            raise UsageError(f"{{resume=}} {why}", resume=True)
    for paths, does, remedy in (
        (text.files, "reads the text from where it stopped", "name files"),
        (filter(None, outputs.streamed), "continues a file", "name one"),
    ):
        for path in paths:
            if path == "-":
                raise UsageError(f"{{resume=}} {does}; {remedy} instead of -", resume=True)
            if os.path.exists(path) and not is_regular(path):
                what = f"{{resume=}} {does}, but {{path}} is not a regular file"
                raise UsageError(what, resume=True, path=path)


def extra_places(outputs: Outputs) -> list[str]:
    """The files that are written beside the outputs."""
    return [*map(part_of, filter(None, outputs.streamed)), record_of(outputs)]


def record_of(outputs: Outputs) -> str:
    """Where it is written how far we are."""
    return f"{os.path.realpath(outputs.links)}.resume"


def fingerprint(path: str | None, *, text: bool = True) -> dict[str, Any] | None:
    """What tells one content of a file from another without reading all of it.

    A model, unlike a `text`, begins with checksums of all that follows, and may be a copy.
    """
    if path is None:
        return None
    with explaining(path, "read"), open(path, "rb") as file:
        status = os.fstat(file.fileno())
        head = hashlib.sha256(file.read(_HEAD)).hexdigest()
    found = {"bytes": status.st_size, "beginning": head}
    return found | {"changed": status.st_mtime_ns} if text else found


def about_run(
    files: dict[str, str | None], options: dict[str, Any], outputs: Outputs, errors: str
) -> dict[str, Any]:
    """What the result depends on."""
    about: dict[str, Any] = {name: fingerprint(path, text=name != "model") for name, path in files.items()}
    about |= {"options": {name: options[name] for name in DECODING}, "errors": errors, "dualign": release()}
    about["positions"] = outputs.positions
    for name in ("probabilities", "report", "scores", "tokens"):
        path = getattr(outputs, name)
        about[name] = None if path is None else os.path.realpath(path)
    return json.loads(json.dumps(about))


class Resumable:
    """The parts of the outputs, and the record of how far they go."""

    def __init__(self, outputs: Outputs, about: dict[str, Any]) -> None:
        self.record = record_of(outputs)
        self._state = Position(), PairTotals(), [0] * len(outputs.streamed)
        self.is_complete = False
        self._about = about
        self._parts = [None if path is None else PartFile(path) for path in outputs.streamed]
        self._clock = Clock()
        self._read()

    @property
    def place(self) -> Position:
        """Where to go on."""
        return self._state[0]

    @property
    def counts(self) -> PairTotals:
        """What was counted before that place."""
        return self._state[1]

    def write(self, piece: Piece) -> None:
        """Write a piece."""
        for part, data in zip(self._parts, piece.contents, strict=True):
            if part is not None:
                part.write(data)
        sizes = [0 if part is None else part.size for part in self._parts]
        # All at once: a signal in between must not leave a place with the sizes of another.
        self._state = piece.end, self.counts + piece.counts, sizes
        if self._clock.seconds >= EVERY:
            self._keep()
            self._clock.restart()

    @contextmanager
    def opened(self) -> Iterator[Resumable]:
        """Inside, pieces can be written; at the end, the parts get their final names.

        If something goes wrong, what is there is kept for the next time.
        """
        if not self.is_complete:
            try:
                if not os.path.exists(self.record):
                    # Before the parts, which without it would seem to be somebody else's.
                    self._write_record()
                for part, size in zip(self._parts, self._state[2], strict=True):
                    if part is not None:
                        with self._with_remedy():
                            part.open(size)
                yield self
                if self.place.line == 0:
                    self._write_nothing()
                self.is_complete = True
                self._keep()
            except BaseException:
                with suppress(Exception):
                    self._keep()
                self._close()
                raise
        else:
            yield self
        try:
            for part, size in zip(self._parts, self._state[2], strict=True):
                if part is not None:
                    with self._with_remedy():
                        part.complete(size)
            with explaining(self.record, "write"):
                os.remove(self.record)
        finally:
            self._close()  # only now: nobody else may write a part before it has its final name

    def _close(self) -> None:
        for part in self._parts:
            if part is not None:
                part.close()

    def _write_nothing(self) -> None:
        """A compressed text of no lines has some bytes, too."""
        for part in self._parts:
            if part is not None:
                part.write(pack(b"", part.path))
        self._state = *self._state[:2], [0 if part is None else part.size for part in self._parts]

    def _keep(self) -> None:
        for part in self._parts:
            if part is not None:
                part.sync()
        self._write_record()

    def _write_record(self) -> None:
        place, counts, sizes = self._state
        state = {
            "kind": _KIND,
            "about": self._about,
            "place": list(place),
            "counts": list(counts),
            "sizes": sizes,
            "complete": self.is_complete,
        }
        with open_binary_output(self.record) as file:
            file.write(_sealed(state))

    def _read(self) -> None:
        """Take up the record, if there is one."""
        if not os.path.exists(self.record):
            for part in self._parts:
                if part is not None and os.path.exists(part.part):
                    raise DataError(
                        f"{part.part} exists, but not {self.record}, which tells how to go on with it; "
                        "remove or rename it to start afresh"
                    )
            return
        with explaining(self.record, "read"), open(self.record, "rb") as file:
            content = file.read()
        damaged = "damaged, cannot tell how to go on; {afresh}"
        with refusing(ValueError, RecursionError, what=damaged, place=self.record, afresh=self._afresh):
            state = _unsealed(content, len(self._parts))
        if differences := list(_differences(state["about"], self._about)):
            raise DataError(
                f"{self.record}: belongs to another run: {', '.join(differences)} changed; "
                f"give the same files and options as before, or {self._afresh}"
            )
        self._state = Position(*state["place"]), PairTotals(*state["counts"]), state["sizes"]
        self.is_complete = state["complete"]

    @property
    def _afresh(self) -> str:
        files = [self.record, *(part.part for part in self._parts if part is not None)]
        return f"remove {' and '.join(files)} to start afresh"

    @contextmanager
    def _with_remedy(self) -> Iterator[None]:
        try:
            yield
        except FileLocked:
            raise
        except DataError as error:
            raise error.with_remedy("{afresh}", afresh=self._afresh) from None


def _sealed(state: dict[str, Any]) -> bytes:
    """A record with a sum that tells whether it is whole."""
    text = json.dumps(state, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode()


def _unsealed(content: bytes, outputs: int) -> dict[str, Any]:
    """The inverse; a ValueError if it is not such a record of a run with this number of outputs."""
    seal, text, rest = content.decode().split("\n")
    if rest or hashlib.sha256(text.encode()).hexdigest() != seal:
        raise ValueError
    state = json.loads(text)
    # A sum that is right says that it is as written, not who wrote it.
    match state:
        case {"kind": kind, "about": dict(), "complete": bool()} if kind == _KIND:
            lengths = {"place": len(Position._fields), "counts": len(PairTotals._fields), "sizes": outputs}
            if all(_are_counts(state.get(name), length) for name, length in lengths.items()):
                return state
    raise ValueError


def _are_counts(numbers: Any, length: int) -> bool:
    """Whether it is a list of so many numbers of lines or bytes."""
    return (
        isinstance(numbers, list)
        and len(numbers) == length
        and all(type(number) is int and 0 <= number < _MOST for number in numbers)
    )


def _differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What has changed between two runs, in words."""
    for name in sorted({*old, *new} - {"options"}):
        if old.get(name) != new.get(name):
            yield _NAMES.get(name, name)
    before, now = old.get("options", {}), new.get("options", {})
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name} (it was {before.get(name)}, now it is {now.get(name)})"
