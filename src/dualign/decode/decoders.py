"""Aligning text with a model: blocks of sentence pairs in, links out.

How well the two sides of a sentence pair fit, by the model that aligned them: for filters of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.certified import html_table
from dualign._core.errors import UsageError
from dualign._core.progress import phase, timed
from dualign._core.threads import ordered_map, spans
from dualign._search.certificate import all_met
from dualign.decode import choosing as kernels
from dualign.decode.symmetrize import METHODS
from dualign.engines.cuda.device import Card, DeviceError
from dualign.hmm.blocks import Block
from dualign.hmm.cells import ThreadBuffers
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import EncodedText
from dualign.hmm.fertility import Fertilities
from dualign.hmm.model import Model
from dualign.hmm.posteriors import link_probabilities, matrices_of, posteriors_of_parts
from dualign.options import Options

if TYPE_CHECKING:
    from dualign.text.corpus import Bitext


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


def scores_of(links: Links) -> Iterator[PairScore]:
    """The scores of each pair, from its links and likelihoods."""
    I, J = links.lengths.T
    empty = (I == 0) | (J == 0)
    pair = np.repeat(np.arange(len(links)), links.count)
    # Each sum over the links of one pair alone, in their order: other pairs must not change its rounding.
    total = np.bincount(pair, links.probability, len(links))
    linked = sum(_linked(pair, side, len(links)) for side in (links.source, links.target))
    words, count = np.maximum(I + J, 1), np.maximum(links.count, 1)
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


@dataclass(frozen=True, slots=True)
class Links:
    """Links of many pairs: those of pair n are `begin[n]` … `begin[n] + count[n]` of the flat arrays.

    `score` is the value of a pair's links to the decoder, `bound` an upper bound on that of any set of links,
    `certified` whether they are equal; both are NaN for a pair that the decoder had to leave to the chains.
    `rounds`, `seconds`: of the search for a pair, 0 if there is none; `trace`: bound and score by round, or
    empty. `too_long` marks the pairs that were not aligned because of their size. `lengths` int64 (pairs, 2):
    source and target words that were aligned; `likelihood` float64 (pairs, 2): see `Block`.
    """

    begin: Array
    count: Array
    source: Array
    target: Array
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

    def __len__(self) -> int:
        return len(self.count)


def no_links(pairs: int) -> Links:
    """What is known, without any model, of pairs that all have an empty side."""
    whole, real = np.zeros(pairs, np.int64), np.zeros(pairs)
    none, of_links = np.zeros(pairs, np.bool_), np.zeros(0, np.int32)
    return Links(
        begin=whole,
        count=whole,
        source=of_links,
        target=of_links,
        probability=np.zeros(0, np.float32),
        score=real,
        bound=real,
        certified=np.ones(pairs, np.bool_),
        rounds=whole,
        seconds=real,
        trace=np.zeros(0, object),
        too_long=none,
        lengths=np.zeros((pairs, 2), np.int64),
        likelihood=np.zeros((pairs, 2)),
    )


def align_bitext(
    model: Model,
    text: EncodedText,
    threads: int,
    constraints: ConstraintSet | None = None,
    desk: ThreadBuffers | None = None,
    matrices: list[Array] | None = None,
    card: Card | None = None,
) -> Links:
    """Decode every pair. The answer for a pair depends on nothing but the model and the pair.

    A set of `constraints` joins the projection that the options name. Who aligns many texts on one thread
    may give it a `desk`. A list of `matrices` gets the link probabilities of each pair, float32 (I, J). A
    `card` aligns the pairs that it can.
    """
    check_constraints(model.options, constraints)
    kept, too_long = without_long(text)
    if card is not None and not card.lost and matrices is None and not len(kept.bitext.similar.begin):
        from dualign.engines.cuda.engine import handled, why_not_align

        if why_not_align(model.options, constraints) is None:
            there = handled(model, kept)
            rest = kept._replace(bitext=kept.bitext.without(there))
            others = decode(
                model, model.options, posteriors_of_parts(model, rest, threads, None, desk), threads, too_long
            )
            try:
                return _with_card(card, model, kept.bitext, there, others)
            except DeviceError as error:
                card.give_up(error)
    parts = posteriors_of_parts(model, kept, threads, constraints, desk)
    if matrices is not None:
        parts = _kept(parts, matrices)
    return decode(model, model.options, parts, threads, too_long)


def _with_card(card: Card, model: Model, bitext: Bitext, there: Array, others: Links) -> Links:
    """All links: those of the pairs that are marked by the card, `others` of the rest."""
    from dualign.engines.cuda.engine import candidates_of

    options = model.options
    chosen = candidates_of(
        card, model, bitext, np.flatnonzero(there), options.threshold or np.float64(kernels.LEAST)
    )
    found = room_for(np.zeros(len(chosen.pairs), np.int64))._replace(
        room=chosen.begin, number=chosen.number,
        source=chosen.source, target=chosen.target, probability=chosen.probability,
    )  # fmt: skip
    with phase("choosing links"):
        kernels.keep_candidates(options.threshold, chosen.total, found)
    found.certified[:] = all_met(found.score, found.bound)
    own = packed(found)
    values = {name: getattr(others, name).copy() for name in ("count", "score", "bound", "certified")}
    for name, into in values.items():
        into[there] = getattr(own, "number" if name == "count" else name)
    likelihood = others.likelihood.copy()
    likelihood[there] = chosen.likelihood
    # Links follow one another in the order of their pairs.
    number = np.arange(len(there))
    pair = np.concatenate((np.repeat(number[there], own.number), np.repeat(number, others.count)))
    order = np.argsort(pair, kind="stable") if len(others.source) else slice(None)
    flat = {
        name: np.concatenate((getattr(own, name), getattr(others, name)))[order]
        for name in ("source", "target", "probability")
    }
    begin = (np.cumsum(values["count"]) - values["count"]).astype(others.begin.dtype)
    lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
    return replace(others, begin=begin, likelihood=likelihood, lengths=lengths, **values, **flat)


def _kept(parts: Iterator[tuple[Array, Block]], matrices: list[Array]) -> Iterator[tuple[Array, Block]]:
    """The same parts; the link probabilities of their pairs are appended to `matrices`."""
    for posterior, block in parts:
        matrices += [link_probabilities(each) for each in matrices_of(posterior, block)]
        yield posterior, block


class Prepared:
    """Text with its posteriors, all in memory, to be decoded again and again."""

    def __init__(
        self,
        model: Model,
        parts: Iterable[EncodedText],
        threads: int,
        constraints: ConstraintSet | None = None,
    ) -> None:
        self.model, self.threads, self.constraints = model, threads, constraints
        self.parts: list[tuple[Array, Block]] = []
        too_long = [np.zeros(0, np.bool_)]
        for text in parts:
            kept, long = without_long(text)
            too_long.append(long)
            self.parts += posteriors_of_parts(model, kept, threads, constraints)
        self.too_long = np.concatenate(too_long)

    def links(self, options: Options) -> Links:
        """The links by the decoder and parameters of `options`; its projection has no effect."""
        check_constraints(options, self.constraints)
        return decode(self.model, options, self.parts, self.threads, self.too_long)


def check_constraints(options: Options, constraints: ConstraintSet | None) -> None:
    """Refuse constraints where they would be ignored."""
    if constraints is not None and options.decoder in ("viterbi", "bidirectional"):
        raise UsageError(
            f"the {options.decoder} decoder looks at no constraints; use soft-union or posterior with them"
        )


def without_long(text: EncodedText) -> tuple[EncodedText, Array]:
    """The text with pairs of too many cells emptied, and which these are."""
    too_long = text.bitext.source.lengths * text.bitext.target.lengths > MOST_CELLS
    return text._replace(bitext=text.bitext.without(too_long)), too_long


def decode(
    model: Model, options: Options, parts: Iterable[tuple[Array, Block]], threads: int, too_long: Array
) -> Links:
    """The links of consecutive blocks, given with their posteriors, by the decoder of the options."""
    choose = timed("choosing links", links_of_block)
    found, lengths, likelihoods = [], [np.zeros((0, 2), np.int64)], [np.zeros((0, 2))]
    for posterior, block in parts:
        found.append(choose(options, block, posterior, threads, model.fertilities))
        offsets = block.pairs.source_offsets, block.pairs.target_offsets
        lengths.append(np.stack([side[1:] - side[:-1] for side in offsets], axis=1))
        likelihoods.append(block.likelihood)
    return joined(found, too_long, np.concatenate(lengths), np.concatenate(likelihoods))


def joined(parts: Iterable[kernels.LinkBuffer], *by_pair: Array) -> Links:
    """The links of consecutive blocks in one, without unused room; `by_pair` are the further fields."""
    each = [*map(packed, parts)] or [room_for(np.zeros(0, np.int64))]
    _, number, *others = each[0] if len(each) == 1 else map(np.concatenate, zip(*each, strict=True))
    return Links(np.cumsum(number) - number, number, *others, *by_pair)


def packed(part: kernels.LinkBuffer) -> kernels.LinkBuffer:
    """A block's links without the room they did not use."""
    size = int(part.number.sum())
    whole = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32)
    kernels.pack_links(part, *whole)
    return part._replace(source=whole[0], target=whole[1], probability=whole[2])


