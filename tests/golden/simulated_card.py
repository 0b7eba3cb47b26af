"""`dualign` in a process in which numba simulates a graphics card (NUMBA_ENABLE_CUDASIM=1)."""

from __future__ import annotations

import sys

import numpy as np
from numba.cuda.simulator.kernelapi import FakeCUDAShared

from dualign.__main__ import main


def shared(block: FakeCUDAShared, shape: object, dtype: object) -> np.ndarray:
    """The array of a block that belongs to the calling line; numba's own may make two if lanes are fast."""
    frame = sys._getframe(1)
    return block._allocations.setdefault((frame.f_code.co_filename, frame.f_lineno), np.empty(shape, dtype))


FakeCUDAShared.array = shared
sys.setswitchinterval(
    1e-5
)  # the lanes of a simulated warp wait for each other; they should not do so for long
main()
