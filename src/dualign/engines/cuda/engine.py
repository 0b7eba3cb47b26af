"""Training and decoding on a graphics card: what lies there, the E-step, and candidate links."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.memory import Workspace, in_words
from dualign._core.progress import phase
from dualign._core.threads import ordered_map, spans
from dualign.decode.choosing import LEAST, LinkBuffer, keep_candidates
from dualign.decode.decoders import DecodedLinks, joined, packed, room_for
from dualign.engines.cuda.chains import COPIES, FEW_COPIES
from dualign.engines.cuda.device import Card, DeviceError, DeviceMemoryError, rounded, simulated
from dualign.engines.cuda.launches import COUNT_UNIT, handle_pairs, insert_entries
from dualign.engines.cuda.layout import (
    LANES,
    LONGEST,
    WORDS,
    Counted,
    DeviceBuffers,
    DeviceLinks,
    Index,
    LaunchArguments,
    Parameters,
    numbers_of,
)
from dualign.engines.threads import ThreadsEngine
from dualign.hmm.blocks import PairOffsets, ThreadBuffers, cut_at, pairs_of
from dualign.hmm.chain import STATISTICS
from dualign.hmm.constraints import ConstraintSet
from dualign.hmm.encoding import CHUNK, EncodedText
from dualign.hmm.jumps import CLOSE, NEAR, STARTS, Jumps
from dualign.hmm.lexicon import Lexicon
from dualign.hmm.model import Model
from dualign.hmm.multipliers import Constraint
from dualign.hmm.posteriors import KINDS, constraint_of
from dualign.hmm.statistics import UNIT, ChainStatistics, ExpectedCounts
from dualign.hmm.training import Expectation, Statistics
from dualign.options import Options
from dualign.text.corpus import Bitext


class CudaEngine(ThreadsEngine):
    """Training and decoding on a card, which leaves to the threads of this process what it cannot do.

    If the card fails, and nobody insists on it, they do all the rest.
    """

    def __init__(self, card: Card, threads: int, workspace: Workspace | None = None) -> None:
        super().__init__(threads, workspace)
        self.card = card

    def expect(self, model: Model, asked: Expectation) -> Statistics:
        """See `ThreadsEngine.expect`."""
        text, card = self.bitext, self.card
        known = asked.constraints, bool(text.pins.pinned.any()), len(text.similar.begin) > 0
        if not card.lost and why_not(model.options, *known) is None and fitting(text).all():
            try:
                return expected_on(card, text, model, asked.constraint, asked.agree)
            except DeviceError as error:
                card.give_up(error)
        return super().expect(model, asked)

    def close(self) -> None:
        """Drop the text from the card."""
        self.card.forget(self.bitext)

    def chunk_size(self, model: Model) -> int:
        """Parts for a card are large and few."""
        on_card = not self.card.lost and model.options.decoder == "soft-union"
        return PAIRS if on_card else super().chunk_size(model)

    def _links(
        self,
        model: Model,
        text: EncodedText,
        constraints: ConstraintSet | None,
        matrices: list[Array] | None,
        buffers: ThreadBuffers | None,
    ) -> DecodedLinks:
        if self.card.lost or matrices is not None or len(text.bitext.similar.begin):
            return super()._links(model, text, constraints, matrices, buffers)
        if why_not_align(model.options, constraints) is None:
            there = handled(model, text)
            if not there.any():
                return self._on_threads(model, text, None)
            rest = text._replace(bitext=text.bitext.without(there))
            try:
                return links_on(self.card, model, text.bitext, there, self._on_threads(model, rest, None))
            except DeviceError as error:
                self.card.give_up(error)
        return self._on_threads(model, text, constraints)

    def _on_threads(self, model: Model, text: EncodedText, constraints: ConstraintSet | None) -> DecodedLinks:
        """What the card leaves of a part, which is large."""

        def work(span: tuple[int, int]) -> list[DecodedLinks]:
            return self._by_block(model, text._replace(bitext=text.bitext.slice(*span)), constraints)

        shards = spans(len(text.bitext), CHUNK)
        return joined([block for found in ordered_map(work, shards, self.threads) for block in found])


def expected_on(card: Card, bitext: Bitext, model: Model, constraint: Constraint, agree: bool) -> Statistics:
    """One E-step over all pairs of a bitext, none of them empty."""
    lexicon, classes = model.lexicon, model.jumps.classes
    with card.held():
        pairs = card.kept("text", bitext, lambda: PairOffsets(*map(card.put, pairs_of(bitext))))
        known = model_on(card, model)
        counted = Counted(
            card.filled(lexicon.table.shape, np.int64),
            card.filled(len(lexicon.null_target), np.int64),
            card.filled(len(lexicon.null_source), np.int64),
            card.filled((COPIES, 2, 2, classes, STATISTICS), np.int64),
            card.filled((FEW_COPIES, 2, 2, classes, 2 * CLOSE), np.int64),
            card.filled((COPIES, 2, 3, STARTS + 1), np.int64),
            int(agree),
        )
        lengths = bitext.source.lengths, bitext.target.lengths
        every = np.arange(len(bitext))
        order = card.kept("order", bitext, lambda: card.put(ordered(*lengths, every)))
        room = room_on(card, *lengths, constraint.how, 1, len(bitext))
        known.launch(order, pairs, room, constraint, counted)
        totals = card.get(room.totals[: len(bitext)]).sum(axis=0)
        with phase("card: transfer"):
            links, *nulls = (card.get(each) / COUNT_UNIT for each in counted[:3])
            jumps, chosen, ends = (card.get(each).sum(axis=0) / UNIT for each in counted[3:6])
    if agree:
        links[:, 1] = links[:, 0]
    expected_or_foreseen = np.stack([chosen[..., :CLOSE], chosen[..., CLOSE:]], axis=1)
    sums = ChainStatistics(
        jumps[..., : NEAR + 1], jumps[..., NEAR + 1 :], expected_or_foreseen, ends[:, 0], ends[:, 1:],
        np.array([totals[0] + totals[1], *totals[2:]]),
    )  # fmt: skip
    return Statistics(ExpectedCounts(links, *nulls), sums)


PAIRS = 1 << 18
"""Pairs that the card handles together when text is aligned: enough to give it something to do."""

LINK = 8
"""Bytes of a link that comes into question."""


def why_not_align(options: Options, constraints: object = None) -> str | None:
    """What about these settings the card cannot do when aligning, in words; None if it can do everything."""
    if options.decoder != "soft-union":
        return f"decoder={options.decoder}"
    return f"style={options.style}" if options.style != "lean" else why_not(options, constraints)


def handled(model: Model, text: EncodedText) -> Array:
    """Which pairs of a text the card can align: none empty or too long, none with a word that is unknown."""
    known = fitting(text.bitext)
    for side, words in ((text.bitext.source, model.source), (text.bitext.target, model.target)):
        unknown = np.flatnonzero(side.tokens >= len(words))
        known[np.searchsorted(side.offsets, unknown, side="right") - 1] = False
    return known


def links_on(card: Card, model: Model, bitext: Bitext, there: Array, others: DecodedLinks) -> DecodedLinks:
    """All links: those of the pairs that are marked by the card, `others` of the rest."""
    threshold = model.options.threshold
    found, likelihood, total = candidates_of(
        card, model, bitext, np.flatnonzero(there), threshold or np.float64(LEAST)
    )
    with phase("choosing links"):
        keep_candidates(threshold, total, found)
    lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
    own = packed(found, lengths[there], likelihood)
    values: dict[str, Any] = {
        name: getattr(others, name).copy() for name in ("score", "bound", "certified", "likelihood")
    }
    for name, into in values.items():
        into[there] = getattr(own, name)
    counts = others.counts
    counts[there] = own.counts
    # Links follow one another in the order of their pairs.
    pair = np.concatenate((np.repeat(np.flatnonzero(there), own.counts), others.pair))
    order = np.argsort(pair, kind="stable") if len(others.source) else slice(None)
    flat: dict[str, Any] = {
        name: np.concatenate((getattr(own, name), getattr(others, name)))[order]
        for name in ("source", "target", "probability")
    }
    offsets = np.concatenate(([0], np.cumsum(counts)))
    return replace(others, offsets=offsets, lengths=lengths, **values, **flat)


def candidates_of(
    card: Card, model: Model, bitext: Bitext, pairs: Array, least: float
) -> tuple[LinkBuffer, Array, Array]:
    """Links of these pairs, one or more, whose probability is over `least`; the pairs' log-likelihoods; Σ of
    all probabilities."""
    constraint, size = constraint_of(model.options, model.options.projection), len(bitext)
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    order = ordered(lengths, widths, pairs)
    lengths, widths = lengths[order], widths[order]
    # Posteriors of a row add up to at most 1, so few can be over the threshold.
    most = np.minimum(lengths * widths, np.ceil((lengths + widths) / least)).astype(np.int64)
    found: list[tuple[Array, Array, Array]] = []
    with card.held():
        known = model_on(card, model)
        with phase("card: text"):
            text = PairOffsets(
                *(card.put_again(f"text: {n}", side) for n, side in enumerate(pairs_of(bitext)))
            )
            room = room_on(card, lengths, widths, constraint.how, 0.5, size)
            limit = (card.left - card.taken(but="links")) // LINK
        for first, last in cut_at(np.concatenate(([0], np.cumsum(most))), limit):
            need = int(most[first:last].sum())
            links = card.room("links", (max(need, min(limit, rounded(need))), 2), np.float32)
            there = card.put_again("order", order[first:last])
            turn = known.launch(there, text, room, constraint, DeviceLinks(links, float(least)))
            with phase("card: links"):
                used = int(card.get(turn)[1])
                found.append((order[first:last], card.get(links[:used]), card.get(room.totals[:size])))
    whole, before = np.zeros((size, 5)), 0
    for those, links, totals in found:
        totals[:, 2] += before
        whole[those] = totals[those]
        before += len(links)
    links = found[0][1] if len(found) == 1 else np.concatenate([each[1] for each in found])
    words, whole = links[:, 1].astype(np.int32), whole[pairs]
    candidates = room_for(np.zeros(len(pairs), np.int64))._replace(
        room=whole[:, 2].astype(np.int64), number=whole[:, 3].astype(np.int32),
        source=words // WORDS, target=words % WORDS, probability=np.ascontiguousarray(links[:, 0]),
    )  # fmt: skip
    return candidates, whole[:, :2], np.ascontiguousarray(whole[:, 4])


AT_ONCE = 1 << 20
"""Pairs of a launch when counting: some drivers end those that take long."""

NAMES = {number: name for name, number in KINDS.items()}


def why_not(options: Any, constraints: Any = None, pinned: bool = False, similar: bool = False) -> str | None:
    """What about these settings the card cannot do, in words; None if it can do everything."""
    if options.model != "hmm":
        return f"model={options.model}"
    if constraints is not None:
        return "constraints of your own, such as a glossary"
    if similar:
        return "similarities"
    return "known links" if pinned else None


def ordered(lengths: Array, widths: Array, chosen: Array) -> Array:
    """The chosen pairs, int32, those with most pairs of words first: none begins late that takes long."""
    cells = lengths[chosen] * widths[chosen]
    order = np.argsort((LONGEST * LONGEST - cells).astype(np.uint16), kind="stable")
    return chosen[order].astype(np.int32)


def room_on(card: Card, lengths: Array, widths: Array, how: int, share: float, pairs: int) -> DeviceBuffers:
    """Room for pairs of these lengths, of a text of `pairs` pairs, within a share of the memory left.

    There are as many blocks as the card can run at the same time, if there is room for them.
    """
    # In powers of two, so that the room will do for the next text, too.
    longest, cells = rounded(int(max(lengths.max(), widths.max()))), rounded(int((lengths * widths).max()))
    numbers = numbers_of(longest, cells, how)
    need, left = 4 * (numbers + cells), int(share * (card.left - 40 * pairs))
    if need > left:
        raise DeviceMemoryError(
            "{device_memory=} is too little: a pair takes {value} beside text and model, {value_} are "
            "left; give more, or leave device=cuda out",
            device_memory=in_words(card.memory),
            value=in_words(need),
            value_=in_words(max(0, left)),
        )
    blocks = min(card.warps, len(lengths), left // need)
    return DeviceBuffers(
        card.room("pool", (blocks, numbers), np.float32),
        card.room("entry", (blocks, cells), np.int32),
        card.room("totals", (pairs, 5), np.float64),
    )


def model_on(card: Card, model: Model) -> CardModel:
    """A model on the card, in the place of another with the same entries if there is one."""
    known: CardModel = card.kept("model", model.lexicon.columns, lambda: CardModel(card, model.lexicon))
    known.take(model)
    return known


class CardModel:
    """A model on the card; a further one with the same entries, as in EM, takes its place."""

    table: Array | None = None

    def __init__(self, card: Card, lexicon: Lexicon) -> None:
        self.card = card
        with phase("card: lexicon"):
            words, entries = len(lexicon.null_target), len(lexicon.columns)
            bits = max(4, (2 * entries).bit_length())
            slot = card.filled((1 << bits, 2), np.int64, 0xFF)
            self.index = Index(slot, 64 - bits, words, card.put(lexicon.table[:0]))
            threads = 4 if simulated() else 64
            if entries:
                rows, columns = card.put(lexicon.rows), card.put(lexicon.columns)
                insert_entries[len(lexicon.rows) - 1, threads](rows, columns, self.index)
        # Nothing is added to them, but a kernel is compiled for arrays of as many axes as `Counted` has.
        links, null, jumps, ends = (card.empty((1,) * axes, np.int64) for axes in (2, 1, 5, 4))
        self.no_counts = Counted(links, null, null, jumps, jumps, ends, 0)
        self.no_links = DeviceLinks(card.empty((1, 2), np.float32), 0.0)

    def take(self, model: Model) -> None:
        """Put the model's probabilities there, unless they are there already."""
        lexicon, put = model.lexicon, self.card.put
        if self.table is lexicon.table:
            return
        self.table = lexicon.table
        self.index = self.index._replace(table=put(lexicon.table))
        jumps = Jumps(*map(put, model.jumps))
        self.parameters = put(lexicon.null_target), put(lexicon.null_source), put(model.weights), jumps

    def launch(
        self, order: Any, pairs: PairOffsets, room: DeviceBuffers, constraint: Constraint, wanted: Any
    ) -> Any:
        """Handle the pairs in this order, int32, on the card: see `handle_pairs`. `wanted`: counts or links.

        Returns `LaunchArguments.turn`.
        """
        # Numba passes a bool as it is, and kernels expect a number.
        how = Constraint(*constraint[:-1], int(constraint.mixture))  # type: ignore[arg-type]
        collect = isinstance(wanted, Counted)
        wishes = (wanted, self.no_links) if collect else (self.no_counts, wanted)
        block, size = Parameters(pairs, *self.parameters), AT_ONCE if collect else len(order)
        with phase(f"card: posteriors, {NAMES[how.how]}"):
            for begin in range(0, len(order), size):
                part, turn = order[begin : begin + size], self.card.put_again("turn", np.zeros(2, np.int64))
                work = LaunchArguments(part, turn, block, self.index, room, how, int(collect), *wishes)
                handle_pairs[min(len(part), len(room.pool)), LANES](work)
                self.card.wait()
        return turn


def fitting(bitext: Bitext) -> Array:
    """Which pairs the card can handle: none empty, none too long."""
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    return (lengths > 0) & (widths > 0) & (np.maximum(lengths, widths) <= LONGEST)
