"""Forest × language model: the items of the Bar-Hillel construction, at any precision.

An *item* of a node of the forest (`binary.Forest`) stands for all its derivations that look the same to the
language model from outside. With K words of context kept (K = n − 1 is exact for an n-gram model), that is

- its **left state**: its first words, at most K, as a node of the model's trie. Their probabilities still
  depend on what comes before. Words join the left state as long as some longer n-gram begins before them;
  it is *closed* when the next word cannot join (or there are K), and *open* if the whole yield is in it.
- its **right state**: its last words, as a node of depth at most K, as far as the model remembers them.

The score of an item is that of its best derivation, with an **upper bound** for what is not known: for each
word of the left state, `upper` over all words that may come before; for the words after a closed left
state, `close`, the most that leaving a longer context could add; and where K < n − 1, the same for contexts
cut off at K words. So scores can only fall when items are combined, a pass with K words bounds every pass
with more, and what a derivation can still reach from an item, its *outside* score in a coarse pass, bounds
the same in a finer pass. `intersect` drops every item that such a bound proves to be below a threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, doubled, new_slots, refilled, slot_of
from dualign.translate.lm.trie import Automaton, find, follow
from dualign.translate.search.problem import Forest

COMPLETE, OVERFLOW, FULL = range(3)

ITEMS, ARCS, TRIED, LEFT_ITEM, RIGHT_ITEM = range(5)
"""Counts of a chart: items, arcs, pairs of items that were tried, and the pair that is next."""


class State(NamedTuple):
    """How the language model sees an item from outside: see the top of this file."""

    left: Any
    closed: bool
    right: Any


class ForestItems(NamedTuple):
    """Items of node n are `begin[n] .. begin[n + 1]`, best first.

    `state` int32 (items, 3): left state, whether it is closed, right state; `score` float64. Arcs make items
    of items: `arc` int32 (arcs, 4): head, left part, right part (−1: none), and step of the forest;
    `arc_score`: the score that the arc gives to its head. Arcs of a head come after all arcs of its parts.
    """

    begin: Array
    state: Array
    score: Array
    arc: Array
    arc_score: Array


class Table(NamedTuple):
    """Outside scores by node, left state, closed and right state, int32 (entries, 4): a hash table.

    `reach[n]` is the best outside score at node n.
    """

    slots: Array
    key: Array
    outside: Array
    reach: Array


class PassGuide(NamedTuple):
    """A coarser pass that guides a finer one: its table, and what its states stand for.

    `left`, `right`: from left and right states to coarser ones; `closed`: coarse left states that are always
    closed; `first`: the first word of a left state. `joint` float64 (x, w): at most this is added to the
    scores of two items where w comes after x, −inf where it cannot: the model may lack n-grams of such pairs,
    so they must not be combined. `known` is false for the first pass, which has no guide.
    """

    table: Table
    left: Array
    right: Array
    closed: Array
    first: Array
    joint: Array
    known: bool


class Level(NamedTuple):
    """The precision of a pass: a model, words of context K, and the items of words.

    `state` int32 (W, 3), as in `ForestItems`, and `score` of each word by itself.
    """

    lm: Automaton
    K: int
    state: Array
    score: Array


class PassLimits(NamedTuple):
    """A pass drops scores below `threshold`, and gives up after that many `arcs`, after `effort` pairs of
    items, or when `stop[0]`, uint8, is not 0."""

    threshold: float
    arcs: int
    effort: int
    stop: Array


class Pass(NamedTuple):
    """What a pass is given. `begin` int64 (N + 1) is that of `ForestItems`; `words` is scratch (≥ K)."""

    level: Level
    forest: Forest
    guide: PassGuide
    limits: PassLimits
    begin: Array
    words: Array


class Chart(NamedTuple):
    """Items and arcs as they grow, as in `ForestItems`; `slots`: a hash table of the items of one node,
    counted from its first; `numbers` int64 (5)."""

    state: Array
    score: Array
    arc: Array
    arc_score: Array
    slots: Array
    numbers: Array


@part(allocates=False)
def state_of(states: Array, i: int) -> State:
    """Return row i."""
    return State(np.int64(states[i, 0]), states[i, 1] != 0, np.int64(states[i, 2]))


@part(allocates=False)
def cut(lm: Automaton, K: int, node: Any) -> Any:
    """Return what a context of at most K words remembers of `node`."""
    node = lm.state[node]
    while lm.depth[node] > K:
        node = lm.state[lm.suffix[node]]
    return node


@part(allocates=False)
def combine(level: Level, a: State, b: State, words: Array) -> tuple[State, float]:
    """Put item b after item a: the new state, and what the scores' sum changes by (≤ 0); `words`: scratch."""
    lm, K = level.lm, level.K
    k = lm.depth[b.left]
    node = b.left
    for i in range(k - 1, -1, -1):
        words[i] = lm.word[node]
        node = lm.parent[node]
    inner = lm.order - 1 > K
    left, closed, s = a.left, a.closed, a.right
    change = -lm.cumulative[b.left]
    if b.closed and k < K:
        change -= lm.close[b.left]
    for i in range(k):
        c = s if closed else left
        g = find(lm.first, lm.word, c, words[i])
        if not closed and g >= 0 and lm.left[g]:
            change += lm.upper[g]
            left = np.int64(g)
            closed = lm.depth[g] == K
        elif closed and g >= 0 and inner and lm.depth[s] == K:
            change += lm.upper[g]
        else:
            if not closed or (inner and lm.depth[s] == K):
                change += lm.close[c]
            closed = True
            g, change = follow(lm, c, g, words[i], change)
        s = np.int64(cut(lm, K, g))
    if not b.closed:
        return State(left, closed, s), change
    if k < K:
        c = s if closed else left
        if not closed or (inner and lm.depth[c] == K):
            change += lm.close[c]
        while lm.depth[c] > k:
            change += lm.backoff[c]
            c = np.int64(lm.suffix[c])
    return State(left, True, b.right), change


