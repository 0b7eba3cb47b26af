"""Posteriors of a text's pairs on the card: what lies there, and the launches."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card, DeviceMemoryError, rounded, simulated
from dualign.core.phases import phase
from dualign.core.workspace import in_words
from dualign.device.launches import handle_pairs, insert_entries
from dualign.device.layout import LONGEST, Candidates, Counted, Index, Parameters, Room, Work, numbers_of
from dualign.device.warps import LANES
from dualign.infer.cells import Pairs, pairs_of
from dualign.infer.multipliers import Constraint
from dualign.infer.posteriors import KINDS
from dualign.model.lexicon import Lexicon
from dualign.model.model import Model
from dualign.text.bitext import Bitext

AT_ONCE = 1 << 20
"""Pairs of a launch when counting: some drivers end those that take long."""

NO_TURN = np.zeros(2, np.int64)

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


def room_on(card: Card, lengths: Array, widths: Array, how: int, share: float, pairs: int) -> Room:
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
    return Room(
        card.room("pool", (blocks, numbers), np.float32),
        card.room("entry", (blocks, cells), np.int32),
        card.room("totals", (pairs, 5), np.float64),
    )


def launch(
    card: Card, order: Any, model: CardModel, pairs: Pairs, room: Room, constraint: Constraint, wanted: Any
) -> Any:
    """Handle the pairs in this order, int32, on the card: see `handle_pairs`. `wanted`: counts or links.

    Returns `Work.turn`.
    """
    # Numba passes a bool as it is, and kernels expect a number.
    how = Constraint(*constraint[:-1], int(constraint.mixture))  # type: ignore[arg-type]
    collect = isinstance(wanted, Counted)
    wishes = (wanted, model.no_links) if collect else (model.no_counts, wanted)
    block, size = model.parameters._replace(pairs=pairs), AT_ONCE if collect else len(order)
    with phase(f"card: posteriors, {NAMES[how.how]}"):
        for begin in range(0, len(order), size):
            part, turn = order[begin : begin + size], card.put_again("turn", NO_TURN)
            work = Work(part, turn, block, model.index, room, how, int(collect), *wishes)
            handle_pairs[min(len(part), len(room.pool)), LANES](work)
            card.wait()
    return turn


def pairs_on(card: Card, bitext: Bitext) -> Pairs:
    """The text on the card."""
    return Pairs(*(card.put(array) for array in pairs_of(bitext)))


def index_on(card: Card, lexicon: Lexicon) -> Index:
    """A lexicon on the card."""
    words, entries = len(lexicon.null_target), len(lexicon.columns)
    bits = max(4, (2 * entries).bit_length())
    slot = card.filled((1 << bits, 2), np.int64, 0xFF)
    index = Index(slot, 64 - bits, words, card.put(lexicon.table))
    threads = 4 if simulated() else 64
    sizes = card.put(lexicon.rows), card.put(lexicon.columns)
    if entries:
        insert_entries[len(lexicon.rows) - 1, threads](*sizes, index)
    return index


NO_PAIRS = Pairs(*[np.zeros(0, np.int64)] * 4)


def model_on(card: Card, model: Model) -> CardModel:
    """A model on the card, in the place of another with the same entries if there is one."""
    known: CardModel = card.kept("model", model.lexicon.columns, lambda: CardModel(card, model))
    known.renew(model)
    return known


class CardModel:
    """A model on the card; a further one with the same entries, as in EM, takes its place with `renew`."""

    def __init__(self, card: Card, model: Model) -> None:
        self.card, self.table = card, model.lexicon.table
        with phase("card: lexicon"):
            self.index = index_on(card, model.lexicon)
        # Nothing is added to them, but a kernel is compiled for arrays of as many axes as `Counted` has.
        links, null, jumps, ends = (card.empty((1,) * axes, np.int64) for axes in (2, 1, 5, 4))
        self.no_counts = Counted(links, null, null, jumps, jumps, ends, 0)
        self.no_links = Candidates(card.empty((1, 2), np.float32), 0.0)
        self.fill(model)

    def renew(self, model: Model) -> None:
        """Put new probabilities in the place of the old, if they are not the same."""
        if self.table is model.lexicon.table:
            return
        self.table = model.lexicon.table
        self.index = self.index._replace(table=self.card.put(model.lexicon.table))
        self.fill(model)

    def fill(self, model: Model) -> None:
        """Put all but the lexicon's entries there."""
        put, lexicon = self.card.put, model.lexicon
        jumps = type(model.jumps)(*map(put, model.jumps))
        nulls = put(lexicon.null_target), put(lexicon.null_source)
        self.parameters = Parameters(NO_PAIRS, *nulls, put(model.weights), jumps)


def fitting(bitext: Bitext) -> Array:
    """Which pairs the card can handle: none empty, none too long."""
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    return (lengths > 0) & (widths > 0) & (np.maximum(lengths, widths) <= LONGEST)
