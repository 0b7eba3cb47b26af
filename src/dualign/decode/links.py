"""Aligning text with a model: blocks of sentence pairs in, links out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card, DeviceError
from dualign.core.errors import UsageError
from dualign.core.phases import phase, timed
from dualign.core.threads import ordered_map, spans
from dualign.decode import choosing as kernels
from dualign.decode.symmetrize import METHODS
from dualign.infer.blocks import Block
from dualign.infer.constraints import ConstraintSet
from dualign.infer.desk import Desk
from dualign.infer.encoding import Encoded
from dualign.infer.posteriors import link_probabilities, matrices_of, posteriors_of_parts
from dualign.model.fertility import Fertilities
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.search.certificate import all_met

if TYPE_CHECKING:
    from dualign.text.bitext import Bitext

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
    text: Encoded,
    threads: int,
    constraints: ConstraintSet | None = None,
    desk: Desk | None = None,
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
        from dualign.device.card_candidates import handled, why_not_align

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
    from dualign.device.card_candidates import candidates_of

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
        self, model: Model, parts: Iterable[Encoded], threads: int, constraints: ConstraintSet | None = None
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


def without_long(text: Encoded) -> tuple[Encoded, Array]:
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


def joined(parts: Iterable[kernels.Found], *by_pair: Array) -> Links:
    """The links of consecutive blocks in one, without unused room; `by_pair` are the further fields."""
    each = [*map(packed, parts)] or [room_for(np.zeros(0, np.int64))]
    _, number, *others = each[0] if len(each) == 1 else map(np.concatenate, zip(*each, strict=True))
    return Links(np.cumsum(number) - number, number, *others, *by_pair)


def packed(part: kernels.Found) -> kernels.Found:
    """A block's links without the room they did not use."""
    size = int(part.number.sum())
    whole = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32)
    kernels.pack_links(part, *whole)
    return part._replace(source=whole[0], target=whole[1], probability=whole[2])


def room_for(most: Array) -> kernels.Found:
    """Room for at most this many links of each pair (int64)."""
    pairs, size = len(most), int(most.sum())
    return kernels.Found(
        np.cumsum(most) - most, np.zeros(pairs, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32),
        np.zeros(pairs), np.zeros(pairs), np.zeros(pairs, np.bool_),
        np.zeros(pairs, np.int64), np.zeros(pairs), np.empty(0),
    )  # fmt: skip


def links_of_block(
    options: Options, block: Block, posterior: Array, threads: int, fertilities: Fertilities | None = None
) -> kernels.Found:
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
        from dualign.decode.matchings.matching_blocks import match_block

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
        from dualign.decode.joint.joint_blocks import agree_block

        proofs = agree_block(options, block, threads, marks)
    list(ordered_map(choose, shards, threads))
    if proofs is None:
        found.certified[:] = all_met(found.score, found.bound)
        return found
    return found._replace(**proofs._asdict())