@kernel
def table_of(key: Array, outside: Array, nodes: int) -> Table:
    """Return a table of these keys and outside scores."""
    reach = np.full(nodes, -np.inf)
    for i in range(len(key)):
        reach[key[i, 0]] = max(reach[key[i, 0]], outside[i])
    return Table(refilled(key, len(key), len(key)), key, outside, reach)


@part(allocates=False)
def look_up(guide: PassGuide, n: int, state: State) -> float:
    """Return outside score of the coarser item that stands for this one; −inf if there is none."""
    left = np.int64(guide.left[state.left])
    closed = np.int64(state.closed or guide.closed[left])
    table = guide.table
    key = (np.int64(n), left, closed, np.int64(guide.right[state.right]))
    entry = table.slots[slot_of(table.slots, table.key, key)]
    return table.outside[entry] if entry != EMPTY else -np.inf


@part(allocates=False)
def add_item(chart: Chart, state: State, score: float) -> int:
    """Append an item, for which there is room."""
    at = chart.numbers[ITEMS]
    chart.state[at, 0], chart.state[at, 1], chart.state[at, 2] = state.left, state.closed, state.right
    chart.score[at] = score
    chart.numbers[ITEMS] += 1
    return at


@part(allocates=False)
def item_with(chart: Chart, base: int, state: State, score: float) -> int:
    """Return the item with that state among those from `base` on, or a new one; it has at least that
    score."""
    key = (state.left, np.int64(state.closed), state.right)
    slot = slot_of(chart.slots, chart.state[base:], key)
    if chart.slots[slot] == EMPTY:
        chart.slots[slot] = chart.numbers[ITEMS] - base
        return add_item(chart, state, score)
    at = base + chart.slots[slot]
    chart.score[at] = max(chart.score[at], score)
    return at


@part(allocates=False)
def join(run: Pass, chart: Chart, n: int, step: int) -> int:
    """Add items and arcs of node n by a step, from the next pair of the chart on.

    Items of a node are sorted, best first; since combining two can only lower the sum of their scores, the
    loop over pairs ends where this sum and the node's best outside score are below the threshold. Returns
    COMPLETE, OVERFLOW, or FULL if the chart has to grow first.
    """
    forest, guide, begin, count = run.forest, run.guide, run.begin, chart.numbers
    lm = run.level.lm
    threshold = run.limits.threshold
    base = begin[n]
    a, b, weight = forest.left[step], forest.right[step], forest.step_weight[step]
    lone = b < 0
    begin_b, end_b = (np.int64(0), np.int64(1)) if lone else (begin[b], begin[b + 1])
    if begin_b == end_b:
        return COMPLETE
    top_b = 0.0 if lone else chart.score[begin_b]
    need = threshold - (guide.table.reach[n] if guide.known else np.inf) - weight
    following = max(begin_b, count[RIGHT_ITEM])
    for i in range(max(begin[a], count[LEFT_ITEM]), begin[a + 1]):
        if not chart.score[i] + top_b >= need:
            break
        if following == begin_b and (count[TRIED] > run.limits.effort or run.limits.stop[0] != 0):
            return OVERFLOW
        state, value = state_of(chart.state, i), chart.score[i] + weight
        # To look at a pair is an eighth of combining it.
        count[TRIED] += 1
        passed = 0
        for j in range(following, end_b):
            if not lone:
                if not chart.score[i] + chart.score[j] >= need:
                    break
                if guide.known:
                    w = guide.first[chart.state[j, 0]]
                    if not chart.score[i] + chart.score[j] + guide.joint[lm.word[state.right], w] >= need:
                        passed += 1
                        continue
            if is_full(chart, base):
                count[LEFT_ITEM], count[RIGHT_ITEM] = i, j
                return FULL
            count[TRIED] += 1
            joined = state
            if not lone:
                joined, change = combine(run.level, state, state_of(chart.state, j), run.words)
                value = chart.score[i] + chart.score[j] + (weight + change)
            if guide.known and not value + look_up(guide, n, joined) >= threshold:
                continue
            arc = count[ARCS]
            chart.arc[arc, 0] = item_with(chart, base, joined, value)
            chart.arc[arc, 1], chart.arc[arc, 2], chart.arc[arc, 3] = i, -1 if lone else j, step
            chart.arc_score[arc] = value
            count[ARCS] += 1
        count[TRIED] += passed >> 3
        following = begin_b
    return COMPLETE


