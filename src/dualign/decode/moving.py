"""Links moved to other positions of their sentences: of all tokens where some were left out, of words where
they belong to parts of words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign.hmm.encoding import EncodedText
from dualign.hmm.model import Model, Vocabulary
from dualign.text.corpus import Bitext, Sentences

if TYPE_CHECKING:
    from dualign.decode.decoders import Links


class PositionMap(NamedTuple):
    """New positions of the tokens of many sentences: token i of sentence n has `place[offsets[n] + i]`."""

    place: Array
    offsets: Array


def moved(links: Links, source: PositionMap | None, target: PositionMap | None) -> Links:
    """The links at new positions, None for a side that stays; of links that become one, the most probable."""
    pair = np.repeat(np.arange(len(links)), links.count)
    left, right, probability = links.source, links.target, links.probability
    if source is not None:
        left = source.place[source.offsets[pair] + left]
    if target is not None:
        right = target.place[target.offsets[pair] + right]
    order = np.lexsort((-probability, right, left, pair))
    pair, left, right, probability = (each[order] for each in (pair, left, right, probability))
    first = np.ones(len(pair), np.bool_)
    first[1:] = (np.diff(pair) != 0) | (np.diff(left) != 0) | (np.diff(right) != 0)
    count = np.bincount(pair[first], minlength=len(links)).astype(links.count.dtype)
    begin = (np.cumsum(count) - count).astype(links.begin.dtype)
    return replace(
        links,
        begin=begin,
        count=count,
        source=left[first].astype(np.int32),
        target=right[first].astype(np.int32),
        probability=probability[first],
    )


def spread_out(
    matrices: list[Array], text: EncodedText, source: PositionMap, target: PositionMap
) -> list[Array]:
    """Matrices (2, I, J) of pairs without some tokens, with rows and columns of 0 for these."""
    wide = []
    lengths = zip(text.bitext.source.lengths, text.bitext.target.lengths, strict=True)
    for n, ((I, J), matrix) in enumerate(zip(lengths, matrices, strict=True)):
        rows, columns = (side.place[side.offsets[n] : side.offsets[n + 1]] for side in (source, target))
        wide.append(np.zeros((2, I, J), matrix.dtype))
        wide[-1][:, rows[:, None], columns] = matrix
    return wide


def without_skipped(model: Model, text: EncodedText) -> tuple[EncodedText, PositionMap, PositionMap]:
    """A text without the tokens that the options skip, and where those that are left stand."""
    sides = [
        _without(sentences, vocabulary, unknown, model.options.skipped)
        for sentences, vocabulary, unknown in zip(
            (text.bitext.source, text.bitext.target), (model.source, model.target), text.unknown, strict=True
        )
    ]
    (left, source), (right, target) = sides
    return text._replace(bitext=Bitext(left, right)), source, target


def _without(
    sentences: Sentences, vocabulary: Vocabulary, unknown: list[str], skipped: frozenset[str]
) -> tuple[Sentences, PositionMap]:
    numbers = [vocabulary.numbers[word] for word in skipped if word in vocabulary.numbers]
    numbers += [len(vocabulary) + k for k, word in enumerate(unknown) if word in skipped]
    kept = ~np.isin(sentences.tokens, numbers)
    left = sentences.only(kept)
    place = np.flatnonzero(kept) - np.repeat(sentences.offsets[:-1], left.lengths)
    return left, PositionMap(place.astype(np.int32), left.offsets)
