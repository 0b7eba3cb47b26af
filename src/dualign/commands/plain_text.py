"""Texts in tables and trees as the plain files that commands read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from dualign._core.errors import DataError, UsageError
from dualign._core.files.atomic import temporary_folder
from dualign._core.files.container import is_model_file
from dualign._core.files.places import kept_apart
from dualign._core.files.streams import explaining
from dualign.commands.console import SILENT, Reporter
from dualign.hmm.model import Model
from dualign.text.blocks import TextFiles
from dualign.text.conllu import FORM, is_conllu, read_conllu
from dualign.text.formats.pharaoh import like_links
from dualign.text.tables import Columns, kind_of, parse_columns, read_rows
from dualign.text.tokenizing import PLAIN, Cutting, cutting_of

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
    source: str,
    target: str | None = None,
    *,
    columns: str | None = None,
    model: str | None = None,
    errors: str = "strict",
    scratch: str | None = None,
    tell: Reporter = SILENT,
) -> Iterator[PlainText]:
    """The text of one or two files of any kind, as plain files; those that are plain already stay.

    A single file may be TSV, CSV, JSON lines or XLSX, with `columns` as in `dualign.text.tables`. Of a
    pair of files, either may be CoNLL-U, whose words are the tokens: a blank in one becomes `_`. Text for a
    `model` whose own text was cut by a tokeniser is cut in the same way.
    """
    with _plain_files(source, target, columns, errors, scratch) as text:
        # A file that is not a model is refused by whoever reads it for more.
        cutting = _cutting_of_model(model) if model is not None and is_model_file(model) else PLAIN
        if cutting.plain:
            yield text
            return
        tell.note(
            "note: the text is cut into tokens as that of {file} was; links must be of these tokens",
            file=model,
        )
        with kept_apart(), temporary_folder(scratch) as folder:
            yield _copied_tokens(text, cutting, folder, errors)


def _cutting_of_model(path: str) -> Cutting:
    options = Model.load(path).options
    return cutting_of(options.tokenize, options.whitespace)


def _copied_tokens(text: PlainText, cutting: Cutting, folder: str, errors: str) -> PlainText:
    places = [os.path.join(folder, name) for name in ("source", "target")]
    with explaining(folder, "write"), ExitStack() as stack:
        streams = [stack.enter_context(open(place, "w", encoding="utf-8", newline="\n")) for place in places]
        for pair in TextFiles(text.source, text.target, errors, cutting).pairs():
            for stream, words in zip(streams, pair, strict=True):
                stream.write(" ".join(words) + "\n")
    return PlainText(places[0], places[1], text.ids, copied=True)


@contextmanager
def _plain_files(
    source: str, target: str | None, columns: str | None, errors: str, scratch: str | None
) -> Iterator[PlainText]:
    """The same, as the words stand in the files."""
    kind = kind_of(source, columns) if target is None else None
    if target is not None and columns is not None:
        raise UsageError("{columns=} is for one file with both sides; name one", columns=columns)
    trees = [path is not None and is_conllu(path) for path in (source, target)]
    if kind is None and not any(trees):
        yield PlainText(source, target)
        return
    if target is None and trees[0]:
        raise UsageError(f"{source}: CoNLL-U has one language; name the file of the other, too")
    if "-" in (source, target) and kind == "xlsx":
        raise UsageError("a spreadsheet cannot come from standard input; name the file")
    # Within one block, so that what is read here is not written by a job inside.
    with kept_apart(), temporary_folder(scratch) as folder:
        if target is None:
            rows = _copied_rows(source, None if columns is None else parse_columns(columns), folder, errors)
            with _naming((rows.source, f"{source} (source)"), (str(rows.target), f"{source} (target)")):
                yield rows
            return
        left = _copied_words(source, "source", folder, errors) if trees[0] else source
        right = _copied_words(target, "target", folder, errors) if trees[1] else target
        with _naming((left, source), (right, target)):
            yield PlainText(left, right, copied=True)


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


def _copied_rows(path: str, columns: Columns | None, folder: str, errors: str) -> PlainText:
    names = ("source", "target", "ids") if columns is not None and columns.has_id else ("source", "target")
    places = [os.path.join(folder, name) for name in names]
    with explaining(folder, "write"), ExitStack() as stack:
        streams = [stack.enter_context(open(place, "w", encoding="utf-8", newline="\n")) for place in places]
        for number, row in enumerate(read_rows(path, columns, errors=errors), 1):
            if len(row) == 3 and (not row[2].strip() or like_links(row[2])):
                what = f"the id `{row[2]}` looks like a link" if row[2].strip() else "the id is empty"
                raise DataError(f"{path}, pair {number}: {what}; leave the ids out, or give others")
            for stream, cell in zip(streams, row, strict=True):
                stream.write(f"{cell}\n")
    return PlainText(places[0], places[1], places[2] if len(places) == 3 else None, copied=True)


def _copied_words(path: str, name: str, folder: str, errors: str) -> str:
    place = os.path.join(folder, name)
    with explaining(folder, "write"), open(place, "w", encoding="utf-8", newline="\n") as stream:
        for sentence in read_conllu(path, errors):
            stream.write(" ".join("_".join(form.split()) for form in sentence.column(FORM)) + "\n")
    return place
