"""Walks over phrase links: from row to row, with the set of columns that are covered so far.

Rows are the words of one side, columns those of the other. A link covers rows i..j−1 and columns k..l−1. A
walk goes from row 0 to row I by links; its state is the row it has reached and the set of columns it has
covered. Ways to the same state are merged: the better one stays (`relaxation`), or they are added up
(`summing`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, doubled, new_slots, refilled, slot_of
from dualign.phrase.weights import WeightedPair

VALUE, CHARGED, RAISED = range(3)
"""What is known of a state: the worth of the best way there, or the log of the sum of all ways, −∞ once it is
dropped; the sum of the multipliers of its columns; what was added to its value to make up for others."""


class SpanLinks(NamedTuple):
    """Links sorted by (i, j, k, l): `spans` int64 [links, 4] and `weights` float64 [links].

    `numbers` int64 [links] are their numbers in the sentence pair. Those that begin in row i are `begin[i]`
    to `begin[i + 1]`, int64 [I + 1]. `width` is the number of columns.
    """

    spans: Array
    weights: Array
    numbers: Array
    begin: Array
    width: int


class Coverage(NamedTuple):
    """Sets of columns as bits, uint64 [·, 1 + words]; word 0, where a state has its row, is 0.

    `columns` [links]: what each link covers; `due` [I + 1]: what no link from row i on can cover.
    """

    columns: Array
    due: Array


class CoverageGuide(NamedTuple):
    """What steps are worth, and which states are not worth keeping.

    A link adds `worth` [links] to the value of a state. A state of row j is left out if `total` + its value +
    `behind[j]` is not above `least`. `charge` [J + 1] holds the sums of the multipliers of the first columns.
    `stop` uint8 (1) is 1 once the time is up (`dualign._core.progress`).
    """

    worth: Array
    total: float
    behind: Array
    least: float
    charge: Array
    stop: Array


class States(NamedTuple):
    """The states of a walk, with room for more; those of a row form a list.

    `keys` uint64 [room, 1 + words]: row, covered columns. `values` float64 [room, 3]: VALUE, CHARGED, RAISED.
    `origins` int64 [room, 2]: the state before it on the best way, and the link from there. `following` int64
    [room]: the next state of the row. `heads`, `counts` int64 [I + 1]: first state and number of states of
    each row. `slots`: the hash table of `keys`.
    """

    keys: Array
    values: Array
    origins: Array
    following: Array
    heads: Array
    counts: Array
    slots: Array


def links_of(pair: WeightedPair, *, longer_side: bool = True) -> SpanLinks:
    """Return the links of a sentence pair, with the source as rows; with `longer_side`, the longer side.

    Walks keep sets of columns, so there should be few of these.
    """
    spans, height, width = pair.spans, pair.source_length, pair.target_length
    numbers = np.arange(len(spans))
    if longer_side and height < width:
        numbers = np.lexsort((spans[:, 1], spans[:, 0], spans[:, 3], spans[:, 2]))
        spans = np.ascontiguousarray(spans[numbers][:, [2, 3, 0, 1]])
        height, width = width, height
    return SpanLinks(spans, pair.weights[numbers], numbers, _compiled_beginnings(spans, height), width)


@part
def _beginnings(spans: Array, height: int) -> Array:
    """Return where the links of each first row begin, [I + 1]."""
    begin = np.zeros(height + 1, np.int64)
    for a in range(len(spans)):
        begin[spans[a, 0] + 1] += 1
    return np.cumsum(begin)


_compiled_beginnings = kernel(_beginnings)


@part
def _reachable(begin: Array, end: Array, order: Array, length: int, alive: Array) -> bool:
    """Clear `alive` of links that no path of one side uses; returns whether any was cleared.

    On this side, of that length, links are spans from `begin` to `end`; `order` sorts them by `begin`.
    """
    before, behind = np.zeros(length + 1, np.bool_), np.zeros(length + 1, np.bool_)
    before[0] = behind[length] = True
    for a in order:
        if alive[a] and before[begin[a]]:
            before[end[a]] = True
    for a in order[::-1]:
        if alive[a] and behind[end[a]]:
            behind[begin[a]] = True
    cleared = False
    for a in order:
        if alive[a] and not (before[begin[a]] and behind[end[a]]):
            alive[a] = False
            cleared = True
    return cleared


@part
def consistent(links: SpanLinks, alive: Array) -> SpanLinks:
    """Return those `alive` that some path of either side uses; `alive` is cleared of the others."""
    spans, height = links.spans, len(links.begin) - 1
    by_row, by_column = np.arange(len(spans)), np.empty(len(spans), np.int64)
    # Counting is several times faster than sorting.
    place = _beginnings(spans[:, 2:], links.width)
    for a in by_row:
        by_column[place[spans[a, 2]]] = a
        place[spans[a, 2]] += 1
    changed = True
    while changed:
        changed = _reachable(spans[:, 0], spans[:, 1], by_row, height, alive)
        changed = _reachable(spans[:, 2], spans[:, 3], by_column, links.width, alive) or changed
    spans = spans[alive]
    begin = _beginnings(spans, height)
    return SpanLinks(spans, links.weights[alive], links.numbers[alive], begin, links.width)


compiled_consistent = kernel(consistent)


@part
def charges(mu: Array) -> Array:
    """Return sums of the first 0, 1, … J multipliers."""
    charge = np.zeros(len(mu) + 1)
    for y in range(len(mu)):
        charge[y + 1] = charge[y] + mu[y]
    return charge


@part
def charge_links(links: SpanLinks, mu: Array, r: Array) -> Array:
    """Fill `r` [links] with weights less the multipliers of the columns covered; returns `charges`."""
    charge = charges(mu)
    for a in range(len(r)):
        r[a] = links.weights[a] - (charge[links.spans[a, 3]] - charge[links.spans[a, 2]])
    return charge


@part
def coverage_of(links: SpanLinks) -> Coverage:
    """Return what links cover, and what none can cover any more."""
    spans, height = links.spans, len(links.begin) - 1
    words = 1 + (links.width + 63) // 64
    columns = np.zeros((len(spans), words), np.uint64)
    reach = np.zeros((height + 1, words), np.uint64)
    for a in range(len(spans)):
        for y in range(spans[a, 2], spans[a, 3]):
            columns[a, 1 + (y >> 6)] |= np.uint64(1) << np.uint64(y & 63)
    for i in range(height - 1, -1, -1):
        for word in range(words):
            reach[i, word] = reach[i + 1, word]
            for a in range(links.begin[i], links.begin[i + 1]):
                reach[i, word] |= columns[a, word]
    return Coverage(columns, reach[0] & ~reach)


@part
def first_state(height: int, coverage: Coverage) -> States:
    """Row 0, nothing covered, value 0."""
    room, words = 1 << 10, coverage.columns.shape[1]
    keys, slots = np.zeros((room, words), np.uint64), new_slots(room)
    heads, counts = np.full(height + 1, EMPTY, np.int64), np.zeros(height + 1, np.int64)
    heads[0], counts[0] = 0, 1
    slots[slot_of(slots, keys, keys[0])] = 0
    origins, following = np.full((room, 2), EMPTY, np.int64), np.full(room, EMPTY, np.int64)
    return States(keys, np.zeros((room, 3)), origins, following, heads, counts, slots)


@part(allocates=False)
def extended(keys: Array, state: int, coverage: Coverage, a: int, row: int, key: Array) -> bool:
    """Put into `key` what becomes of a state by link a, which leads to `row`.

    False if their columns overlap, or if a column that is due by that row is missing.
    """
    key[0] = row
    for word in range(1, len(key)):
        covered, more = keys[state, word], coverage.columns[a, word]
        key[word] = covered | more
        if covered & more or coverage.due[row, word] & ~key[word]:
            return False
    return True


@part
def states_of(states: States, i: int) -> Array:
    """Return the numbers of the states of row i."""
    numbers = np.empty(states.counts[i], np.int64)
    state = states.heads[i]
    for n in range(len(numbers)):
        numbers[n] = state
        state = states.following[state]
    return numbers


@part
def log_add(a: float, b: float) -> float:
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@part
def expand(
    states: States, links: SpanLinks, coverage: Coverage, guide: CoverageGuide, i: int, summing: bool
) -> States:
    """Extend each state of row i that is not dropped by each link that begins there.

    Ways to the same state are added up if `summing`; otherwise the better one stays, the former if equal.
    If the time is up, not all are extended.
    """
    keys, values, origins, following, heads, counts, slots = states
    used = counts.sum()
    key = np.empty(keys.shape[1], np.uint64)
    state = heads[i]
    while state != EMPTY and guide.stop[0] == 0:
        dropped = values[state, VALUE] == -np.inf
        for a in range(links.begin[i], links.begin[i] if dropped else links.begin[i + 1]):
            j, k, l = links.spans[a, 1], links.spans[a, 2], links.spans[a, 3]
            value = values[state, VALUE] + guide.worth[a]
            if guide.total + value + guide.behind[j] <= guide.least:
                continue
            if not extended(keys, state, coverage, a, j, key):
                continue
            slot = slot_of(slots, keys, key)
            other = slots[slot]
            if other != EMPTY:
                if summing:
                    values[other, VALUE] = log_add(values[other, VALUE], value)
                elif value > values[other, VALUE]:
                    values[other, VALUE] = value
                    origins[other, 0], origins[other, 1] = state, a
                continue
            if used == len(values):
                keys, values = doubled(keys), doubled(values)
                origins, following = doubled(origins), doubled(following)
                slots = refilled(keys, used, len(values))
                slot = slot_of(slots, keys, key)
            for word in range(len(key)):
                keys[used, word] = key[word]
            values[used, VALUE], values[used, RAISED] = value, 0.0
            values[used, CHARGED] = values[state, CHARGED] + guide.charge[l] - guide.charge[k]
            origins[used, 0], origins[used, 1] = state, a
            following[used], heads[j] = heads[j], used
            counts[j] += 1
            slots[slot] = used
            used += 1
        state = following[state]
    return States(keys, values, origins, following, heads, counts, slots)
