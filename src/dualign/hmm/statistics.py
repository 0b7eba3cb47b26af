"""What an E-step adds up, so that neither order nor grouping changes a bit.

Statistics of the chains are sums of whole numbers: every addend is rounded to so many units. So each thread,
and each machine of a cluster, has a tally of its own.

Expected counts are sums of float64 that are exact: every addend is rounded to the last bit of a power of two
that no sum exceeds. Then every sum is a multiple of that bit, with no more bits than a float64 has, and
nothing is ever rounded again.
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import local
from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign.hmm.blocks import Lookup
from dualign.hmm.jumps import CLOSE, NEAR, STARTS, STOPS
from dualign.text.corpus import Bitext

UNIT = 2.0**28
"""Units of an expected jump, start or stop: there is room for 30 billion of each."""

TOTAL_UNIT = 2.0**24
"""Units of what is added up over pairs, which can be larger: 500 billion nats."""


def above(most: int) -> float:
    """A power of two over `most`, the largest sum that can occur."""
    return float(1 << max(most, 1).bit_length())


@part(allocates=False)
def rounded(x: float, above: float) -> float:
    """A number x ≥ 0, as an addend of a sum that stays below."""
    return (x + above) - above


@part(allocates=False)
def even_share(choices: int, above: float) -> float:
    """1 / choices, as an addend; never 0."""
    return max(rounded(1.0 / choices, above), above * 2.0**-52)


class ChainStatistics(NamedTuple):
    """Statistics of the chains of many pairs, direction 0 first; empty arrays where none are wanted.

    `jumps` float64 (2, 2, classes, 12): expected jumps of −5..5, and farther ones, from the words of each
    class (see `dualign.hmm.jumps`), then to them; `foreseen` likewise: how many of these jumps the weights
    alone foresee, given where each begins, Σ w(d) / Z for each place; `chosen` float64 (2, 2, 2, classes, 5):
    of the jumps of −2..2, those expected and those foreseen, by the chosen words that they leave, then reach;
    `starts` float64 (2, 11): first positions 0..9 and beyond; `stops` float64 (2, 2, 11): rows at the last
    position, at those before it and farther away, then how often a chain stopped there; `totals` float64 (4):
    log-likelihood, evaluations of the chains, pairs, and Σ D(0) − D(λ), the divergence KL(q ‖ p) of the
    projections when ε = 0.

    While pairs are counted, all of them are int64, in units: a tally.
    """

    jumps: Array
    foreseen: Array
    chosen: Array
    starts: Array
    stops: Array
    totals: Array


def new_tally(classes: int) -> ChainStatistics:
    """Zeros to add to; with no `classes`, no statistics but the totals."""
    directions = 2 if classes else 0
    by_class = directions, 2, classes, NEAR + 1
    by_chosen = directions, 2, 2, classes, CLOSE
    shapes = by_class, by_class, by_chosen, (directions, STARTS + 1), (directions, 2, STOPS + 1), (4,)
    return ChainStatistics(*(np.zeros(shape, np.int64) for shape in shapes))


@part(allocates=False)
def units(x: float, unit: float) -> np.int64:
    """A number as an addend."""
    return np.int64(np.floor(x * unit + 0.5))


def added(tallies: Iterable[ChainStatistics]) -> ChainStatistics:
    """One or more tallies together."""
    first, *others = tallies
    total = ChainStatistics(*(array.copy() for array in first))
    for tally in others:
        for array, more in zip(total, tally, strict=True):
            array += more
    return total


def in_numbers(tally: ChainStatistics) -> ChainStatistics:
    """What was tallied."""
    jumps, foreseen, chosen, starts, stops = (array / UNIT for array in tally[:-1])
    return ChainStatistics(jumps, foreseen, chosen, starts, stops, tally.totals / TOTAL_UNIT)


class Tallies:
    """A tally for each thread that adds something."""

    def __init__(self, classes: int) -> None:
        self._classes, self._mine = classes, local()
        self._all = [new_tally(classes)]

    def own(self) -> ChainStatistics:
        """That of the calling thread."""
        if not hasattr(self._mine, "tally"):
            self._mine.tally = new_tally(self._classes)
            self._all.append(self._mine.tally)
        tally: ChainStatistics = self._mine.tally
        return tally

    def together(self) -> ChainStatistics:
        """Those of all threads."""
        return added(self._all)


def above_counts(bitext: Bitext) -> float:
    """A power of two over all counts of a text."""
    return above(max(len(bitext.source.tokens), len(bitext.target.tokens)))


class ExpectedCounts(NamedTuple):
    """Expected counts, float64: of the lexicon's entries (entries, 2), and of null by word.

    They are exact sums: whoever adds up parts of a text, in any order,
    gets the same. No count is over the number of tokens of a side; `above` is a power of two over both.
    """

    links: Array
    null_target: Array
    null_source: Array


@kernel
def add_counts(
    v0: int, v1: int, end: int, lookup: Lookup, null_source: Array, counts: ExpectedCounts, above: float
) -> None:
    """Add the posteriors of the cells of source words v0..v1, the last of which ends at `end`, to the counts.

    `null_source`: see `dualign.hmm.posteriors.Output`. The counts of a word's row stay in cache. Ranges share
    no count.
    """
    index, entry, share, links = lookup.words, lookup.cells.entry, lookup.cells.score, counts.links
    for c in range(index.reach[v0], end):
        m = entry[c]
        links[m, 0] += rounded(share[c, 0], above)
        links[m, 1] += rounded(share[c, 1], above)
    for v in range(v0, v1):
        null = counts.null_source[v]
        for p in range(index.starts[v], index.starts[v + 1]):
            null += rounded(null_source[index.where[p]], above)
        counts.null_source[v] = null


@kernel
def add_null_counts(lookup: Lookup, null_target: Array, counts: ExpectedCounts, above: float) -> None:
    """Add the probability that each target token is linked to nothing to the counts of their words."""
    target = lookup.pairs.target
    for k in range(len(target)):
        counts.null_target[target[k]] += rounded(null_target[k], above)
