"""Text in the numbers of a model's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import spans
from dualign.model.vocabulary import Unknowns, Vocabulary
from dualign.text.bitext import Bitext, Numbered, Sentences, encode
from dualign.text.numbering import number_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from dualign.model.model import Model
    from dualign.text.pairs import Pair

CHUNK = 2048
"""Sentence pairs that are read, encoded and aligned together when text is streamed."""

FEW = 32
"""The same for a decoder that searches for a long time for each pair."""


class Lines(NamedTuple):
    """Lines of both sides as bytes, each with its `\\n`: as they were written, and blanks between tokens."""

    written: tuple[bytes, bytes]
    tokens: tuple[bytes, bytes]


class Encoded(NamedTuple):
    """A bitext in a model's numbers; `unknown` lists, for each side, the words numbered after the model's."""

    bitext: Bitext
    unknown: tuple[list[str], list[str]] = ([], [])
    lines: Lines | None = None
    """Where it was read from files, and somebody wants to know: what was read."""


def chunk_size(model: Model) -> int:
    """How many pairs to align together: enough that a lexicon row is read once for many of its words, and so
    few that all threads have something to do."""
    return FEW if model.options.decoder == "bidirectional" else CHUNK


def encode_for(model: Model, text: Numbered | Iterable[Pair]) -> Encoded:
    """Number the words of a text by the model's vocabularies; new words come after the known ones."""
    if isinstance(text, Numbered):
        text = text.lowered() if model.options.lowercase else text
        left, new_left = numbers_of(text.source_words, model.source)
        right, new_right = numbers_of(text.target_words, model.target)
        return Encoded(text.renumbered(left, right), (new_left, new_right))
    source, target = Unknowns(model.source), Unknowns(model.target)
    return Encoded(encode(text, source, target, model.options.lowercase), (source.new, target.new))


def encode_lines(model: Model, source: bytes, target: bytes) -> Encoded:
    """The same for lines of both sides, each with its `\\n`, in the form of `dualign.text.lines`."""
    lowercase, ascii = model.options.lowercase, model.options.whitespace == "ascii"
    (left, new_left), (right, new_right) = (
        number_lines(lines, words.table, lowercase, ascii=ascii, is_lower=lowercase and words.is_lower)
        for lines, words in ((source, model.source), (target, model.target))
    )
    return Encoded(Bitext(left, right), (new_left, new_right))


def numbers_of(words: list[str], vocabulary: Vocabulary) -> tuple[Array, list[str]]:
    """The numbers of different words by a vocabulary, and those words that it lacks."""
    known = vocabulary.numbers
    numbers = np.fromiter(map(known.get, words, repeat(-1)), np.int32, len(words))
    new = np.flatnonzero(numbers < 0)
    numbers[new] = np.arange(len(known), len(known) + len(new))
    return numbers, [words[n] for n in new]


def parts_of(model: Model, text: Numbered | Iterable[Pair]) -> Iterator[Encoded]:
    """A text in parts of CHUNK pairs; of a stream of pairs only one part is in memory."""
    return (encode() for encode in unencoded_parts(model, text, CHUNK))


def unencoded_parts(
    model: Model, text: Numbered | Iterable[Pair], size: int
) -> Iterator[Callable[[], Encoded]]:
    """A text in parts of that many pairs, to be encoded on any thread."""
    if isinstance(text, Numbered):
        text = text.lowered() if model.options.lowercase else text
        sides = [
            numbers_of(words, vocabulary)
            for words, vocabulary in ((text.source_words, model.source), (text.target_words, model.target))
        ]
        for begin, end in spans(len(text), size):
            yield partial(_renumbered, model, text, (begin, end), sides)
        return
    stream = iter(text)
    while chunk := list(islice(stream, size)):
        yield partial(encode_for, model, chunk)


def _renumbered(
    model: Model, text: Bitext, span: tuple[int, int], sides: list[tuple[Array, list[str]]]
) -> Encoded:
    """A part of a text, with these numbers in place of its own; of the new words only those that occur."""
    part = text.slice(*span)
    left, new_left = _with_numbers(part.source, *sides[0], len(model.source))
    right, new_right = _with_numbers(part.target, *sides[1], len(model.target))
    return Encoded(Bitext(left, right, similar=part.similar), (new_left, new_right))


def _with_numbers(
    sentences: Sentences, numbers: Array, new: list[str], known: int
) -> tuple[Sentences, list[str]]:
    tokens = numbers[sentences.tokens]
    unknown = np.flatnonzero(tokens >= known) if new else ()
    if len(unknown) == 0:
        return Sentences(tokens, sentences.offsets), []
    words, places = np.unique(tokens[unknown], return_inverse=True)
    tokens[unknown] = known + places
    return Sentences(tokens, sentences.offsets), [new[word - known] for word in words.tolist()]