def room_for(most: Array) -> kernels.LinkBuffer:
    """Room for at most this many links of each pair (int64)."""
    pairs, size = len(most), int(most.sum())
    return kernels.LinkBuffer(
        np.cumsum(most) - most, np.zeros(pairs, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32),
        np.zeros(pairs), np.zeros(pairs), np.zeros(pairs, np.bool_),
        np.zeros(pairs, np.int64), np.zeros(pairs), np.empty(0),
    )  # fmt: skip


def links_of_block(
    options: Options, block: Block, posterior: Array, threads: int, fertilities: Fertilities | None = None
) -> kernels.LinkBuffer:
    """Choose links by the decoder of the options."""
    I, J = (side[1:] - side[:-1] for side in (block.pairs.source_offsets, block.pairs.target_offsets))
    # Posteriors of a row add up to at most 1, so few can be over the threshold.
    paths = options.decoder in ("viterbi", "bidirectional")
    least = options.threshold or kernels.LEAST
    most = I + J if paths else np.ceil((I + J) / least)
    full = options.style == "full" and options.decoder == "soft-union"
    if full:
        most = most + np.ceil((I + J) / kernels.GROWN)
    found = room_for(np.minimum(I * J, most).astype(np.int64))
    if options.decoder in ("submodular", "matching"):
        from dualign.decode.matchings.blocks import match_block

        match_block(options, fertilities, block, posterior, threads, found)
        found.certified[:] = all_met(found.score, found.bound)
        return found
    shards = spans(len(I), kernels.SHARD if threads > 1 else max(1, len(I)))
    if options.decoder == "soft-union":

        def choose_softly(shard: tuple[int, int]) -> None:
            kernels.choose_over_threshold(*shard, block, options.threshold, full, posterior, found)

        list(ordered_map(choose_softly, shards, threads))
        found.certified[:] = all_met(found.score, found.bound)
        return found
    method = METHODS.index(options.symmetrize)
    marks = np.zeros((len(posterior), 2), np.uint8)

    def mark(shard: tuple[int, int]) -> None:
        if paths:
            kernels.mark_paths(*shard, block, marks)
        else:
            kernels.mark_over_threshold(*shard, block.first, options.fixed_threshold, posterior, marks)

    def choose(shard: tuple[int, int]) -> None:
        kernels.choose_links(*shard, block, method, options.fixed_threshold, posterior, marks, found)

    list(ordered_map(mark, shards, threads))
    proofs = None
    if options.decoder == "bidirectional":
        from dualign.decode.joint.api import agree_block

        proofs = agree_block(options, block, threads, marks)
    list(ordered_map(choose, shards, threads))
    if proofs is None:
        found.certified[:] = all_met(found.score, found.bound)
        return found
    return found._replace(**proofs._asdict())
