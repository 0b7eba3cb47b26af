"""Hash tables with open addressing, from keys of several integers to the number of their entry.

Entries are numbered 0, 1, …; the key of entry n is row n of `keys`, an integer array (room, width) that the
caller fills and grows. `slots` int32, a power of two in size and at most half full, holds numbers of entries,
or `EMPTY`. What is found never depends on where in the table it lies.

Arrays that grow by doubling, so that appending n things costs O(n) in total.

A binary heap in two arrays: items, and their keys, the greatest key first.

The caller owns the arrays and counts the items: room for one more must be there before `push`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import part


@part
def doubled(array: Array) -> Array:
    """The array with twice as many rows, the second half still to be filled."""
    return with_room(array, 2 * len(array))


@part
def with_room(array: Array, rows: int) -> Array:
    """The array with at least that many rows; new rows are still to be filled."""
    if rows <= len(array):
        return array
    longer = np.empty((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


EMPTY = -1


@part(allocates=False)
def mixed(code: np.uint64, part: np.uint64) -> np.uint64:
    """The code of a key with one more part, given the code of the parts so far."""
    code = (code ^ part) * np.uint64(0xBF58476D1CE4E5B9)
    code ^= code >> np.uint64(29)
    code *= np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(32))


@part
def new_slots(entries: int) -> Array:
    """An empty table with room for that many entries."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return np.full(size, EMPTY, np.int32)


@part(allocates=False)
def slot_of(slots: Array, keys: Array, key: Array | tuple[Any, ...]) -> np.int64:
    """The place of a key in the table: that of its entry, or the free one where it belongs."""
    code = np.uint64(0x9E3779B97F4A7C15)
    for piece in key:
        code = mixed(code, np.uint64(piece))
    last = len(slots) - 1
    slot = np.int64(code & np.uint64(last))
    while slots[slot] != EMPTY:
        entry = slots[slot]
        same = True
        for k in range(len(key)):
            if keys[entry, k] != key[k]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & last
    return slot


@part
def refilled(keys: Array, count: int, entries: int) -> Array:
    """A table of the first `count` keys with room for that many entries."""
    slots = new_slots(entries)
    for entry in range(count):
        slots[slot_of(slots, keys, keys[entry])] = entry
    return slots


@part(allocates=False)
def place_of(value: int, numbers: Array, begin: int, end: int) -> int:
    """The first place from `begin` on whose number is at least `value`; numbers are sorted there."""
    while begin < end:
        middle = (begin + end) // 2
        if numbers[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def push(items: Array, keys: Array, count: int, item: int, key: float) -> None:
    """Add an item to a heap of `count`; O(log count)."""
    at = count
    while at > 0 and key > keys[(at - 1) >> 1]:
        items[at], keys[at] = items[(at - 1) >> 1], keys[(at - 1) >> 1]
        at = (at - 1) >> 1
    items[at], keys[at] = item, key


@part
def pop(items: Array, keys: Array, count: int) -> None:
    """Remove the first item, `items[0]`, of a heap of `count`; O(log count)."""
    items[0], keys[0] = items[count - 1], keys[count - 1]
    sink(items, keys, count - 1, 0)


@part
def sink(items: Array, keys: Array, count: int, at: int) -> None:
    """Restore the order of a heap of `count` after the key at a place was lowered; O(log count)."""
    item, key = items[at], keys[at]
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and keys[child + 1] > keys[child]:
            child += 1
        if not keys[child] > key:
            break
        items[at], keys[at] = items[child], keys[child]
        at = child
    items[at], keys[at] = item, key
