"""Texts in tables, or cut by a tokeniser, as the plain files that commands read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import NamedTuple

from dualign._core.errors import DataError, explaining
from dualign._core.files.atomic import temporary_folder
from dualign._core.files.container import is_model_file
from dualign.commands.console import SILENT, Reporter
from dualign.hmm.model import Model
from dualign.text.blocks import TextFiles, read_blocks
from dualign.text.tokenizing import PLAIN, Cutting, cutting_of

_LINES = 1 << 12

_originals: ContextVar[dict[str, str]] = ContextVar("_originals")


def names_of(*paths: str | None) -> str:
    """The names of a text's files for a message: of what was copied, where they are copies."""
    copies = _originals.get({})
    names = (copies.get(path, path) for path in paths if path is not None)
    return " and ".join(dict.fromkeys("standard input" if name == "-" else name for name in names))


class PlainText(NamedTuple):
    """Files of lines: both sides, or one with both; the ids of the pairs, if they have any."""

    source: str
    target: str | None = None
    ids: str | None = None
    copied: bool = False
    """Whether these are copies that go when the block ends."""


@contextmanager
def plain_text(
    text: TextFiles, model: str | None = None, scratch: str | None = None, tell: Reporter = SILENT
) -> Iterator[PlainText]:
    """The text of one or two files as plain files; those that can be read by their names alone stay.

    A copy is made of a table whose columns are named (see `dualign.text.tables`), and of text for a `model`
    whose own text was cut by a tokeniser, which is cut in the same way.
    """
    # A file that is not a model is refused by whoever reads it for more.
    if model is not None and is_model_file(model):
        text = replace(text, cutting=_cutting_of_model(model))
    if text.cutting != PLAIN:
        tell.note(
            "note: the text is cut into tokens as that of {file} was; links must be of these tokens",
            file=model,
        )
    elif text.columns is None:
        yield PlainText(text.source, text.target)
        return
    with temporary_folder(scratch) as folder:
        copy = _copied(text, folder)
        names = (
            text.files if text.target is not None else (f"{text.source} (source)", f"{text.source} (target)")
        )
        with _naming(*zip((copy.source, str(copy.target)), names, strict=True)):
            yield copy


def _cutting_of_model(path: str) -> Cutting:
    options = Model.load(path).options
    return cutting_of(options.tokenize, options.whitespace)


def _copied(text: TextFiles, folder: str) -> PlainText:
    places = [os.path.join(folder, name) for name in ("source", "target", "ids")[: 2 + text.has_ids]]
    with explaining(folder, "write"), ExitStack() as stack:
        streams = [stack.enter_context(open(place, "wb")) for place in places]
        for block in read_blocks(text, _LINES):
            ids = "".join(f"{id}\n" for id in block.ids).encode()
            sides = (block.source, block.target or b"") if text.cutting == PLAIN else block.tokens()
            for stream, lines in zip(streams, (*sides, ids), strict=False):
                stream.write(lines)
    return PlainText(places[0], places[1], places[2] if text.has_ids else None, copied=True)


@contextmanager
def _naming(*copies: tuple[str, str]) -> Iterator[None]:
    """Errors about copies name what was copied, and so does `names_of`."""
    before = _originals.set({**_originals.get({}), **dict(copies)})
    try:
        yield
    except DataError as error:
        message = str(error)
        for copy, name in copies:
            message = message.replace(copy, name)
        raise DataError(message) from None
    finally:
        _originals.reset(before)
