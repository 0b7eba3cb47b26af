"""What a search still allows: masks over a_i = j and b_j = i, kept consistent with each other.

`x[i, j]`: a_i may be j (column 0: null); `y[i, j]`: b_j may be i (row 0: null). Row 0 of x and column 0 of y
are not used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel


class Masks(NamedTuple):
    """Two uint8 arrays (I + 1, J + 1)."""

    x: Array
    y: Array


def all_allowed(I: int, J: int) -> Masks:
    """Nothing excluded yet."""
    return Masks(np.ones((I + 1, J + 1), np.uint8), np.ones((I + 1, J + 1), np.uint8))


def copied(masks: Masks) -> Masks:
    """A copy that can be changed on its own."""
    return Masks(masks.x.copy(), masks.y.copy())


def decided(masks: Masks) -> bool:
    """Whether every row and every column has one choice left."""
    return bool((masks.x[1:].sum(axis=1) <= 1).all() and (masks.y[:, 1:].sum(axis=0) <= 1).all())


@kernel()
def propagate(masks: Masks, strict: bool) -> bool:
    """Remove what cannot be part of any solution; False if some row or column has no choice left.

    If `strict` (every link needs a counterpart at most one position off), a link survives only while a
    neighbour can support it, and a row or column with one choice left excludes what contradicts it.
    """
    x, y = masks
    I, J = x.shape[0] - 1, x.shape[1] - 1
    changed = True
    while changed:
        rows = settle_rows(x, y, strict)
        columns = settle_rows(y.T, x.T, strict) if rows >= 0 else -1
        if columns < 0:
            return False
        changed = rows + columns > 0
        if not strict:
            continue
        for i in range(1, I + 1):
            for j in range(1, J + 1):
                if x[i, j] and not (y[i, j] or (i > 1 and y[i - 1, j]) or (i < I and y[i + 1, j])):
                    x[i, j] = 0
                    changed = True
                if y[i, j] and not (x[i, j] or (j > 1 and x[i, j - 1]) or (j < J and x[i, j + 1])):
                    y[i, j] = 0
                    changed = True
    return True


@kernel()
def settle_rows(x: Array, y: Array, strict: bool) -> int:
    """Where a row of x has one choice left, exclude the y that contradict it, if `strict`.

    Returns how many were excluded, or −1 if some row has no choice at all.
    """
    gone = 0
    for i in range(1, x.shape[0]):
        only = choices = 0
        for j in range(x.shape[1]):
            if x[i, j]:
                choices += 1
                only = j
        if choices == 0:
            return -1
        if not strict or choices > 1:
            continue
        for j in range(1, x.shape[1]):
            if y[i, j] and (only == 0 or abs(j - only) > 1):
                y[i, j] = 0
                gone += 1
        for k in range(x.shape[0] if only > 0 else 0):
            if y[k, only] and (k == 0 or abs(k - i) > 1):
                y[k, only] = 0
                gone += 1
    return gone
