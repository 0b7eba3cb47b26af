"""Arrays that grow by doubling, so that appending n things costs O(n) in total."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel


@kernel()
def doubled(array: Array) -> Array:
    """The array with twice as many rows, the second half still to be filled."""
    return with_room(array, 2 * len(array))


@kernel()
def with_room(array: Array, rows: int) -> Array:
    """The array with at least that many rows; new rows are still to be filled."""
    if rows <= len(array):
        return array
    longer = np.empty((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
