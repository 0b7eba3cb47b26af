"""Hash tables with open addressing, from keys of several integers to the number of their entry.

Entries are numbered 0, 1, …; the key of entry n is row n of `keys`, an integer array (room, width) that the
caller fills and grows. `slots` int32, a power of two in size and at most half full, holds numbers of entries,
or `EMPTY`. What is found never depends on where in the table it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

EMPTY = -1


@kernel(allocates=False)
def mixed(code: np.uint64, part: np.uint64) -> np.uint64:
    """The code of a key with one more part, given the code of the parts so far."""
    code = (code ^ part) * np.uint64(0xBF58476D1CE4E5B9)
    code ^= code >> np.uint64(29)
    code *= np.uint64(0x94D049BB133111EB)
    return code ^ (code >> np.uint64(32))


@kernel()
def new_slots(entries: int) -> Array:
    """An empty table with room for that many entries."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return np.full(size, EMPTY, np.int32)


@kernel(allocates=False)
def slot_of(slots: Array, keys: Array, key: Array | tuple[Any, ...]) -> np.int64:
    """The place of a key in the table: that of its entry, or the free one where it belongs."""
    code = np.uint64(0x9E3779B97F4A7C15)
    for part in key:
        code = mixed(code, np.uint64(part))
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


@kernel()
def refilled(keys: Array, count: int, entries: int) -> Array:
    """A table of the first `count` keys with room for that many entries."""
    slots = new_slots(entries)
    for entry in range(count):
        slots[slot_of(slots, keys, keys[entry])] = entry
    return slots
