"""A* over a forest with few contexts: the construction of Bar-Hillel et al. (1964), best first.

A *context* is what a leaf's score depends on: in the tightened relaxation, the partitions of the n − 1
leaves before it. An item [c, n, d] stands for the derivations of node n that come after context c and leave
context d. A leaf has an item for each context; a step to n joins [c, a, d] and [d, b, e] to [c,
n, e]. The goal comes after the context of `<s>`.

Items are finished in the order of score + `reach`, where `reach` bounds what the rest of a derivation adds:
the outside score of the node in the forest *without* contexts, where each leaf takes its best one. No step
raises that sum. So an item that is finished has its best score, the first goal is the best (Klein & Manning
2003), and where the search is given up, the priority it has come to bounds every derivation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.kernel_arrays import EMPTY, new_slots, pop, push, refilled, slot_of, with_room
from dualign.translate.search.problem import Forest

ITEMS, WAITING, JOINS = range(3)
"""Counts of items."""


class Uses(NamedTuple):
    """Where nodes are used: node n is the left part (side 0) or the right part (1) of steps
    `step[side, begin[side, n] : begin[side, n + 1]]`; `part[side, s]` is that part of a step, `head[s]` where
    it leads."""

    begin: Array
    step: Array
    part: Array
    head: Array


def uses_of(forest: Forest) -> Uses:
    """Return where the nodes of a forest are used."""
    nodes, parts = np.arange(len(forest.word) + 1), np.stack((forest.left, forest.right))
    step = np.argsort(parts, axis=1, kind="stable")
    begin = np.stack([np.searchsorted(part[at], nodes) for part, at in zip(parts, step, strict=True)])
    return Uses(begin, step, parts, np.repeat(nodes[:-1], np.diff(forest.begin)))


class AStarTables(NamedTuple):
    """What is given. `reach` float64 (N); the goal, the last node, comes after context `start` of `contexts`.
    Nothing below `threshold` is looked at; at most `most` joins."""

    forest: Forest
    uses: Uses
    reach: Array
    start: int
    contexts: int
    threshold: float
    most: int


class AStarItems(NamedTuple):
    """`key` int32 (room, 3): node and the contexts before and after it; `back` int32 (room, 3): step (−1: a
    leaf) and parts (a leaf's entry); `score`; whether they are `done`; a hash table; and a heap of items by
    what they can reach. An item whose score has grown is there more than once.

    Finished items of a node are in linked lists, by the context before them and by that after them: they
    begin at `first` int32 (nodes · contexts, 2) and go on with `link` int32 (room, 2). `numbers` int64 (3):
    items, those in the heap, joins so far.
    """

    key: Array
    back: Array
    score: Array
    done: Array
    slots: Array
    heap: Array
    priority: Array
    first: Array
    link: Array
    numbers: Array


class AStarQueue(NamedTuple):
    """`key` and `back` int32 (room, 3) and `score`, as in `AStarItems`; at first those of the leaves."""

    key: Array
    back: Array
    score: Array


def best_first(search: AStarTables, leaves: AStarQueue) -> tuple[float, list[int], list[int]]:
    """Return the score of the best derivation of the goal, its steps from the goal down, left to right, and
    the entries of its leaves from left to right.

    Both are empty where nothing reaches the threshold, which then is the bound, and where the search was cut
    off.
    """
    value, goal, back = find_goal(search, leaves)
    steps: list[int] = []
    entries: list[int] = []
    stack = [goal] if goal >= 0 else []
    while stack:
        step, left, right = back[stack.pop()].tolist()
        if step < 0:
            entries.append(left)
            continue
        steps.append(step)
        if right >= 0:
            stack.append(right)
        stack.append(left)
    return float(value), steps, entries


@part(allocates=False)
def enter(search: AStarTables, items: AStarItems, candidates: AStarQueue, count: int) -> None:
    """Make items of candidates, or better ones of those there are, unless they are done; there is room."""
    goal = len(search.forest.word) - 1
    for c in range(count):
        n, value = candidates.key[c, 0], candidates.score[c]
        priority = value + search.reach[n]
        if not priority >= search.threshold or (n == goal and candidates.key[c, 1] != search.start):
            continue
        slot = slot_of(items.slots, items.key, candidates.key[c])
        i = items.slots[slot]
        if i == EMPTY:
            i = items.numbers[ITEMS]
            items.slots[slot] = i
            items.done[i] = False
            items.numbers[ITEMS] += 1
        elif items.done[i] or not value > items.score[i]:
            continue
        items.score[i] = value
        for k in range(3):
            items.key[i, k], items.back[i, k] = candidates.key[c, k], candidates.back[c, k]
        push(items.heap, items.priority, items.numbers[WAITING], i, priority)
        items.numbers[WAITING] += 1


@part(allocates=False)
def take_best(items: AStarItems) -> tuple[Any, float]:
    """Return the next item that is not done, and its priority; −1 if there is none."""
    while items.numbers[WAITING] > 0:
        x, top = np.int64(items.heap[0]), items.priority[0]
        pop(items.heap, items.priority, items.numbers[WAITING])
        items.numbers[WAITING] -= 1
        if not items.done[x]:
            return x, top
    return -1, -np.inf


@part(allocates=False)
def finish(search: AStarTables, items: AStarItems, x: int) -> None:
    """Item x has its best score: it can be found from now on."""
    items.done[x] = True
    for side in range(2):
        at = items.key[x, 0] * search.contexts + items.key[x, 1 + side]
        items.link[x, side] = items.first[at, side]
        items.first[at, side] = x


@part(allocates=False)
def join_all(search: AStarTables, items: AStarItems, x: Any, candidates: AStarQueue) -> int:
    """List candidates that x makes with finished items, as the left part of steps, then as the right part;
    return their number, or −1 if there is no room for them."""
    forest, uses, count = search.forest, search.uses, 0
    n = items.key[x, 0]
    for side in range(2):
        for u in range(uses.begin[side, n], uses.begin[side, n + 1]):
            s = uses.step[side, u]
            other = uses.part[1 - side, s]
            y = x
            if other >= 0:
                y = np.int64(items.first[other * search.contexts + items.key[x, 2 - side], side])
            items.numbers[JOINS] += 1
            while y >= 0:
                if count >= len(candidates.score):
                    return -1
                i, j = (x, y) if side == 0 else (y, x)
                value = items.score[x] + forest.step_weight[s]
                candidates.key[count, 0], candidates.back[count, 0] = uses.head[s], s
                candidates.key[count, 1], candidates.key[count, 2] = items.key[i, 1], items.key[j, 2]
                candidates.back[count, 1], candidates.back[count, 2] = i, j if other >= 0 else -1
                candidates.score[count] = value + items.score[y] if other >= 0 else value
                count += 1
                if other < 0:
                    break
                items.numbers[JOINS] += 1
                y = np.int64(items.link[y, side])
    return count


@part
def with_items(items: AStarItems, more: int) -> AStarItems:
    """Return the same with room for that many more."""
    key, back, score, done, _, heap, priority, first, link, numbers = items
    room = max(numbers[ITEMS], numbers[WAITING]) + more
    if room <= len(score):
        return items
    room *= 2
    key = with_room(key, room)
    return AStarItems(
        key, with_room(back, room), with_room(score, room), with_room(done, room),
        refilled(key, numbers[ITEMS], room), with_room(heap, room), with_room(priority, room), first,
        with_room(link, room), numbers,
    )  # fmt: skip


@kernel
def find_goal(search: AStarTables, candidates: AStarQueue) -> tuple[float, int, Array]:
    """Return the score of the goal's item, or a bound; the item, −1 if none was found; and
    `AStarItems.back`."""
    goal, cands = len(search.forest.word) - 1, len(candidates.score)
    items = AStarItems(
        np.empty((1, 3), np.int32), np.empty((1, 3), np.int32), np.empty(1), np.empty(1, np.bool_),
        new_slots(1), np.empty(1, np.int32), np.empty(1),
        np.full(((goal + 1) * search.contexts, 2), -1, np.int32), np.empty((1, 2), np.int32),
        np.zeros(3, np.int64),
    )  # fmt: skip
    while True:
        items = with_items(items, cands)
        enter(search, items, candidates, cands)
        x, top = take_best(items)
        if x < 0:
            return search.threshold, -1, items.back
        if items.key[x, 0] == goal:
            return items.score[x], x, items.back
        joins = items.numbers[JOINS]
        if joins > search.most:
            return top, -1, items.back
        finish(search, items, x)
        cands = join_all(search, items, x, candidates)
        while cands < 0:
            items.numbers[JOINS] = joins
            key, back, score = candidates
            room = 2 * len(score) + 1024
            candidates = AStarQueue(with_room(key, room), with_room(back, room), with_room(score, room))
            cands = join_all(search, items, x, candidates)
