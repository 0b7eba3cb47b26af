"""Upper envelopes of lines: which translation of a sentence is best, for each t."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.jit import kernel


@kernel()
def envelopes(slope: Array, height: Array, begin: Array) -> tuple[Array, Array, Array, Array]:
    """For each group `begin[n] .. begin[n + 1]` of lines `height + t · slope` those that are highest
    somewhere.

    Returns `first` int64 (N), the line that is highest for t → −∞, and the corners of all groups, one after
    the other and each from left to right: `at` float64, where line `before` gives way to line `after`,
    int64. Of equal lines the first is taken. O(n log n) per group.
    """
    N = len(begin) - 1
    first = np.empty(N, np.int64)
    at, before, after = np.empty(len(slope)), np.empty(len(slope), np.int64), np.empty(len(slope), np.int64)
    count = 0
    chain = np.empty(len(slope), np.int64)
    for n in range(N):
        start = begin[n]
        ranked = np.argsort(slope[start : begin[n + 1]], kind="mergesort")
        base, size = count, 0  # corners of this group from `base`, one fewer than lines in `chain`
        for rank in ranked:
            i = start + rank
            corner = -np.inf
            below = False
            while size > 0:
                last = chain[size - 1]
                if slope[i] == slope[last]:
                    below = height[i] <= height[last]
                    if below:
                        break
                else:
                    corner = (height[last] - height[i]) / (slope[i] - slope[last])
                    if size == 1 or corner > at[base + size - 2]:
                        break
                size -= 1
            if below:
                continue
            if size > 0:
                at[base + size - 1] = corner
            chain[size] = i
            size += 1
        first[n] = chain[0]
        for k in range(size - 1):
            before[base + k], after[base + k] = chain[k], chain[k + 1]
        count = base + max(size - 1, 0)
    return first, at[:count], before[:count], after[:count]
