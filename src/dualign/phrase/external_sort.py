"""Sorting more rows than fit in memory: sorted runs on disk, merged as a stream.

Rows are uint64 [rows, columns]. The first `keys` columns are the key, compared from left to right; the others
are counts. Rows with the same key become one: the counts are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dualign._core.arrays import Array
from dualign._core.jit import kernel, part
from dualign._core.memory import ScratchFile

_FAN_IN = 64
"""Runs that are merged at once; a merge needs memory for their buffers."""

_BUFFER = 1 << 18
"""uint64 numbers in the buffer of a run: 2 MiB."""


def is_first(rows: Array) -> Array:
    """Return whether each row differs from the one before it; bool [rows], for at least one row."""
    return np.concatenate(([True], (rows[1:] != rows[:-1]).any(axis=1)))


def collapsed(rows: Array, keys: int) -> Array:
    """Sort by key, and add up rows with the same one."""
    if len(rows) < 2:
        return rows
    rows = rows[np.lexsort(rows[:, :keys].T[::-1])]
    first = np.flatnonzero(is_first(rows[:, :keys]))
    if len(first) == len(rows):
        return rows
    counts = np.add.reduceat(rows[:, keys:], first, axis=0)
    return np.hstack((rows[first, :keys], counts))


class Runs:
    """Sorted runs in scratch files of a folder, and the merge of all of them."""

    def __init__(self, folder: str | None, columns: int, keys: int) -> None:
        self._folder = folder
        self._columns, self._keys = columns, keys
        self._runs: list[ScratchFile] = []

    def add(self, rows: Array) -> None:
        """Add rows in the form of `collapsed` as one more run."""
        if not len(rows):
            return
        run = ScratchFile(self._folder)
        run.write(rows)
        self._runs.append(run)
        if len(self._runs) == 2 * _FAN_IN:
            self._merge_oldest()

    def merged(self) -> Iterator[Array]:
        """Return all rows in order, chunk by chunk; the runs are used up."""
        while len(self._runs) > _FAN_IN:
            self._merge_oldest()
        runs, self._runs = self._runs, []
        yield from self._merge(runs)

    def _merge_oldest(self) -> None:
        """Make one run of the oldest, so that each row is merged O(log runs) times."""
        oldest, self._runs = self._runs[:_FAN_IN], self._runs[_FAN_IN:]
        run = ScratchFile(self._folder)
        for chunk in self._merge(oldest):
            run.write(chunk)
        self._runs.append(run)

    def _merge(self, runs: list[ScratchFile]) -> Iterator[Array]:
        size = max(1, _BUFFER // self._columns)
        buffers = np.empty((len(runs), size, self._columns), np.uint64)
        # begin, end of what each buffer holds, and whether the run has more.
        state = np.zeros((len(runs), 3), np.int64)
        state[:, 2] = 1
        try:
            for run in runs:
                run.rewind()
            out = np.empty((4 * size, self._columns), np.uint64)
            held = 0  # rows of `out` that wait: the last one may still meet its equals
            while True:
                for n, run in enumerate(runs):
                    if state[n, 0] == state[n, 1] and state[n, 2]:
                        rows = run.read(np.uint64, size * self._columns).reshape(-1, self._columns)
                        buffers[n, : len(rows)] = rows
                        state[n] = 0, len(rows), len(rows) == size
                held, more = _merge_step(buffers, state, self._keys, out, held)
                if not more:
                    if held:
                        yield out[:held].copy()
                    return
                if held == len(out):
                    yield out[: held - 1].copy()
                    out[0] = out[held - 1]
                    held = 1
        finally:
            for run in runs:
                run.close()


@part
def _precedes(buffers: Array, state: Array, a: int, b: int, keys: int) -> bool:
    """Return whether the next row of run a comes before that of run b; the order of runs decides between
    equals."""
    for column in range(keys):
        x = buffers[a, state[a, 0], column]
        y = buffers[b, state[b, 0], column]
        if x != y:
            return x < y
    return a < b


@part
def _sift(heap: Array, size: int, at: int, buffers: Array, state: Array, keys: int) -> None:
    """Restore the order of a heap of runs from place `at` down.

    Runs are ordered by their next rows, which no single number expresses: the heaps of
    `dualign._core.kernel_arrays`, whose keys are numbers, do not do.
    """
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and _precedes(buffers, state, heap[child + 1], heap[child], keys):
            child += 1
        if not _precedes(buffers, state, heap[child], heap[at], keys):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@kernel
def _merge_step(buffers: Array, state: Array, keys: int, out: Array, held: int) -> tuple[int, bool]:
    """Merge into `out` after its first `held` rows until a buffer runs empty or `out` is full.

    Returns the rows that `out` holds, and whether there may be more to come.
    """
    runs, _, columns = buffers.shape
    heap = np.empty(runs, np.int64)
    size = 0
    for n in range(runs):
        if state[n, 0] < state[n, 1]:
            heap[size] = n
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sift(heap, size, at, buffers, state, keys)
    while size > 0 and held < len(out):
        n = heap[0]
        row = buffers[n, state[n, 0]]
        same = held > 0
        if same:
            for column in range(keys):
                if out[held - 1, column] != row[column]:
                    same = False
                    break
        if same:
            for column in range(keys, columns):
                out[held - 1, column] += row[column]
        else:
            out[held] = row
            held += 1
        state[n, 0] += 1
        if state[n, 0] == state[n, 1]:
            if state[n, 2]:
                return held, True
            size -= 1
            heap[0] = heap[size]
        _sift(heap, size, 0, buffers, state, keys)
    return held, size > 0


def whole_groups(chunks: Iterable[Array], columns: int) -> Iterator[Array]:
    """Cut a sorted stream anew so that rows that agree in the first `columns` columns stay together."""
    waiting: list[Array] = []
    for chunk in chunks:
        key = chunk[:, :columns]
        if waiting and (waiting[-1][-1, :columns] == key[-1]).all():
            waiting.append(chunk)  # the group that waits may go on behind this chunk
            continue
        cut = int(np.flatnonzero(is_first(key))[-1])
        if cut or waiting:
            yield np.concatenate([*waiting, chunk[:cut]])
        waiting = [chunk[cut:]]
    if waiting:
        yield np.concatenate(waiting)
