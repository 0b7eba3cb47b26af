"""Cube pruning: at each vertex the best few items, found from the best few of its tails."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.lm.language_model import Automaton
from dualign.translate.search.intersection import Level, combine, doubled, hashed


@kernel()
def expected(lm: Automaton, K: int, left: int, closed: bool, score: float) -> float:
    """The score with lower-order probabilities for the left state, in place of upper bounds: what to rank
    by."""
    if closed and lm.depth[left] < K:
        score -= lm.close[left]
    return score - lm.cumulative[left] + lm.lower[left]


@kernel()
def cube(
    level: Level,
    beam: int,
    order: Array,
    incoming_begin: Array,
    incoming: Array,
    tail_begin: Array,
    tail: Array,
    vertex_weight: Array,
    edge_weight: Array,
    leaf_word: Array,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """At most `beam` items for each vertex of `order`; arrays as in `Hypergraph`, the goal comes last.

    Returns `(item_score, arc_head, arc_tail_begin, arc_tail, arc_edge, arc_score, goals)`: items and the
    arcs between them (see `intersection.Items`, but with tails as long as those of the edges), and the
    first and last item of the goal. A vertex has a queue of candidates: an edge and the rank of an item for
    each place of its tail. The best candidate becomes an item, or an arc of an item with the same states,
    and the candidates with one rank higher join (Chiang 2007; Huang & Chiang 2007). A rank grows only at or
    after the place where one grew last, so no candidate comes twice.
    """
    lm, K = level.lm, level.K
    V = len(vertex_weight)
    item_begin, item_end = np.zeros(V, np.int64), np.zeros(V, np.int64)
    room = 1024
    left, right = np.empty(room, np.int32), np.empty(room, np.int32)
    closed, score, key = np.empty(room, np.bool_), np.empty(room), np.empty(room)
    arc_head, arc_edge = np.empty(room, np.int32), np.empty(room, np.int32)
    arc_score, arc_begin = np.empty(room), np.empty(room + 1, np.int64)
    arc_tail = np.empty(room, np.int32)
    arc_begin[0] = 0
    count = arcs = arc_size = 0
    c_room = 1024
    c_edge, c_ranks, c_place = (
        np.empty(c_room, np.int32),
        np.empty(c_room, np.int64),
        np.empty(c_room, np.int32),
    )
    c_left, c_right, c_closed = (
        np.empty(c_room, np.int32),
        np.empty(c_room, np.int32),
        np.empty(c_room, np.bool_),
    )
    c_score, c_key = np.empty(c_room), np.empty(c_room)
    heap = np.empty(c_room, np.int64)
    ranks = np.empty(4096, np.int32)
    size = 16
    while size < 4 * beam:
        size *= 2
    slots = np.full(size, -1, np.int32)
    words = np.empty(lm.order + 1, np.int32)
    for v in order:
        base, arc_base = count, arcs
        item_begin[v] = count
        if 2 * (count + beam + 2) > room:
            while 2 * (count + beam + 2) > room:
                room *= 2
                left, right, closed = doubled(left), doubled(right), doubled(closed)
                score, key = doubled(score), doubled(key)
        if leaf_word[v] >= 0:
            w = leaf_word[v]
            left[count], closed[count], right[count] = level.left[w], level.closed[w], level.right[w]
            score[count] = level.score[w] + vertex_weight[v]
            count += 1
            item_end[v] = count
            continue
        cands = waiting = rank_size = 0
        edges = incoming[incoming_begin[v] : incoming_begin[v + 1]]
        following = 0  # edges not yet in the queue
        expand = -1  # candidate whose successors are due
        place = 0
        while True:
            # Make the next candidate: first of each edge, then successors of the one popped.
            made = False
            new_ranks = rank_size
            if following < len(edges):
                e = edges[following]
                following += 1
                arity = tail_begin[e + 1] - tail_begin[e]
                while rank_size + arity > len(ranks):
                    ranks = doubled(ranks)
                ranks[rank_size : rank_size + arity] = 0
                last = 0
                made = True
            elif expand >= 0:
                e = c_edge[expand]
                arity = tail_begin[e + 1] - tail_begin[e]
                if place < arity:
                    t = tail[tail_begin[e] + place]
                    rank = ranks[c_ranks[expand] + place] + 1
                    if rank < item_end[t] - item_begin[t]:
                        while rank_size + arity > len(ranks):
                            ranks = doubled(ranks)
                        for i in range(arity):
                            ranks[rank_size + i] = ranks[c_ranks[expand] + i]
                        ranks[rank_size + place] = rank
                        last = place
                        made = True
                    place += 1
                else:
                    expand = -1
            if made:
                t = tail[tail_begin[e]]
                i = item_begin[t] + ranks[new_ranks]
                l, c, r = left[i], closed[i], right[i]
                value = score[i] + vertex_weight[v] + edge_weight[e]
                for p in range(1, arity):
                    t = tail[tail_begin[e] + p]
                    j = item_begin[t] + ranks[new_ranks + p]
                    l, c, r, change = combine(lm, K, l, c, r, left[j], closed[j], right[j], words)
                    value += score[j] + change
                rank_size += arity
                if cands >= c_room:
                    c_room *= 2
                    c_edge, c_ranks, c_place = doubled(c_edge), doubled(c_ranks), doubled(c_place)
                    c_left, c_right, c_closed = doubled(c_left), doubled(c_right), doubled(c_closed)
                    c_score, c_key, heap = doubled(c_score), doubled(c_key), doubled(heap)
                c_edge[cands], c_ranks[cands], c_place[cands] = e, new_ranks, last
                c_left[cands], c_closed[cands], c_right[cands], c_score[cands] = l, c, r, value
                c_key[cands] = expected(lm, K, l, c, value)
                at = waiting
                waiting += 1
                while at > 0 and c_key[cands] > c_key[heap[(at - 1) >> 1]]:
                    heap[at] = heap[(at - 1) >> 1]
                    at = (at - 1) >> 1
                heap[at] = cands
                cands += 1
                continue
            if expand >= 0:
                continue
            if waiting == 0 or count - base >= beam:
                break
            best = heap[0]
            waiting -= 1
            moved = heap[waiting]
            at = 0
            while True:
                child = 2 * at + 1
                if child >= waiting:
                    break
                if child + 1 < waiting and c_key[heap[child + 1]] > c_key[heap[child]]:
                    child += 1
                if not c_key[heap[child]] > c_key[moved]:
                    break
                heap[at] = heap[child]
                at = child
            heap[at] = moved
            l, c, r = c_left[best], c_closed[best], c_right[best]
            h = hashed(v, l, c, r, size - 1)
            while slots[h] >= 0:
                i = slots[h]
                if left[i] == l and right[i] == r and closed[i] == c:
                    break
                h = (h + 1) & (size - 1)
            if slots[h] < 0:
                slots[h] = count
                left[count], closed[count], right[count] = l, c, r
                score[count], key[count] = c_score[best], c_key[best]
                count += 1
            i = slots[h]
            if c_score[best] > score[i]:
                score[i], key[i] = c_score[best], c_key[best]
            e = c_edge[best]
            arity = tail_begin[e + 1] - tail_begin[e]
            if arcs + 1 >= len(arc_head):
                arc_head, arc_edge = doubled(arc_head), doubled(arc_edge)
                arc_score, arc_begin = doubled(arc_score), doubled(arc_begin)
            while arc_size + arity > len(arc_tail):
                arc_tail = doubled(arc_tail)
            for p in range(arity):
                t = tail[tail_begin[e] + p]
                arc_tail[arc_size + p] = item_begin[t] + ranks[c_ranks[best] + p]
            arc_size += arity
            arc_head[arcs], arc_edge[arcs], arc_score[arcs] = i, e, c_score[best]
            arcs += 1
            arc_begin[arcs] = arc_size
            expand, place = best, c_place[best]
        ranked = np.argsort(-key[base:count], kind="mergesort")
        position = np.empty(count - base, np.int32)
        l_, c_, r_ = left[base:count].copy(), closed[base:count].copy(), right[base:count].copy()
        s_ = score[base:count].copy()
        for at in range(count - base):
            old = ranked[at]
            position[old] = base + at
            left[base + at], closed[base + at], right[base + at] = l_[old], c_[old], r_[old]
            score[base + at] = s_[old]
        for arc in range(arc_base, arcs):
            arc_head[arc] = position[arc_head[arc] - base]
        slots[:] = -1
        item_end[v] = count
    goal = order[len(order) - 1]
    goals = np.array([item_begin[goal], item_end[goal]])
    return (
        score[:count], arc_head[:arcs], arc_begin[: arcs + 1], arc_tail[:arc_size],
        arc_edge[:arcs], arc_score[:arcs], goals,
    )  # fmt: skip
