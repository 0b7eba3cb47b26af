"""Several files that go line by line, or sentence by sentence, together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from dualign.core.errors import DataError
from dualign.text.conllu import Sentence, read_conllu
from dualign.text.lines import read_lines, tokenize

_END = object()
_COMMENTS = ("# sent_id =", "# text =", "# newdoc", "# newpar", "# global.columns =")


def together(*streams: tuple[str, Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    """Items of all streams, each given with the name of its file; they must have equally many."""
    iterators = [iter(items) for _, items in streams]
    for count, items in enumerate(zip_longest(*iterators, fillvalue=_END)):
        if _END in items:
            counts = [
                count if item is _END else count + 1 + sum(1 for _ in rest)
                for item, rest in zip(items, iterators, strict=True)
            ]
            found = ", ".join(
                f"{name} has {number}" for (name, _), number in zip(streams, counts, strict=True)
            )
            raise DataError(
                f"numbers of sentences differ: {found}; give the same sentences in the same order"
            )
        yield items


def is_conllu(path: str) -> bool:
    """Whether a file is CoNLL-U by its name, perhaps compressed."""
    return _plain_name(path).endswith((".conllu", ".conll"))


def is_json(path: str) -> bool:
    """Whether a file is JSON lines by its name, perhaps compressed."""
    return _plain_name(path).endswith((".jsonl", ".ndjson"))


def read_sentences(path: str, conllu: bool, errors: str = "strict") -> Iterator[Sentence]:
    """Sentences of a CoNLL-U file, or of a text with a sentence a line, split at white space."""
    return read_conllu(path, errors) if conllu else _of_lines(path, errors)


def _of_lines(path: str, errors: str) -> Iterator[Sentence]:
    for number, line in enumerate(read_lines(path, errors), 1):
        if number == 1 and (line.startswith(_COMMENTS) or line.count("\t") == 9):
            raise DataError(
                f"{path}:1: read as text, but looks like CoNLL-U; call it .conllu, or say that it is "
                "(--target-format conllu)"
            )
        tokens = tokenize(line)
        if not tokens:
            raise DataError(
                f"{path}:{number}: an empty line; CoNLL-U has no empty sentences: remove the pair"
            )
        yield Sentence.of_tokens(tokens, [f"# text = {' '.join(tokens)}"], place=path)


def _plain_name(path: str) -> str:
    for suffix in (".gz", ".xz", ".zst"):
        path = path.removesuffix(suffix)
    return path
