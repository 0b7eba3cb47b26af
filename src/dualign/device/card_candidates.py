"""Links that come into question, of a text's pairs, from their posteriors on the card."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card, rounded
from dualign.core.phases import phase
from dualign.device.card_posteriors import fitting, launch, model_on, ordered, room_on, why_not
from dualign.device.layout import WORDS, Candidates
from dualign.infer.cells import Pairs, pairs_of
from dualign.infer.encoding import Encoded
from dualign.infer.posteriors import constraint_of
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.text.bitext import Bitext

PAIRS = 1 << 18
"""Pairs that the card handles together when text is aligned: enough to give it something to do."""

LINK = 8
"""Bytes of a link that comes into question."""


def why_not_align(options: Options, constraints: object = None) -> str | None:
    """What about these settings the card cannot do when aligning, in words; None if it can do everything."""
    if options.decoder != "soft-union":
        return f"decoder={options.decoder}"
    return f"style={options.style}" if options.style != "lean" else why_not(options, constraints)


class Chosen(NamedTuple):
    """What the card found: `pairs` int64, their numbers in the text, in order; for each the log-likelihoods
    (…, 2), Σ of all probabilities, and its links: the `number` from `begin` on."""

    pairs: Array
    likelihood: Array
    total: Array
    begin: Array
    number: Array
    source: Array
    target: Array
    probability: Array


def handled(model: Model, text: Encoded) -> Array:
    """Which pairs of a text the card can align: none empty or too long, none with a word that is unknown."""
    known = fitting(text.bitext)
    for side, words in ((text.bitext.source, model.source), (text.bitext.target, model.target)):
        unknown = np.flatnonzero(side.tokens >= len(words))
        known[np.searchsorted(side.offsets, unknown, side="right") - 1] = False
    return known


def candidates_of(card: Card, model: Model, bitext: Bitext, pairs: Array, least: float) -> Chosen:
    """Links of these pairs whose probability is over `least`."""
    constraint, size = constraint_of(model.options, model.options.projection), len(bitext)
    if len(pairs) == 0:
        none, real, begin = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64)
        return Chosen(pairs, np.zeros((0, 2)), real, begin, none, none, none, real.astype(np.float32))
    lengths, widths = bitext.source.lengths, bitext.target.lengths
    order = ordered(lengths, widths, pairs)
    lengths, widths = lengths[order], widths[order]
    # Posteriors of a row add up to at most 1, so few can be over the threshold.
    most = np.minimum(lengths * widths, np.ceil((lengths + widths) / least)).astype(np.int64)
    found: list[tuple[Array, Array, Array]] = []
    with card.held():
        known = model_on(card, model)
        with phase("card: text"):
            text = Pairs(*(card.put_again(f"text: {n}", side) for n, side in enumerate(pairs_of(bitext))))
            room = room_on(card, lengths, widths, constraint.how, 0.5, size)
            limit = (card.left - card.taken(but="links")) // LINK
        for first, last in _pieces(np.cumsum(most), limit):
            need = int(most[first:last].sum())
            links = card.room("links", (max(need, min(limit, rounded(need))), 2), np.float32)
            there = card.put_again("order", order[first:last])
            turn = launch(card, there, known, text, room, constraint, Candidates(links, float(least)))
            with phase("card: links"):
                used = int(card.get(turn)[1])
                found.append((order[first:last], card.get(links[:used]), card.get(room.totals[:size])))
    whole, before = np.zeros((size, 5)), 0
    for those, links, totals in found:
        totals[:, 2] += before
        whole[those] = totals[those]
        before += len(links)
    links = found[0][1] if len(found) == 1 else np.concatenate([each[1] for each in found])
    words = links[:, 1].astype(np.int32)
    likelihood, total = np.ascontiguousarray(whole[pairs, :2]), whole[pairs, 4]
    begin, number = whole[pairs, 2].astype(np.int64), whole[pairs, 3].astype(np.int32)
    probability = np.ascontiguousarray(links[:, 0])
    return Chosen(pairs, likelihood, total, begin, number, words // WORDS, words % WORDS, probability)


def _pieces(ends: Array, limit: int) -> list[tuple[int, int]]:
    """Cut a list into pieces with at most `limit` of what adds up to `ends`, or of one that has more."""
    pieces, begin = [], 0
    while begin < len(ends):
        used = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, used + limit, side="right")))
        pieces.append((begin, end))
        begin = end
    return pieces
