"""Best-first branch and bound: the part of the search space with the highest bound is split next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

N = TypeVar("N")


def best_first(
    parts: Iterable[tuple[float, N]],
    split: Callable[[float, N], Iterable[tuple[float, N]]],
    enough: Callable[[], float],
    stop: Callable[[], bool],
) -> tuple[float, bool]:
    """Search `parts`, each with an upper bound on what is in it, until none can hold anything better.

    `split(bound, part)` returns smaller parts with their bounds, and notes the solutions it finds. A part is
    closed without being split once its bound is at most `enough()`: the best score so far and the tolerance.
    `stop()` is called before each split. Returns a bound on everything in all parts, apart from the solutions
    noted, and whether some part is still open. Of equal bounds, the part that was found first is split first.
    """
    ticket = count()
    closed = float("-inf")
    heap: list[tuple[float, int, N]] = []
    waiting = list(parts)
    while True:
        for bound, part in waiting:
            if bound > enough():
                heappush(heap, (-bound, next(ticket), part))
            else:
                closed = max(closed, bound)
        if not heap or -heap[0][0] <= enough() or stop():
            break
        negative, _, part = heappop(heap)
        waiting = list(split(-negative, part))
    top = max(closed, -heap[0][0]) if heap else closed
    return top, bool(heap) and -heap[0][0] > enough()
