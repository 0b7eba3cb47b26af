"""States of a walk over phrase links: a row, and the set of columns covered so far.

Rows are the words of one side, walked from first to last; columns, those of the other, are a set kept in
bits, 64 to a uint64. Used to maximise (`relaxation`) and to sum (`summing`).
"""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel

NO_STATE = -1


@kernel()
def rows_of(spans: Array, height: int) -> Array:
    """Where the links of each first row begin, [I + 1]; spans are sorted by it."""
    begin = np.zeros(height + 1, np.int64)
    for a in range(len(spans)):
        begin[spans[a, 0] + 1] += 1
    for i in range(height):
        begin[i + 1] += begin[i]
    return begin


@kernel()
def _reachable(spans: Array, alive: Array, first: int, length: int) -> bool:
    """Clear `alive` of links that no path of one side uses; returns whether any was cleared.

    The side is given by `first`, the column of `spans` with its beginnings, and its `length`.
    """
    before = np.zeros(length + 1, np.bool_)
    behind = np.zeros(length + 1, np.bool_)
    starts = np.full(length + 1, -1, np.int64)
    following = np.full(len(alive), -1, np.int64)
    for a in range(len(alive)):
        if alive[a]:
            following[a] = starts[spans[a, first]]
            starts[spans[a, first]] = a
    before[0] = True
    for x in range(length):
        if before[x]:
            a = starts[x]
            while a >= 0:
                before[spans[a, first + 1]] = True
                a = following[a]
    behind[length] = True
    for x in range(length - 1, -1, -1):
        a = starts[x]
        while a >= 0:
            if behind[spans[a, first + 1]]:
                behind[x] = True
            a = following[a]
    cleared = False
    for a in range(len(alive)):
        if alive[a] and not (before[spans[a, first]] and behind[spans[a, first + 1]]):
            alive[a] = False
            cleared = True
    return cleared


@kernel()
def consistent(spans: Array, alive: Array, height: int, width: int) -> None:
    """Clear `alive` of links that no path of either side uses, until nothing changes."""
    changed = True
    while changed:
        changed = _reachable(spans, alive, 0, height)
        changed = _reachable(spans, alive, 2, width) or changed


@kernel()
def slot_of(masks: Array, rows: Array, table: Array, row: int, mask: Array) -> np.int64:
    """The place of a state in the hash table, taken by it or free."""
    key = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)
    for word in range(len(mask)):
        key = (key ^ mask[word]) * np.uint64(0xBF58476D1CE4E5B9)
        key ^= key >> np.uint64(29)
    key *= np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(32)
    last = np.uint64(len(table) - 1)
    slot = key & last
    while True:
        state = table[slot]
        if state == NO_STATE:
            return np.int64(slot)
        if rows[state] == row:
            same = True
            for word in range(len(mask)):
                if masks[state, word] != mask[word]:
                    same = False
                    break
            if same:
                return np.int64(slot)
        slot = (slot + np.uint64(1)) & last


@kernel()
def extended(masks: Array, state: int, columns: Array, a: int, due: Array, row: int, mask: Array) -> bool:
    """Put the columns of a state and of link a, which leads to `row`, into `mask`.

    False if they overlap, or if a column that is `due` by that row is missing.
    """
    for word in range(len(mask)):
        if masks[state, word] & columns[a, word]:
            return False
        mask[word] = masks[state, word] | columns[a, word]
        if due[row, word] & ~mask[word]:
            return False
    return True


@kernel()
def wider(masks: Array) -> Array:
    """`longer` for the masks of states."""
    more = np.zeros((2 * len(masks), masks.shape[1]), np.uint64)
    more[: len(masks)] = masks
    return more


@kernel()
def rehashed(masks: Array, rows: Array, used: int) -> Array:
    """A hash table of the first `used` states, four slots for each there is room for."""
    table = np.full(4 * len(rows), NO_STATE, np.int64)
    for n in range(used):
        table[slot_of(masks, rows, table, rows[n], masks[n])] = n
    return table


@kernel()
def longer(array: Array) -> Array:
    """Twice as long, the second half to be filled."""
    wider = np.empty(2 * len(array), array.dtype)
    wider[: len(array)] = array
    return wider


@kernel()
def link_masks(spans: Array, words: int) -> Array:
    """The columns of each link as bits, uint64 [links, words]."""
    masks = np.zeros((len(spans), words), np.uint64)
    for a in range(len(spans)):
        for y in range(spans[a, 2], spans[a, 3]):
            masks[a, y >> 6] |= np.uint64(1) << np.uint64(y & 63)
    return masks


@kernel()
def due_columns(spans: Array, masks: Array, height: int) -> Array:
    """The columns that no link from row i on can cover, as bits, uint64 [I + 1, words]."""
    words = masks.shape[1]
    due = np.zeros((height + 1, words), np.uint64)
    everything = np.zeros(words, np.uint64)
    reach = np.zeros((height + 1, words), np.uint64)
    for a in range(len(spans)):
        for word in range(words):
            reach[spans[a, 0], word] |= masks[a, word]
    for i in range(height - 1, -1, -1):
        for word in range(words):
            reach[i, word] |= reach[i + 1, word]
    for word in range(words):
        everything[word] = reach[0, word]
    for i in range(height + 1):
        for word in range(words):
            due[i, word] = everything[word] & ~reach[i, word]
    return due
