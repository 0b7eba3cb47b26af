"""Text in the numbers of a model's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import spans
from dualign.model.vocabulary import Unknowns, Vocabulary
from dualign.text.bitext import Bitext, Numbered, encode

if TYPE_CHECKING:
    from dualign.model.model import Model
    from dualign.text.pairs import Pair

CHUNK = 4096
"""Sentence pairs that are read, encoded and aligned together when text is streamed."""


class Encoded(NamedTuple):
    """A bitext in a model's numbers; `unknown` lists, for each side, the words numbered after the model's."""

    bitext: Bitext
    unknown: tuple[list[str], list[str]] = ([], [])


def encode_for(model: Model, text: Numbered | Iterable[Pair]) -> Encoded:
    """Number the words of a text by the model's vocabularies; new words come after the known ones."""
    if isinstance(text, Numbered):
        text = text.lowered() if model.options.lowercase else text
        left, new_left = numbers_of(text.source_words, model.source)
        right, new_right = numbers_of(text.target_words, model.target)
        return Encoded(text.renumbered(left, right), (new_left, new_right))
    source, target = Unknowns(model.source), Unknowns(model.target)
    return Encoded(encode(text, source, target, model.options.lowercase), (source.new, target.new))


def numbers_of(words: list[str], vocabulary: Vocabulary) -> tuple[Array, list[str]]:
    """The numbers of different words by a vocabulary, and those words that it lacks."""
    known = vocabulary.numbers
    numbers = np.fromiter((known.get(word, -1) for word in words), np.int32, len(words))
    new = np.flatnonzero(numbers < 0)
    numbers[new] = np.arange(len(known), len(known) + len(new))
    return numbers, [words[n] for n in new]


def parts_of(model: Model, text: Numbered | Iterable[Pair]) -> Iterator[Encoded]:
    """A text in parts of CHUNK pairs; of a stream of pairs only one part is in memory."""
    if isinstance(text, Numbered):
        bitext, unknown = encode_for(model, text)
        for begin, end in spans(len(bitext), CHUNK):
            yield Encoded(bitext.slice(begin, end), unknown)
        return
    stream = iter(text)
    while chunk := list(islice(stream, CHUNK)):
        yield encode_for(model, chunk)
