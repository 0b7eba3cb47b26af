"""Cube pruning: at each vertex the best few items, found from the best few of its tails.

A vertex has a queue of candidates: an edge and the rank of an item for each place of its tail. The best
candidate becomes an item, or an arc of an item with the same state, and the candidates with one rank higher
join the queue (Chiang 2007; Huang & Chiang 2007). A rank grows only at or after the place where one grew
last, so no candidate comes twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import doubled, new_slots, pop, push, with_room
from dualign._search.inside import Arcs, Weighted
from dualign.translate.search.intersection import (
    ARCS,
    ITEMS,
    Chart,
    Level,
    State,
    add_item,
    combine,
    item_with,
    sort_items,
    state_of,
)

CANDIDATES, WAITING = range(2)


class CubeTables(NamedTuple):
    """What is given; where the items of each vertex begin and end, int64 (V, 2); and scratch for words."""

    level: Level
    graph: Weighted
    beam: int
    span: Array
    words: Array


class Queue(NamedTuple):
    """Candidates of one vertex: `edge`, `place` where a rank grew last, `ranks` int32 (room, widest tail),
    `state` int32 (room, 3), `score`; and a heap of them. `numbers` int64 (2): candidates, those waiting."""

    edge: Array
    place: Array
    ranks: Array
    state: Array
    score: Array
    heap: Array
    heap_key: Array
    numbers: Array


class CubeItems(NamedTuple):
    """`key` by which each item is ranked, and `tail` of all arcs, one after the other.

    An arc of the chart has a head, an edge, and the place where its tail ends.
    """

    key: Array
    tail: Array


@part(allocates=False)
def expected(level: Level, state: State, score: float) -> float:
    """Return the score with lower-order probabilities for the left state, in place of upper bounds: what to
    rank by."""
    lm = level.lm
    if state.closed and lm.depth[state.left] < level.K:
        score -= lm.close[state.left]
    return score - lm.cumulative[state.left] + lm.lower[state.left]


@part(allocates=False)
def add_candidate(run: CubeTables, chart: Chart, queue: Queue, v: int, e: int, place: int) -> None:
    """Put the candidate whose ranks are in the next row into the queue, for which there is room."""
    graph = run.graph
    at = queue.numbers[CANDIDATES]
    first = graph.tail_begin[e]
    i = run.span[graph.tail[first], 0] + queue.ranks[at, 0]
    state = state_of(chart.state, i)
    value = chart.score[i] + graph.vertex_weight[v] + graph.edge_weight[e]
    for p in range(1, graph.tail_begin[e + 1] - first):
        j = run.span[graph.tail[first + p], 0] + queue.ranks[at, p]
        state, change = combine(run.level, state, state_of(chart.state, j), run.words)
        value += chart.score[j] + change
    queue.edge[at], queue.place[at], queue.score[at] = e, place, value
    queue.state[at, 0], queue.state[at, 1], queue.state[at, 2] = state.left, state.closed, state.right
    push(queue.heap, queue.heap_key, queue.numbers[WAITING], at, expected(run.level, state, value))
    queue.numbers[CANDIDATES] += 1
    queue.numbers[WAITING] += 1


@part(allocates=False)
def start(run: CubeTables, chart: Chart, queue: Queue, v: int) -> None:
    """The first candidate of each edge."""
    graph = run.graph
    queue.numbers[:] = 0
    for e in graph.incoming[graph.incoming_begin[v] : graph.incoming_begin[v + 1]]:
        queue.ranks[queue.numbers[CANDIDATES]] = 0
        add_candidate(run, chart, queue, v, e, 0)


@part(allocates=False)
def fill(run: CubeTables, chart: Chart, queue: Queue, found: CubeItems, v: int) -> bool:
    """Make the best candidates items and arcs of vertex v; returns whether that is done, or else room is
    short."""
    graph, span, count, beam = run.graph, run.span, chart.numbers, run.beam
    base, widest = span[v, 0], queue.ranks.shape[1]
    while queue.numbers[WAITING] > 0 and count[ITEMS] - base < beam:
        arc = count[ARCS]
        end = np.int64(chart.arc[arc - 1, 2]) if arc > 0 else 0
        if (
            arc >= len(chart.arc_score)
            or end + widest > len(found.tail)
            or queue.numbers[CANDIDATES] + widest > len(queue.edge)
        ):
            return False
        best, key = queue.heap[0], queue.heap_key[0]
        pop(queue.heap, queue.heap_key, queue.numbers[WAITING])
        queue.numbers[WAITING] -= 1
        i = item_with(chart, base, state_of(queue.state, best), -np.inf)
        if queue.score[best] > chart.score[i]:
            chart.score[i], found.key[i] = queue.score[best], key
        e = queue.edge[best]
        first, arity = graph.tail_begin[e], graph.tail_begin[e + 1] - graph.tail_begin[e]
        for p in range(arity):
            found.tail[end + p] = span[graph.tail[first + p], 0] + queue.ranks[best, p]
        chart.arc[arc, 0], chart.arc[arc, 1], chart.arc[arc, 2] = i, e, end + arity
        chart.arc_score[arc] = queue.score[best]
        count[ARCS] += 1
        for p in range(queue.place[best], arity):
            t, rank = graph.tail[first + p], queue.ranks[best, p] + 1
            if rank < span[t, 1] - span[t, 0]:
                at = queue.numbers[CANDIDATES]
                for q in range(arity):
                    queue.ranks[at, q] = queue.ranks[best, q]
                queue.ranks[at, p] = rank
                add_candidate(run, chart, queue, v, e, p)
    return True


@part
def with_candidates(queue: Queue, room: int) -> Queue:
    """Return the queue with room for `room` candidates."""
    edge, place, ranks, state, score, heap, heap_key, count = queue
    return Queue(
        with_room(edge, room), with_room(place, room), with_room(ranks, room), with_room(state, room),
        with_room(score, room), with_room(heap, room), with_room(heap_key, room), count,
    )  # fmt: skip


@kernel
def cube(level: Level, beam: int, graph: Weighted, leaf_word: Array, stop: Array) -> tuple[Arcs, Array, int]:
    """At most `beam` items for each vertex of `graph.order`; the goal comes last.

    Returns the items with the arcs between them, the edge of each arc, and the goal's best item, −1 if
    `stop[0]`, uint8, has become other than 0. `leaf_word` int32 (V) is the word of a leaf, −1 otherwise.
    """
    V = len(graph.vertex_weight)
    run = CubeTables(level, graph, beam, np.zeros((V, 2), np.int64), np.empty(level.lm.order + 1, np.int32))
    widest = np.diff(graph.tail_begin).max()
    chart = Chart(
        np.empty((1024, 3), np.int32), np.empty(1024), np.empty((1024, 3), np.int32), np.empty(1024),
        new_slots(2 * beam), np.zeros(2, np.int64),
    )  # fmt: skip
    found = CubeItems(np.empty(1024), np.empty(max(1024, widest), np.int32))
    queue = Queue(
        np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty((1024, widest), np.int32),
        np.empty((1024, 3), np.int32), np.empty(1024), np.empty(1024, np.int64), np.empty(1024),
        np.zeros(2, np.int64),
    )  # fmt: skip
    count = chart.numbers
    for v in graph.order:
        if stop[0] != 0:
            break
        base, first_arc = count[ITEMS], count[ARCS]
        run.span[v, 0] = base
        if base + beam + 1 > len(chart.score):
            room = 2 * (base + beam + 1)
            chart = Chart(with_room(chart.state, room), with_room(chart.score, room), *chart[2:])
            found = CubeItems(with_room(found.key, room), found.tail)
        w = leaf_word[v]
        if w >= 0:
            add_item(chart, state_of(level.state, w), level.score[w] + graph.vertex_weight[v])
        else:
            edges = graph.incoming_begin[v + 1] - graph.incoming_begin[v]
            queue = with_candidates(queue, edges + widest)
            start(run, chart, queue, v)
            while not fill(run, chart, queue, found, v):
                queue = with_candidates(queue, 2 * (queue.numbers[CANDIDATES] + widest))
                if chart.arc[count[ARCS] - 1, 2] + widest > len(found.tail):
                    found = CubeItems(found.key, doubled(found.tail))
                if count[ARCS] >= len(chart.arc_score):
                    state, score, arc, arc_score, slots, _ = chart
                    chart = Chart(state, score, doubled(arc), doubled(arc_score), slots, count)
            end = count[ITEMS]
            heads = chart.arc[first_arc : count[ARCS], 0]
            sort_items(
                chart.state[base:end], chart.score[base:end], found.key[base:end], heads, base, chart.slots
            )
        run.span[v, 1] = count[ITEMS]
    arcs = chart.arc[: count[ARCS]]
    tail_begin = np.zeros(len(arcs) + 1, np.int64)
    tail_begin[1:] = arcs[:, 2]
    items = Arcs(
        chart.score[: count[ITEMS]], arcs[:, 0].copy(), tail_begin, found.tail[: tail_begin[-1]],
        chart.arc_score[: count[ARCS]],
    )  # fmt: skip
    return items, arcs[:, 1].copy(), -1 if stop[0] != 0 else run.span[graph.order[-1], 0]
