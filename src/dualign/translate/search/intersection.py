"""Forest × language model: the items of the Bar-Hillel construction, at any precision.

An *item* of a node of the forest (`problem.Forest`) stands for all its derivations that look the same to the
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

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.lm.language_model import Automaton
from dualign.translate.lm.trie import find
from dualign.translate.search.translation_problem import Forest

COMPLETE, OVERFLOW = 0, 1


class Items(NamedTuple):
    """Items of node n are `begin[n] .. begin[n + 1]`, best first.

    `left`, `right` int32: states; `closed` bool; `score` float64. Arcs make items of items: `arc_head`,
    `arc_left`, `arc_right` (−1: none), `arc_step`, the step of the forest, and `arc_score`, the score that
    the arc gives to its head. Arcs of a head come after all arcs of its parts.
    """

    begin: Array
    left: Array
    closed: Array
    right: Array
    score: Array
    arc_head: Array
    arc_left: Array
    arc_right: Array
    arc_step: Array
    arc_score: Array


class Table(NamedTuple):
    """Outside scores by node and state: open addressing in `slot` (−1: empty), a power of two in size.

    `reach[n]` is the best outside score at node n.
    """

    slot: Array
    node: Array
    left: Array
    closed: Array
    right: Array
    outside: Array
    reach: Array


class Guide(NamedTuple):
    """A coarser pass to go by: its table, and what its states stand for.

    `left`, `right`: from left and right states to coarser ones; `closed`: coarse left states that are always
    closed. `known` is false for the first pass, which has no guide.
    """

    table: Table
    left: Array
    right: Array
    closed: Array
    known: bool


class Level(NamedTuple):
    """The precision of a pass: a model, words of context K, and the items of words.

    `left`, `closed`, `right`, `score`: states and score of each word by itself.
    """

    lm: Automaton
    K: int
    left: Array
    closed: Array
    right: Array
    score: Array


@kernel()
def cut(lm: Automaton, K: int, node: int) -> int:
    """What a context of at most K words remembers of `node`."""
    node = lm.state[node]
    while lm.depth[node] > K:
        node = lm.state[lm.suffix[node]]
    return node


@kernel()
def combine(
    lm: Automaton, K: int, la: int, ca: bool, ra: int, lb: int, cb: bool, rb: int, words: Array
) -> tuple[int, bool, int, float]:
    """Put item b after item a: new left state, closed, right state, and what the scores' sum changes by (≤
    0).

    `la`, `ca`, `ra` and `lb`, `cb`, `rb` are left state, closed and right state; `words` is scratch (≥ K).
    """
    first, word, depth = lm.first, lm.word, lm.depth
    k = depth[lb]
    node = lb
    for i in range(k - 1, -1, -1):
        words[i] = word[node]
        node = lm.parent[node]
    inner = lm.order - 1 > K
    left, closed, s = la, ca, ra
    change = -lm.cumulative[lb]
    if cb and k < K:
        change -= lm.close[lb]
    for i in range(k):
        w = words[i]
        if closed:
            c = s
            g = find(first, word, c, w)
            if depth[s] == K and inner:
                if g >= 0:
                    change += lm.upper[g]
                else:
                    change += lm.close[s]
                    while g < 0:
                        change += lm.backoff[c]
                        c = lm.suffix[c]
                        g = find(first, word, c, w)
                    change += lm.logprob[g]
            else:
                while g < 0:
                    change += lm.backoff[c]
                    c = lm.suffix[c]
                    g = find(first, word, c, w)
                change += lm.logprob[g]
        else:
            g = find(first, word, left, w)
            if g >= 0 and lm.left[g]:
                change += lm.upper[g]
                left = g
                closed = depth[g] == K
            else:
                closed = True
                change += lm.close[left]
                c = left
                while g < 0:
                    change += lm.backoff[c]
                    c = lm.suffix[c]
                    g = find(first, word, c, w)
                change += lm.logprob[g]
        s = cut(lm, K, g)
    if not cb:
        return left, closed, s, change
    if k < K:
        if closed:
            c = s
            if depth[c] == K and inner:
                change += lm.close[c]
        else:
            c = left
            closed = True
            change += lm.close[left]
        while depth[c] > k:
            change += lm.backoff[c]
            c = lm.suffix[c]
    elif not closed:
        closed = True
    return left, closed, rb, change


@kernel()
def hashed(node: int, left: int, closed: bool, right: int, mask: int) -> Any:
    """The place of an item in a table."""
    code = np.uint64(left) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(right) * np.uint64(0xC2B2AE3D27D4EB4F)
    code += np.uint64(2 * node + (1 if closed else 0)) * np.uint64(0x165667B19E3779F9)
    code ^= code >> np.uint64(29)
    code *= np.uint64(0xBF58476D1CE4E5B9)
    code ^= code >> np.uint64(32)
    return np.int64(code & np.uint64(mask))


@kernel()
def tabulate(items: Items, outside: Array, threshold: float) -> Table:
    """Table of the items whose score and outside score together reach the threshold."""
    N = len(items.begin) - 1
    kept = 0
    for i in range(len(items.left)):
        kept += items.score[i] + outside[i] >= threshold
    size = 16
    while size < 2 * kept:
        size *= 2
    slot = np.full(size, -1, np.int32)
    node, left, right = np.empty(kept, np.int32), np.empty(kept, np.int32), np.empty(kept, np.int32)
    closed, value = np.empty(kept, np.bool_), np.empty(kept)
    reach = np.full(N, -np.inf)
    at = 0
    for n in range(N):
        for i in range(items.begin[n], items.begin[n + 1]):
            if not items.score[i] + outside[i] >= threshold:
                continue
            node[at], left[at], closed[at], right[at] = n, items.left[i], items.closed[i], items.right[i]
            value[at] = outside[i]
            reach[n] = max(reach[n], outside[i])
            h = hashed(n, left[at], closed[at], right[at], size - 1)
            while slot[h] >= 0:
                h = (h + 1) & (size - 1)
            slot[h] = at
            at += 1
    return Table(slot, node, left, closed, right, value, reach)


@kernel()
def look_up(guide: Guide, n: int, left: int, closed: bool, right: int) -> float:
    """Outside score of the coarser item that stands for this one; −inf if there is none."""
    left, right = guide.left[left], guide.right[right]
    closed = closed or guide.closed[left]
    table = guide.table
    mask = len(table.slot) - 1
    h = hashed(n, left, closed, right, mask)
    while table.slot[h] >= 0:
        i = table.slot[h]
        if (
            table.node[i] == n
            and table.left[i] == left
            and table.right[i] == right
            and table.closed[i] == closed
        ):
            return table.outside[i]
        h = (h + 1) & mask
    return -np.inf


@kernel()
def intersect(
    level: Level, forest: Forest, guide: Guide, threshold: float, limit: int, effort: int
) -> tuple[Items, int]:
    """All items at this level that can be part of a derivation of at least `threshold`.

    Without a guide and with a threshold of −inf the construction is complete. Stops after `limit` arcs or
    `effort` pairs of items, and says OVERFLOW.

    Items of a node are sorted, best first; since combining two can only lower the sum of their scores, the
    loop over pairs ends where this sum and the node's best outside score are below the threshold.
    """
    lm, K = level.lm, level.K
    N = len(forest.word)
    begin = np.zeros(N + 1, np.int64)
    room, arc_room = 1024, 4096
    left, right = np.empty(room, np.int32), np.empty(room, np.int32)
    closed, score = np.empty(room, np.bool_), np.empty(room)
    arc_head, arc_left = np.empty(arc_room, np.int32), np.empty(arc_room, np.int32)
    arc_right, arc_step = np.empty(arc_room, np.int32), np.empty(arc_room, np.int32)
    arc_score = np.empty(arc_room)
    slots = np.full(1024, -1, np.int32)
    words = np.empty(lm.order + 1, np.int32)
    count = arcs = tried = 0
    status = COMPLETE
    for n in range(N):
        base, arc_base = count, arcs
        begin[n] = base
        if forest.word[n] >= 0:
            w = forest.word[n]
            l, c, r, value = level.left[w], level.closed[w], level.right[w], level.score[w] + forest.weight[n]
            if not guide.known or value + look_up(guide, n, l, c, r) >= threshold:
                if count >= room:
                    room, left, closed, right, score = grown(room, left, closed, right, score)
                left[count], closed[count], right[count], score[count] = l, c, r, value
                count += 1
            begin[n + 1] = count
            continue
        reach = guide.table.reach[n] if guide.known else np.inf
        mask = len(slots) - 1
        for step in range(forest.begin[n], forest.begin[n + 1]):
            if reach == -np.inf or status == OVERFLOW:
                break
            a, b, weight = forest.left[step], forest.right[step], forest.step_weight[step]
            lone = b < 0
            begin_b, end_b = np.int64(0), np.int64(1)
            if not lone:
                begin_b, end_b = begin[b], begin[b + 1]
            if begin_b == end_b:
                continue
            top_b = 0.0 if lone else score[begin_b]
            need = threshold - reach - weight
            for i in range(begin[a], begin[a + 1]):
                if not score[i] + top_b >= need:
                    break
                if tried > effort:
                    status = OVERFLOW
                    break
                for j in range(begin_b, end_b):
                    tried += 1
                    if lone:
                        l, c, r, value = left[i], closed[i], right[i], score[i] + weight
                    else:
                        value = score[i] + score[j]
                        if not value >= need:
                            break
                        l, c, r, change = combine(
                            lm, K, left[i], closed[i], right[i], left[j], closed[j], right[j], words
                        )
                        value += weight + change
                    if guide.known and not value + look_up(guide, n, l, c, r) >= threshold:
                        continue
                    h = hashed(n, l, c, r, mask)
                    while slots[h] >= 0:
                        at = slots[h]
                        if left[at] == l and right[at] == r and closed[at] == c:
                            break
                        h = (h + 1) & mask
                    if slots[h] < 0:
                        if count >= room:
                            room, left, closed, right, score = grown(room, left, closed, right, score)
                        left[count], closed[count], right[count], score[count] = l, c, r, value
                        slots[h] = count
                        count += 1
                        if 2 * (count - base) > len(slots):
                            slots = np.full(2 * len(slots), -1, np.int32)
                            mask = len(slots) - 1
                            for at in range(base, count):
                                h = hashed(n, left[at], closed[at], right[at], mask)
                                while slots[h] >= 0:
                                    h = (h + 1) & mask
                                slots[h] = at
                        at = count - 1
                    elif value > score[slots[h]]:
                        at = slots[h]
                        score[at] = value
                    else:
                        at = slots[h]
                    if arcs >= arc_room:
                        if arcs >= limit:
                            status = OVERFLOW
                            break
                        arc_room *= 2
                        arc_head, arc_left = doubled(arc_head), doubled(arc_left)
                        arc_right, arc_step = doubled(arc_right), doubled(arc_step)
                        arc_score = doubled(arc_score)
                    arc_head[arcs], arc_left[arcs], arc_step[arcs] = at, i, step
                    arc_right[arcs] = -1 if lone else j
                    arc_score[arcs] = value
                    arcs += 1
                if status == OVERFLOW:
                    break
        # Best first; the arcs follow.
        size = count - base
        ranked = np.argsort(-score[base:count], kind="mergesort")
        position = np.empty(size, np.int32)
        l_, c_, r_ = left[base:count].copy(), closed[base:count].copy(), right[base:count].copy()
        s_ = score[base:count].copy()
        for at in range(size):
            old = ranked[at]
            position[old] = base + at
            left[base + at], closed[base + at], right[base + at] = l_[old], c_[old], r_[old]
            score[base + at] = s_[old]
        for arc in range(arc_base, arcs):
            arc_head[arc] = position[arc_head[arc] - base]
        if 8 * size > len(slots):
            slots[:] = -1
        else:
            for at in range(base, count):
                h = hashed(n, left[at], closed[at], right[at], mask)
                while slots[h] >= 0:
                    slots[h] = -1
                    h = (h + 1) & mask
        begin[n + 1] = count
    return Items(
        begin, left[:count], closed[:count], right[:count], score[:count],
        arc_head[:arcs], arc_left[:arcs], arc_right[:arcs], arc_step[:arcs], arc_score[:arcs],
    ), status  # fmt: skip


@kernel()
def doubled(array: Array) -> Array:
    """Twice as long."""
    result = np.empty(2 * len(array), array.dtype)
    result[: len(array)] = array
    return result


@kernel()
def grown(
    room: int, left: Array, closed: Array, right: Array, score: Array
) -> tuple[int, Array, Array, Array, Array]:
    """Twice as much room for items."""
    return 2 * room, doubled(left), doubled(closed), doubled(right), doubled(score)


@kernel()
def outside_scores(items: Items) -> Array:
    """For each item the most that the rest of a derivation adds to its score; −inf if there is no rest."""
    result = np.full(len(items.left), -np.inf)
    N = len(items.begin) - 1
    for i in range(items.begin[N - 1], items.begin[N]):
        result[i] = 0.0
    for arc in range(len(items.arc_head) - 1, -1, -1):
        i, j = items.arc_left[arc], items.arc_right[arc]
        total = result[items.arc_head[arc]] + items.arc_score[arc]
        result[i] = max(result[i], total - items.score[i])
        if j >= 0:
            result[j] = max(result[j], total - items.score[j])
    return result
