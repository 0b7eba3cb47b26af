"""Posteriors of a text's pairs on the card: what lies there, cut into chunks that fit, and the launches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card, simulated
from dualign.core.errors import UsageError
from dualign.core.phases import phase
from dualign.core.workspace import in_words
from dualign.device.launches import (
    EMPTY,
    Index,
    expect_all_evenly,
    expect_all_freely,
    expect_all_projected,
    fill_emissions,
    insert_entries,
)
from dualign.device.layout import DOUBLES, LONGEST, WARP, WHOLES, Groups, Room, rows_of
from dualign.device.pair_chains import Parameters, Work
from dualign.infer.blocks import COLD, NOTHING_GIVEN
from dualign.infer.cells import Pairs, pairs_of
from dualign.infer.chains import Sums
from dualign.infer.multipliers import SYMMETRIC, Constraint
from dualign.infer.posteriors import EVEN, KINDS, new_sums
from dualign.model.lexicon import Lexicon
from dualign.model.model import Model
from dualign.text.bitext import Bitext

THREADS = 128
"""Threads of a block where each has a pair."""

NAMES = {number: name for name, number in KINDS.items()}

ROWS_OF_THREADS = 1 if simulated() else 8
"""Of a block that shares the cells of a group."""


def why_not(options: Any, constraints: Any = None, pinned: bool = False, similar: bool = False) -> str | None:
    """What about these settings the card cannot do, in words; None if it can do everything."""
    if options.model != "hmm":
        return f"model={options.model}"
    if constraints is not None:
        return "constraints of your own, such as a glossary"
    if similar:
        return "similarities"
    return "known links" if pinned else None


class Plan(NamedTuple):
    """A chunk of pairs: its groups (see `Groups`, on the card), their number, and how many rows they take."""

    groups: Groups
    size: int
    rows: int
    cells: int


def planned(
    card: Card, lengths: Array, widths: Array, chosen: Array, how: int, *, collect: bool
) -> list[Plan]:
    """Cut the chosen pairs, by number, into chunks that fit into the card's memory, the longest first."""
    lengths, widths = lengths[chosen], widths[chosen]
    # Within the pairs of one length the other goes up and down in turn, so that neighbours are close.
    turned = np.where(lengths % 2, widths, LONGEST - widths)
    order = np.argsort(((LONGEST - lengths) * (LONGEST + 1) + turned).astype(np.uint16), kind="stable")
    number = -(-len(order) // WARP)
    pair = np.full(number * WARP, EMPTY, np.int32)
    pair[: len(order)] = chosen[order]
    begins = np.arange(0, len(order), WARP)
    I = np.maximum.reduceat(lengths[order], begins).astype(np.int32)
    J = np.maximum.reduceat(widths[order], begins).astype(np.int32)
    cells = I.astype(np.int64) * J
    rows = rows_of(I, J, how, collect)
    need = WARP * (4 * (rows + cells) + 8 * (DOUBLES + WHOLES + 5))
    room = card.left
    if need.max() > room:
        raise UsageError(
            f"device_memory={in_words(card.memory)} is too little: the longest pairs need "
            f"{in_words(float(need.max() + card.memory - room))}; give more, or leave device=cuda out"
        )
    plans, begin, ends = [], 0, np.cumsum(need)
    while begin < number:
        end = int(np.searchsorted(ends, room + (ends[begin - 1] if begin else 0), side="right"))
        part = slice(begin, end)
        before, cell = np.cumsum(rows[part]) - rows[part], np.cumsum(cells[part]) - cells[part]
        own = pair[begin * WARP : end * WARP], I[part], J[part], before, cell
        sizes = int(rows[part].sum()), int(cells[part].sum())
        plans.append(Plan(Groups(*map(card.put, own)), end - begin, *sizes))
        begin = end
    return plans


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
        given = type(NOTHING_GIVEN)(*map(put, NOTHING_GIVEN))
        warm = type(COLD)(*map(put, COLD))
        nulls = put(lexicon.null_target), put(lexicon.null_source)
        self.parameters = Parameters(NO_PAIRS, *nulls, put(model.weights), jumps, given, warm)


def posteriors_on_card(
    card: Card, model: CardModel, pairs: Pairs, plans: list[Plan], constraint: Constraint, collect: bool
) -> Iterator[Work]:
    """Work of each chunk, done: the posteriors are in its room until the next is asked for."""
    rows, cells = max(plan.rows for plan in plans), max(plan.cells for plan in plans)
    threads = max(plan.size for plan in plans) * WARP
    room = Room(
        card.room("pool", (rows, WARP), np.float32),
        card.room("entry", (cells, WARP), np.int32),
        card.room("doubles", (DOUBLES, threads), np.float64),
        card.room("wholes", (WHOLES, threads), np.int64),
    )
    totals = card.room("totals", (5, threads), np.float64)
    sums = Sums(*(card.put(array[0]) for array in new_sums(1, 1)))
    block = model.parameters._replace(pairs=pairs)
    # Numba passes a truth value as it is, which is no number.
    how = Constraint(*constraint[:-1], int(constraint.mixture))  # type: ignore[arg-type]
    expect = expect_all_projected if how.how >= SYMMETRIC else expect_all_freely
    expect = expect_all_evenly if how.how == EVEN else expect
    for plan in plans:
        work = Work(plan.groups, room, block, how, int(collect), totals, sums)
        with phase("card: cells"):
            fill_emissions[plan.size, (WARP, ROWS_OF_THREADS)](work, model.index)
            card.wait()
        with phase(f"card: posteriors, {NAMES[how.how]}"):
            expect[-(-plan.size * WARP // THREADS), THREADS](work)
            card.wait()
        yield work


def fitting(bitext: Bitext, longest: int = LONGEST) -> Array:
    """Which pairs the card can handle: none empty, none too long."""
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    return (lengths > 0) & (widths > 0) & (np.maximum(lengths, widths) <= longest)
