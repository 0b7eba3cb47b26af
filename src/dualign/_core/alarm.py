"""Time limits that kernels can see: a flag that is raised when the time is up.

A kernel cannot read the clock. It looks at the flag now and then, and ends early with what it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

import numpy as np

from dualign._core.arrays import Array
from dualign._core.progress import Clock


def never() -> Array:
    """A flag that is not raised."""
    return np.zeros(1, np.uint8)


class Alarm:
    """`flag`, uint8 (1), is 1 once the limit of a clock has passed, for kernels, which hold no GIL.

    It is raised only after `set`: that takes a thread, too much for what is over in milliseconds.
    """

    def __init__(self, clock: Clock) -> None:
        self.flag = never()
        self._clock = clock
        self._timer: Timer | None = None

    def set(self) -> None:
        """Raise the flag at the limit, if there is one."""
        if self._timer is None and self._clock.limit is not None:
            self._timer = Timer(max(0.0, self._clock.left), self.flag.fill, (1,))
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Alarm:
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def alarm(clock: Clock) -> Iterator[Array]:
    """The flag of an alarm that is set."""
    with Alarm(clock) as result:
        result.set()
        yield result.flag
