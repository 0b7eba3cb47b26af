"""Links that come into question, of a text's pairs, from their posteriors on the card."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card
from dualign.core.phases import phase
from dualign.device.card_posteriors import fitting, launch, model_on, ordered, room_on, why_not
from dualign.device.layout import Candidates
from dualign.infer.cells import Pairs, pairs_of
from dualign.infer.encoding import Encoded
from dualign.infer.posteriors import constraint_of
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.text.bitext import Bitext

PAIRS = 1 << 17
"""Pairs that the card handles together when text is aligned: enough to give it something to do."""

LINK = 6
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
    parts: list[list[Array]] = []
    begins: list[tuple[Array, Array]] = []
    with card.held():
        known = model_on(card, model)
        with phase("card: text"):
            text = Pairs(*(card.put_again(f"text: {n}", side) for n, side in enumerate(pairs_of(bitext))))
            room = room_on(card, lengths, widths, constraint.how, 0.5, size)
            by_pair = (
                card.room("pairs: begin", (size,), np.int64),
                card.room("pairs: number", (size,), np.int32),
                card.room("pairs: total", (size,), np.float64),
            )
            limit = (card.left - card.taken(but="links")) // LINK
        for first, last in _pieces(np.cumsum(most), limit):
            links = _room_for_links(card, int(most[first:last].sum()))
            found = Candidates(*by_pair, *links, card.filled(1, np.int64), float(least))
            launch(card, card.put_again("order", order[first:last]), known, text, room, constraint, found)
            with phase("card: links"):
                used = int(card.get(found.used)[0])
                parts.append([card.get(each[:used]) for each in links])
                begins.append((order[first:last], card.get(found.begin[:size])))
        with phase("card: links"):
            likelihood = card.get(room.totals[:2])
            number, total = (card.get(each[:size]) for each in by_pair[1:])
    begin, before = np.zeros(size, np.int64), 0
    for (those, where), part in zip(begins, parts, strict=True):
        begin[those] = where[those] + before
        before += len(part[0])
    whole = [np.concatenate(each) for each in zip(*parts, strict=True)]
    source, target = (side.astype(np.int32) for side in whole[:2])
    found_for = likelihood[:, pairs].T, total[pairs], begin[pairs], number[pairs]
    return Chosen(pairs, *found_for, source, target, whole[2])


def _pieces(ends: Array, limit: int) -> list[tuple[int, int]]:
    """Cut a list into pieces with at most `limit` of what adds up to `ends`, or of one that has more."""
    pieces, begin = [], 0
    while begin < len(ends):
        used = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, used + limit, side="right")))
        pieces.append((begin, end))
        begin = end
    return pieces


def _room_for_links(card: Card, most: int) -> tuple[Any, Any, Any]:
    """Room for so many links: source and target words, probabilities."""
    return (
        card.room("links: source", (most,), np.uint8),
        card.room("links: target", (most,), np.uint8),
        card.room("links: probability", (most,), np.float32),
    )
