"""What a search still allows: masks over a_i = j and b_j = i, kept consistent with each other.

`x[i, j]`: a_i may be j (column 0: null); `y[i, j]`: b_j may be i (row 0: null). Row and column 0 of the other
kind are not used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel
from dualign.search.dual import IMPOSSIBLE, NEVER


class Masks(NamedTuple):
    """Two uint8 arrays (I + 1, J + 1)."""

    x: Array
    y: Array


def all_allowed(I: int, J: int) -> Masks:
    """Nothing excluded yet."""
    return Masks(np.ones((I + 1, J + 1), np.uint8), np.ones((I + 1, J + 1), np.uint8))


def copied(masks: Masks) -> Masks:
    """Masks of their own."""
    return Masks(masks.x.copy(), masks.y.copy())


@kernel()
def decided(masks: Masks) -> bool:
    """Whether every row and every column has one choice left."""
    I, J = masks.x.shape[0] - 1, masks.x.shape[1] - 1
    for i in range(1, I + 1):
        if masks.x[i].sum() > 1:
            return False
    for j in range(1, J + 1):
        choices = 0
        for i in range(I + 1):
            choices += masks.y[i, j]
        if choices > 1:
            return False
    return True


@kernel()
def propagate(masks: Masks, strict: bool) -> bool:
    """Remove what cannot be part of any solution; False if nothing is left of some row or column.

    If `strict` (every link needs a counterpart at most one position off), a link survives only while a
    neighbour can support it, and a row or column with one choice left clears what contradicts it.
    """
    x, y = masks
    I, J = x.shape[0] - 1, x.shape[1] - 1
    changed = True
    while changed:
        changed = False
        for i in range(1, I + 1):
            only = choices = 0
            for j in range(J + 1):
                if x[i, j]:
                    choices += 1
                    only = j
            if choices == 0:
                return False
            if strict and choices == 1:
                for j in range(1, J + 1):
                    if y[i, j] and (only == 0 or abs(j - only) > 1):
                        y[i, j] = 0
                        changed = True
                if only > 0:
                    for k in range(I + 1):
                        if y[k, only] and (k == 0 or abs(k - i) > 1):
                            y[k, only] = 0
                            changed = True
        for j in range(1, J + 1):
            only = choices = 0
            for i in range(I + 1):
                if y[i, j]:
                    choices += 1
                    only = i
            if choices == 0:
                return False
            if strict and choices == 1:
                for i in range(1, I + 1):
                    if x[i, j] and (only == 0 or abs(i - only) > 1):
                        x[i, j] = 0
                        changed = True
                if only > 0:
                    for k in range(J + 1):
                        if x[only, k] and (k == 0 or abs(k - j) > 1):
                            x[only, k] = 0
                            changed = True
        if strict:
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
def best_through(theta: Array, through: Array, path: Array) -> float:
    """Plain Viterbi of one direction: `through[i, j]`, float64 (n + 1, m + 1), gets the best score of any
    chain with a_i = j, `path` int64 (n + 1) the best chain; returns its score. O(n m²)."""
    n, m = theta.shape[0], theta.shape[1] - 1
    after = np.zeros((n + 1, m + 1))
    for j in range(m + 1):
        through[1, j] = theta[0, 0, j]
    for i in range(2, n + 1):
        for j in range(m + 1):
            through[i, j] = NEVER
        for before in range(m + 1):
            z = through[i - 1, before]
            for j in range(m + 1):
                through[i, j] = max(through[i, j], z + theta[i - 1, before, j])
    for i in range(n - 1, 0, -1):
        for before in range(m + 1):
            z = NEVER
            for j in range(m + 1):
                z = max(z, after[i + 1, j] + theta[i, before, j])
            after[i, before] = z
    value = NEVER
    for j in range(m + 1):
        value = max(value, through[n, j])
    before = 0
    for i in range(1, n + 1):
        most, choice = 2 * NEVER, 0
        for j in range(m + 1):
            z = theta[i - 1, before, j] + after[i, j]
            if z > most:
                most, choice = z, j
        path[i] = before = choice
    for i in range(1, n + 1):
        for j in range(m + 1):
            z = through[i, j] + after[i, j]
            through[i, j] = z if z > IMPOSSIBLE else NEVER
    return value