@part(allocates=False)
def is_full(chart: Chart, base: int) -> bool:
    """Return whether there is no room for one more item or arc; items of the node begin at `base`."""
    items = chart.numbers[ITEMS]
    return (
        items >= len(chart.score)
        or chart.numbers[ARCS] >= len(chart.arc_score)
        or 2 * (items - base) > len(chart.slots)
    )


@part
def grown(chart: Chart, base: int) -> Chart:
    """Return the chart with room for one more item and arc."""
    state, score, arc, arc_score, slots, count = chart
    if count[ITEMS] >= len(score):
        state, score = doubled(state), doubled(score)
    if count[ARCS] >= len(arc_score):
        arc, arc_score = doubled(arc), doubled(arc_score)
    if 2 * (count[ITEMS] - base) > len(slots):
        slots = refilled(state[base:], count[ITEMS] - base, len(slots))
    return Chart(state, score, arc, arc_score, slots, count)


@part
def sort_items(state: Array, score: Array, key: Array, heads: Array, base: int, slots: Array) -> None:
    """Sort the items of a node, best key first, number the heads of its arcs anew, and empty its table.

    The arrays are those of the node alone; its items are numbered from `base` on.
    """
    size = len(score)
    if 8 * size > len(slots):
        slots[:] = EMPTY
    else:
        # In the reverse order of insertion, so that what is left can always be found.
        for i in range(size - 1, -1, -1):
            slots[slot_of(slots, state, state[i])] = EMPTY
    if size < 2:
        return
    ranked = np.argsort(-key, kind="mergesort")
    position = np.empty(size, np.int32)
    for at in range(size):
        position[ranked[at]] = base + at
    state[:], score[:] = state[ranked], score[ranked]
    for at in range(len(heads)):
        heads[at] = position[heads[at] - base]


@kernel
def intersect(level: Level, forest: Forest, guide: PassGuide, limits: PassLimits) -> tuple[ForestItems, int]:
    """Return all items at this level that can be part of a derivation of at least the threshold, and
    COMPLETE; or OVERFLOW beyond the limits.

    Without a guide and with a threshold of −inf the construction is complete.
    """
    N = len(forest.word)
    run = Pass(
        level, forest, guide, limits, np.zeros(N + 1, np.int64), np.empty(level.lm.order + 1, np.int32)
    )
    chart = Chart(
        np.empty((1024, 3), np.int32), np.empty(1024), np.empty((4096, 4), np.int32), np.empty(4096),
        new_slots(512), np.zeros(5, np.int64),
    )  # fmt: skip
    count = chart.numbers
    status = COMPLETE
    for n in range(N):
        base, first_arc = count[ITEMS], count[ARCS]
        run.begin[n] = base
        w = forest.word[n]
        if w >= 0:
            if is_full(chart, base):
                chart = grown(chart, base)
            state, value = state_of(level.state, w), level.score[w] + forest.weight[n]
            if not guide.known or value + look_up(guide, n, state) >= limits.threshold:
                add_item(chart, state, value)
        elif not guide.known or guide.table.reach[n] > -np.inf:
            for step in range(forest.begin[n], forest.begin[n + 1]):
                count[LEFT_ITEM] = count[RIGHT_ITEM] = 0
                status = join(run, chart, n, step)
                while status == FULL and not count[ARCS] >= limits.arcs:
                    chart = grown(chart, base)
                    status = join(run, chart, n, step)
                if status != COMPLETE:
                    status = OVERFLOW
                    break
            score = chart.score[base : count[ITEMS]]
            heads = chart.arc[first_arc : count[ARCS], 0]
            sort_items(chart.state[base : count[ITEMS]], score, score, heads, base, chart.slots)
        run.begin[n + 1] = count[ITEMS]
        if status == OVERFLOW:
            break
    items, arcs = count[ITEMS], count[ARCS]
    return ForestItems(
        run.begin, chart.state[:items], chart.score[:items], chart.arc[:arcs], chart.arc_score[:arcs]
    ), status
