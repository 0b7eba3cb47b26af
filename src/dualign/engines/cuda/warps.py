"""The threads of a warp, which handle a pair together: waiting for each other, and sums over all of them.

A block of the card is one warp. Its threads are called lanes; what is written to memory by one lane can be
read by the others after they have met.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualign.engines.cuda.device import card_function, cuda, simulated, simulated_block

LANES = 4 if simulated() else 32

at = np.uint64
"""Of a place in an array: numba looks at each index whether it is below 0, and then counts from the end; not
at those without a sign. That would take longer than all else."""

if simulated():
    # numba's simulator has neither shuffles nor warps; few lanes, because each is a thread of Python's.

    def meet() -> None:
        """Wait for the other lanes."""
        simulated_block().syncthreads()

    def total(x: Any) -> Any:
        """The sum of the lanes' numbers, added in the same order for each lane."""
        context = simulated_block()
        shared = context.shared.array(LANES, "f8")
        shared[context.threadIdx.x] = x
        context.syncthreads()
        found = type(x)(shared.sum())
        context.syncthreads()
        return found

    def add_to(array: Any, place: Any, x: Any) -> Any:
        """Add to a number of an array, to which others add as well; what it was before."""
        return simulated_block().atomic.add(array, place, x)

else:

    @card_function
    def meet() -> None:
        """Wait for the other lanes."""
        cuda.syncwarp()

    @card_function
    def total(x: Any) -> Any:
        """The sum of the lanes' numbers, added in the same order for each lane."""
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 16)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 8)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 4)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 2)
        x += cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)
        return x

    @card_function
    def add_to(array: Any, place: Any, x: Any) -> Any:
        """Add to a number of an array, to which others add as well; what it was before."""
        return cuda.atomic.add(array, place, x)


@card_function
def wrapped(i: int, j: int, J: int) -> tuple[int, int]:
    """Row and column of a cell whose column may be beyond the last."""
    while j >= J:
        i += 1
        j -= J
    return i, j
