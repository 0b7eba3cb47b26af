"""The E-step on the card."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card
from dualign.core.phases import phase
from dualign.device.card_posteriors import launch, model_on, ordered, pairs_on, room_on
from dualign.device.launches import COUNT_UNIT
from dualign.device.layout import Counted
from dualign.device.warp_statistics import COPIES, FEW_COPIES
from dualign.infer.chain import STATISTICS
from dualign.infer.multipliers import Constraint
from dualign.infer.tallies import UNIT, Sums
from dualign.model.jumps import CLOSE, NEAR, STARTS
from dualign.model.model import Model
from dualign.text.bitext import Bitext


class CardExpectation:
    """One E-step over all pairs of a bitext, none of them empty; see `dualign.learn.expectation.Expectation`.

    `counts` float64: of the lexicon's entries (entries, 2), of null by target word, and by source word.
    """

    def __init__(self, card: Card, bitext: Bitext, model: Model, constraint: Constraint, agree: bool) -> None:
        lexicon, classes = model.lexicon, model.jumps.classes
        with card.held():
            pairs = card.kept("text", bitext, lambda: pairs_on(card, bitext))
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
            launch(card, order, known, pairs, room, constraint, counted)
            totals = card.get(room.totals[: len(bitext)]).sum(axis=0)
            with phase("card: transfer"):
                self.counts = self._counts(card, counted)
                jumps, chosen, ends = map(card.get, (counted.jumps, counted.chosen, counted.ends))
                self.sums = _sums(jumps, chosen, ends, totals)

    @staticmethod
    def _counts(card: Card, counted: Counted) -> tuple[Array, Array, Array]:
        links, null_target, null_source = (card.get(each) / COUNT_UNIT for each in counted[:3])
        if counted.agree:
            links[:, 1] = links[:, 0]
        return links, null_target, null_source


def _sums(jumps: Array, chosen: Array, ends: Array, totals: Array) -> Sums:
    """The statistics of all pairs, from those of the copies."""
    jumps, chosen, ends = (each.sum(axis=0) / UNIT for each in (jumps, chosen, ends))
    expected_or_foreseen = np.stack([chosen[..., :CLOSE], chosen[..., CLOSE:]], axis=1)
    likelihood, evaluations = totals[0] + totals[1], totals[2]
    return Sums(
        jumps[..., : NEAR + 1], jumps[..., NEAR + 1 :], expected_or_foreseen, ends[:, 0], ends[:, 1:],
        np.array([likelihood, evaluations, totals[3], totals[4]]),
    )  # fmt: skip
