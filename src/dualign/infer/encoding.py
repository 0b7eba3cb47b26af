"""Text in the numbers of a model's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dualign.core.threads import spans
from dualign.model.vocabulary import Unknowns
from dualign.text.bitext import Bitext, Numbered, Pair, encode

if TYPE_CHECKING:
    from dualign.model.model import Model

CHUNK = 4096
"""Sentence pairs that are read, encoded and aligned together when text is streamed."""


class Encoded(NamedTuple):
    """A bitext in a model's numbers; `unknown` lists, for each side, the words numbered after the model's."""

    bitext: Bitext
    unknown: tuple[list[str], list[str]] = ([], [])


def encode_for(model: Model, text: Numbered | Iterable[Pair]) -> Encoded:
    """Number the words of a text by the model's vocabularies; new words come after the known ones."""
    source, target = Unknowns(model.source), Unknowns(model.target)
    if isinstance(text, Numbered):
        bitext = text.renumbered(source, target, model.options.lowercase)
    else:
        bitext = encode(text, source, target, model.options.lowercase)
    return Encoded(bitext, (source.new, target.new))


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
