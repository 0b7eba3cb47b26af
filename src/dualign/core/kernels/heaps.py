"""A binary heap in two arrays: items, and their keys, the greatest key first.

The caller owns the arrays and counts the items: room for one more must be there before `push`.
"""

from __future__ import annotations

from dualign.core.arrays import Array
from dualign.core.jit import kernel


@kernel()
def push(items: Array, keys: Array, count: int, item: int, key: float) -> None:
    """Add an item to a heap of `count`; O(log count)."""
    at = count
    while at > 0 and key > keys[(at - 1) >> 1]:
        items[at], keys[at] = items[(at - 1) >> 1], keys[(at - 1) >> 1]
        at = (at - 1) >> 1
    items[at], keys[at] = item, key


@kernel()
def pop(items: Array, keys: Array, count: int) -> None:
    """Remove the first item, `items[0]`, of a heap of `count`; O(log count)."""
    items[0], keys[0] = items[count - 1], keys[count - 1]
    sink(items, keys, count - 1, 0)


@kernel()
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
