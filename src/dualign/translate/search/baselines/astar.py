"""A* over a forest with few contexts: the construction of Bar-Hillel et al. (1964), best first.

A *context* is what a leaf's score depends on: in the tightened relaxation, the partitions of the n − 1
leaves before it. An item [c, n, d] stands for the derivations of node n that come after context c and leave
context d. A leaf has an item for each context (`Entries`); a step to n joins [c, a, d] and [d, b, e] to [c,
n, e]. The goal comes after the context of `<s>`.

Items are finished in the order of score + `reach`, where `reach` bounds what the rest of a derivation adds:
the outside score of the node in the forest *without* contexts, where each leaf takes its best one. No step
raises that sum. So an item that is finished has its best score, the first goal is the best (Klein & Manning
2003), and where the search is given up, the priority it has come to bounds every derivation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.translate.search.intersection import doubled, hashed
from dualign.translate.search.translation_problem import Forest

FOUND, NOTHING, CUT_OFF = 0, 1, 2


class Entries(NamedTuple):
    """Items of leaves: `node` int32, contexts `before` and `after` int32, `score` float64."""

    node: Array
    before: Array
    after: Array
    score: Array


class Uses(NamedTuple):
    """Where nodes are used: node n is the left part of steps `as_left[left_begin[n] : left_begin[n + 1]]`,
    the right part likewise; `head[s]` is the node that a step leads to."""

    left_begin: Array
    as_left: Array
    right_begin: Array
    as_right: Array
    head: Array

    @classmethod
    def of(cls, forest: Forest) -> Uses:
        """Of a forest."""
        N = len(forest.word)
        left, right = (np.argsort(part, kind="stable") for part in (forest.left, forest.right))
        return cls(
            np.searchsorted(forest.left[left], np.arange(N + 1)),
            left,
            np.searchsorted(forest.right[right], np.arange(N + 1)),
            right,
            np.repeat(np.arange(N), np.diff(forest.begin)),
        )


@dataclass(frozen=True)
class Found:
    """The end of a search: the best derivation's score, or a bound on it, and the derivation.

    `steps` are the steps of the forest from the goal down, left to right, `entries` the leaves' entries from
    left to right; both are empty where nothing reaches the threshold, and where the search was cut off.
    """

    value: float
    steps: list[int]
    entries: list[int]


def best_first(
    forest: Forest,
    uses: Uses,
    entries: Entries,
    reach: Array,
    start: int,
    contexts: int,
    threshold: float,
    most: int,
) -> Found:
    """The best derivation of the goal, the last node, after context `start`; there are `contexts` contexts.

    `reach` float64 (N). Nothing below `threshold` is looked at: where nothing reaches it, the threshold is
    the bound. At most `most` joins.
    """
    status, value, goal, step, left, right = search(
        forest, uses, entries, reach, start, contexts, threshold, most
    )
    steps: list[int] = []
    leaves: list[int] = []
    stack = [goal] if status == FOUND else []
    while stack:
        item = stack.pop()
        if step[item] < 0:
            leaves.append(int(left[item]))
            continue
        steps.append(int(step[item]))
        if right[item] >= 0:
            stack.append(int(right[item]))
        stack.append(int(left[item]))
    return Found(float(value), steps, leaves)


@kernel()
def push(queue: Array, key: Array, waiting: int, item: int, priority: float) -> None:
    """Add an item to a heap of so many, the highest key first; there must be room."""
    at = waiting
    while at > 0 and priority > key[(at - 1) >> 1]:
        queue[at], key[at] = queue[(at - 1) >> 1], key[(at - 1) >> 1]
        at = (at - 1) >> 1
    queue[at], key[at] = item, priority


@kernel()
def take_first(queue: Array, key: Array, left: int) -> None:
    """Remove the first item of a heap, of which so many are left."""
    moved, weight = queue[left], key[left]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= left:
            break
        if child + 1 < left and key[child + 1] > key[child]:
            child += 1
        if not key[child] > weight:
            break
        queue[at], key[at] = queue[child], key[child]
        at = child
    queue[at], key[at] = moved, weight


@kernel()
def search(
    forest: Forest,
    uses: Uses,
    entries: Entries,
    reach: Array,
    start: int,
    contexts: int,
    threshold: float,
    most: int,
) -> tuple[int, float, int, Array, Array, Array]:
    """Status, value, the last item (the goal's, if found), and for each item its step (−1: a leaf) and
    parts (a leaf's entry)."""
    N = len(forest.word)
    room = 1024
    node, before, after = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    step, left, right = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    score, done = np.empty(room), np.empty(room, np.bool_)
    count = 0
    slots = np.full(4 * room, -1, np.int32)
    # Finished items of a node, by the context before them and by the context after them: linked lists.
    first = np.full((2, N * contexts), -1, np.int32)
    link = np.empty((2, room), np.int32)
    queue, key = np.empty(room, np.int32), np.empty(room)
    waiting = 0
    # Candidates: node, before, after, step, left, right; at first those of the leaves.
    cands = len(entries.node)
    candidate = np.empty((6, max(cands, 1024)), np.int32)
    value = np.empty(max(cands, 1024))
    for c in range(cands):
        candidate[0, c], candidate[3, c] = entries.node[c], -1
        candidate[1, c], candidate[2, c] = entries.before[c], entries.after[c]
        candidate[4, c], candidate[5, c] = c, -1
        value[c] = entries.score[c]
    tried = 0
    status, x, top = NOTHING, -1, threshold
    while True:
        for c in range(cands):
            n, p, r = candidate[0, c], candidate[1, c], candidate[2, c]
            priority = value[c] + reach[n]
            if not priority >= threshold or (n == N - 1 and p != start):
                continue
            mask = len(slots) - 1
            h = hashed(n, p, True, r, mask)
            while slots[h] >= 0:
                i = slots[h]
                if node[i] == n and before[i] == p and after[i] == r:
                    break
                h = (h + 1) & mask
            i = slots[h]
            if i >= 0 and (done[i] or not value[c] > score[i]):
                continue
            if i < 0:
                if count >= room:
                    room *= 2
                    node, before, after = doubled(node), doubled(before), doubled(after)
                    step, left, right = doubled(step), doubled(left), doubled(right)
                    score, done = doubled(score), doubled(done)
                    longer = np.empty((2, room), np.int32)
                    longer[:, :count] = link[:, :count]
                    link = longer
                i = count
                count += 1
                node[i], before[i], after[i], done[i] = n, p, r, False
                slots[h] = i
                if 2 * count > len(slots):
                    slots = np.full(2 * len(slots), -1, np.int32)
                    mask = len(slots) - 1
                    for at in range(count):
                        h = hashed(node[at], before[at], True, after[at], mask)
                        while slots[h] >= 0:
                            h = (h + 1) & mask
                        slots[h] = at
            score[i], step[i], left[i], right[i] = value[c], candidate[3, c], candidate[4, c], candidate[5, c]
            # Into the queue; an older place of the same item is passed over when it comes up.
            if waiting >= len(queue):
                queue, key = doubled(queue), doubled(key)
            push(queue, key, waiting, i, priority)
            waiting += 1
        x = -1
        top = -np.inf
        while waiting > 0:
            x, top = queue[0], key[0]
            waiting -= 1
            take_first(queue, key, waiting)
            if not done[x]:
                break
            x = -1
        if x < 0:
            status, top = NOTHING, threshold
            break
        if node[x] == N - 1:
            status, top = FOUND, score[x]
            break
        if tried > most:
            status = CUT_OFF
            break
        done[x] = True
        n, p, r = node[x], before[x], after[x]
        for side in range(2):
            at = n * contexts + (p if side == 0 else r)
            link[side, x] = first[side, at]
            first[side, at] = x
        cands = 0
        for side in range(2):
            # x as the left part of a step, then as the right part.
            begin, end = uses.left_begin[n], uses.left_begin[n + 1]
            if side == 1:
                begin, end = uses.right_begin[n], uses.right_begin[n + 1]
            for u in range(begin, end):
                s = uses.as_left[u] if side == 0 else uses.as_right[u]
                head = uses.head[s]
                other = forest.right[s] if side == 0 else forest.left[s]
                y = x
                if other >= 0:
                    y = first[side, other * contexts + (r if side == 0 else p)]
                tried += 1
                while y >= 0:
                    if cands >= len(value):
                        value = doubled(value)
                        wider = np.empty((6, len(value)), np.int32)
                        wider[:, :cands] = candidate[:, :cands]
                        candidate = wider
                    candidate[0, cands], candidate[3, cands] = head, s
                    value[cands] = score[x] + forest.step_weight[s]
                    if other < 0:
                        candidate[1, cands], candidate[2, cands] = p, r
                        candidate[4, cands], candidate[5, cands] = x, -1
                        cands += 1
                        break
                    i, j = (x, y) if side == 0 else (y, x)
                    value[cands] += score[y]
                    candidate[1, cands], candidate[2, cands] = before[i], after[j]
                    candidate[4, cands], candidate[5, cands] = i, j
                    cands += 1
                    tried += 1
                    y = link[side, y]
    return status, top, x, step, left, right
