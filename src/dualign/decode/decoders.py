"""Aligning text with a model: blocks of sentence pairs in, links out.

How well the two sides of a sentence pair fit, by the model that aligned them: for filters of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import html_table
from dualign._core.errors import UsageError
from dualign.decode import choosing as kernels
from dualign.decode.symmetrize import METHODS
from dualign.hmm.blocks import Block
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import EncodedText
from dualign.hmm.model import Model, Vocabulary
from dualign.hmm.positions import Fertilities
from dualign.options import Options
from dualign.text.corpus import Bitext, Sentences
from dualign.text.links import Links, PositionMap


class PairScore(NamedTuple):
    """Scores of one sentence pair; they do not depend on the pairs that are aligned with it.

    `target_given_source` is log p(target | source) / J for a target of J words, the sum over all alignments
    by the model's own chain (natural logarithm, before any projection); `source_given_target` is the same
    with the sides exchanged. Both are NaN for a pair with an empty side, or one too long to align. They are
    log-probabilities up to two approximations: words that never occurred together have a constant floor, and
    words that the model does not know are scored by their spelling.

    `mean_probability` is that of the links, 0 if there are none; `unlinked` the share of the words of both
    sides that have no link, 1 if there are none.
    """

    target_given_source: float
    source_given_target: float
    mean_probability: float
    unlinked: float

    def _repr_html_(self) -> str:
        return html_table((name.replace("_", " "), f"{value:.4f}") for name, value in self._asdict().items())


def scores_of(links: DecodedLinks) -> Iterator[PairScore]:
    """The scores of each pair, from its links and likelihoods."""
    I, J = links.lengths.T
    empty = (I == 0) | (J == 0)
    pair = links.pair
    # Each sum over the links of one pair alone, in their order: other pairs must not change its rounding.
    total = np.bincount(pair, links.probability, len(links))
    linked = sum(_linked(pair, side, len(links)) for side in (links.source, links.target))
    words, count = np.maximum(I + J, 1), np.maximum(links.counts, 1)
    columns = (
        np.where(empty, nan, links.likelihood[:, 0] / np.maximum(J, 1)),
        np.where(empty, nan, links.likelihood[:, 1] / np.maximum(I, 1)),
        total / count,
        1 - linked / words,
    )
    return map(PairScore, *(column.tolist() for column in columns))


def _linked(pair: Array, word: Array, pairs: int) -> Array:
    """How many words of one side have a link, for each pair."""
    different = np.unique((pair.astype(np.int64) << 32) | word)
    return np.bincount(different >> 32, minlength=pairs)


MOST_CELLS = 10_000_000
"""A pair with more cells is left without links: with its chains and cells it would take half a gigabyte."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DecodedLinks(Links):
    """Links that a decoder chose, with their probabilities and what is known of each pair.

    `score` is the value of a pair's links to the decoder, `bound` an upper bound on that of any set of links,
    `certified` whether they are equal; both are NaN for a pair that the decoder had to leave to the chains.
    `rounds`, `seconds`: of the search for a pair, 0 if there is none; `trace`: bound and score by round, or
    empty. `too_long` marks the pairs that were not aligned because of their size. `lengths` int64 (pairs, 2):
    source and target words that were aligned; `likelihood` float64 (pairs, 2): see `Block`.
    """

    probability: Array
    score: Array
    bound: Array
    certified: Array
    rounds: Array
    seconds: Array
    trace: Array
    too_long: Array
    lengths: Array
    likelihood: Array


def no_links(pairs: int) -> DecodedLinks:
    """What is known, without any model, of pairs that all have an empty side."""
    found = room_for(np.zeros(pairs, np.int64))
    found.certified[:] = True
    return packed(found, np.zeros((pairs, 2), np.int64), np.zeros((pairs, 2)))


def check_constraints(options: Options, constraints: ConstraintSet | None) -> None:
    """Refuse constraints where they would be ignored."""
    if constraints is not None and options.decoder in ("viterbi", "bidirectional"):
        raise UsageError(
            f"the {options.decoder} decoder looks at no constraints; use soft-union or posterior with them"
        )


class Alignable(NamedTuple):
    """A text as it is decoded: without tokens that are skipped, and with pairs of too many cells emptied.

    `moves`: where the tokens that are left stand, if some were skipped.
    """

    text: EncodedText
    too_long: Array
    moves: tuple[PositionMap, PositionMap] | None = None

    def finished(self, links: DecodedLinks) -> DecodedLinks:
        """The links of this text, at the positions that their words have among all."""
        links = replace(links, too_long=self.too_long)
        return links if self.moves is None else links.moved(*self.moves)


