"""Time limits that kernels can see: a flag that is raised when the time is up.

A kernel cannot read the clock. It looks at the flag now and then, and ends early with what it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock


def never() -> Array:
    """A flag that is not raised."""
    return np.zeros(1, np.uint8)


@contextmanager
def alarm(clock: Clock) -> Iterator[Array]:
    """A flag, uint8 (1), that is 1 once the limit of a clock has passed, for kernels, which hold no GIL."""
    flag = never()
    if clock.limit is None:
        yield flag
        return
    timer = Timer(max(0.0, clock.left), flag.fill, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()
