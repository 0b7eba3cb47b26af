"""Links that come into question, of a text's pairs, from their posteriors on the card."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.cards import Card
from dualign.core.phases import phase
from dualign.device.card_posteriors import (
    THREADS,
    fitting,
    model_on,
    pairs_on,
    planned,
    posteriors_on_card,
    why_not,
)
from dualign.device.launches import Candidates, list_candidates
from dualign.infer.encoding import Encoded
from dualign.infer.posteriors import constraint_of
from dualign.model.model import Model
from dualign.model.options import Options
from dualign.text.bitext import Bitext

PAIRS = 1 << 18
"""Pairs that the card handles together when text is aligned: enough to give it something to do."""

LONGEST_ALIGNED = 64
"""Pairs with a longer sentence are aligned by the processor: the card, whose thread goes through the cells of
a pair one by one, would be done with all others long before."""


def why_not_align(options: Options, constraints: object = None) -> str | None:
    """What about these settings the card cannot do when aligning, in words; None if it can do everything."""
    if options.decoder != "soft-union":
        return f"decoder={options.decoder}"
    return f"style={options.style}" if options.style != "lean" else why_not(options, constraints)


class Chosen(NamedTuple):
    """What the card found: `pairs` int64, their numbers in the text, in order; for each the log-likelihoods
    (…, 2), Σ of all probabilities, and how many links it has; these follow one another."""

    pairs: Array
    likelihood: Array
    total: Array
    number: Array
    source: Array
    target: Array
    probability: Array


def handled(model: Model, text: Encoded) -> Array:
    """Which pairs of a text the card can align: none empty or too long, none with a word that is unknown."""
    known = fitting(text.bitext, LONGEST_ALIGNED)
    for side, words in ((text.bitext.source, model.source), (text.bitext.target, model.target)):
        unknown = np.flatnonzero(side.tokens >= len(words))
        known[np.searchsorted(side.offsets, unknown, side="right") - 1] = False
    return known


def candidates_of(card: Card, model: Model, bitext: Bitext, pairs: Array, least: float) -> Chosen:
    """Links of these pairs whose probability is over `least`."""
    constraint = constraint_of(model.options, model.options.projection)
    if len(pairs) == 0:
        none, real = np.zeros(0, np.int32), np.zeros(0)
        return Chosen(pairs, np.zeros((0, 2)), real, none, none, none, real.astype(np.float32))
    with card.held():
        known = model_on(card, model)
        with phase("card: text"):
            text = pairs_on(card, bitext)
            lengths = bitext.source.lengths, bitext.target.lengths
            plans = planned(card, *lengths, pairs, constraint.how, collect=False)
        likelihood = np.zeros((len(bitext), 2))
        number, total = card.empty(len(bitext), np.int32), card.empty(len(bitext), np.float64)
        counts = card.empty(1, np.int64), number, total
        listed = card.empty(1, np.int16), card.empty(1, np.int16), card.empty(1, np.float32)
        parts = []
        for work in posteriors_on_card(card, known, text, plans, constraint, collect=False):
            with phase("card: links"):
                pair = card.get(work.groups.pair)
                size = -(-len(pair) // THREADS), THREADS
                pair, of_thread = pair[pair >= 0], np.flatnonzero(pair >= 0)
                list_candidates[*size](work, least, 0, Candidates(*counts, *listed))
                order = np.sort(pair)
                count = card.get(number)[order].astype(np.int64)
                begin = np.zeros(len(bitext), np.int64)
                begin[order] = np.cumsum(count) - count
                most = max(1, int(count.sum()))
                room = card.empty(most, np.int16), card.empty(most, np.int16), card.empty(most, np.float32)
                counts = card.put(begin), number, total
                list_candidates[*size](work, least, 1, Candidates(*counts, *room))
                likelihood[pair] = card.get(work.totals)[:2, of_thread].T
                parts.append((order, count, *(card.get(each)[: int(count.sum())] for each in room)))
        totals = card.get(total)
    return _joined(pairs, likelihood, totals, parts)


def _joined(pairs: Array, likelihood: Array, total: Array, parts: list[tuple[Array, ...]]) -> Chosen:
    """The links of all chunks, in the order of the pairs."""
    order, count, source, target, probability = (np.concatenate(each) for each in zip(*parts, strict=True))
    if len(parts) > 1:  # chunks go by the length of the pairs
        of_link = np.repeat(np.arange(len(order)), count)
        place = np.argsort(order[of_link], kind="stable")
        source, target, probability = source[place], target[place], probability[place]
        count = count[np.argsort(order)]
    return Chosen(pairs, likelihood[pairs], total[pairs], count, source, target, probability)