def alignable(
    model: Model, text: EncodedText, constraints: ConstraintSet | None, matrices: bool
) -> Alignable:
    """Prepare a text for the decoder that the model's options name, and refuse what it cannot do."""
    check_constraints(model.options, constraints)
    moves = None
    if model.options.skip_tokens:
        if len(text.bitext.similar.begin):
            raise UsageError("similarities are those of all tokens; leave skip_tokens out")
        if matrices:
            raise UsageError("posteriors are those of all tokens; leave skip_tokens out")
        text, *places = without_skipped(model, text)
        moves = places[0], places[1]
    too_long = text.bitext.source.lengths * text.bitext.target.lengths > MOST_CELLS
    return Alignable(text._replace(bitext=text.bitext.without(too_long)), too_long, moves)


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


def joined(blocks: Sequence[DecodedLinks]) -> DecodedLinks:
    """The links of consecutive blocks in one."""
    if len(blocks) < 2:
        return blocks[0] if blocks else no_links(0)
    flat: dict[str, Any] = {
        name: np.concatenate([getattr(block, name) for block in blocks])
        for name in ("counts", "source", "target", "probability", *DecodedLinks.__slots__)
    }
    return DecodedLinks(offsets=np.concatenate(([0], np.cumsum(flat.pop("counts")))), **flat)


def packed(found: kernels.LinkBuffer, lengths: Array, likelihood: Array, **search: Array) -> DecodedLinks:
    """Links without the room that they did not use; `search`: what a decoder that searches says of pairs."""
    pairs = len(found.number)
    known: dict[str, Any] = {
        "score": found.score, "bound": found.bound, "certified": found.certified,
        "rounds": np.zeros(pairs, np.int64), "seconds": np.zeros(pairs), "trace": np.empty(0),
    }  # fmt: skip
    offsets = np.concatenate(([0], np.cumsum(found.number, dtype=np.int64)))
    place = np.arange(offsets[-1]) + np.repeat(found.room - offsets[:-1], found.number)
    return DecodedLinks(
        offsets, found.source[place], found.target[place], probability=found.probability[place],
        too_long=np.zeros(pairs, np.bool_), lengths=lengths, likelihood=likelihood, **known | search,
    )  # fmt: skip


def room_for(most: Array) -> kernels.LinkBuffer:
    """Room for at most this many links of each pair (int64)."""
    pairs, size = len(most), int(most.sum())
    return kernels.LinkBuffer(
        np.cumsum(most) - most, np.zeros(pairs, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32),
        np.zeros(pairs), np.zeros(pairs), np.zeros(pairs, np.bool_),
    )  # fmt: skip


def decode_block(
    options: Options, block: Block, posterior: Array, fertilities: Fertilities | None = None
) -> DecodedLinks:
    """Choose links by the decoder of the options."""
    I, J = np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets)
    # Posteriors of a row add up to at most 1, so few can be over the threshold.
    paths = options.decoder in ("viterbi", "bidirectional")
    most = I + J if paths else np.ceil((I + J) / (options.threshold or kernels.LEAST))
    full = options.style == "full" and options.decoder == "soft-union"
    if full:
        most = most + np.ceil((I + J) / kernels.GROWN)
    found = room_for(np.minimum(I * J, most).astype(np.int64))
    search: dict[str, Array] = {}
    if options.decoder in ("submodular", "matching"):
        from dualign.decode.matchings.blocks import match_block

        match_block(options, fertilities, block, posterior, found)
    elif options.decoder == "soft-union":
        kernels.choose_over_threshold(block, options.threshold, full, posterior, found)
    else:
        marks = np.zeros((len(posterior), 2), np.uint8)
        if paths:
            kernels.mark_paths(block, marks)
        else:
            kernels.mark_over_threshold(options.fixed_threshold, posterior, marks)
        if options.decoder == "bidirectional":
            from dualign.decode.joint.exact import agree_block

            search = agree_block(options, block, marks)
        method = METHODS.index(options.symmetrize)
        kernels.choose_links(block, method, options.fixed_threshold, posterior, marks, found)
    return packed(found, np.stack((I, J), axis=1), block.likelihood, **search)
