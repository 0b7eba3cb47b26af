"""Arrays that a thread uses for one block after another."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.infer.cells import BLOCK_CELLS, Room


class Desk:
    """Room for the cells and the posteriors of one block at a time; what is put there is for that block only.

    Fresh arrays for each block would come from the system, page by page, and go back to it, and threads would
    wait for each other there.
    """

    def __init__(self) -> None:
        self._room = Room.of(0)
        self._posterior = np.empty((0, 2), np.float32)

    def room(self, slots: int) -> Room:
        """Room for the cells of a block."""
        if slots > BLOCK_CELLS:  # one enormous pair: not to be kept for ever
            return Room.of(slots)
        if len(self._room.entry) < slots:
            self._room = Room.of(0)  # first give back what is too small
            self._room = Room.of(slots + slots // 4)
        return self._room

    def posterior(self, slots: int) -> Array:
        """Room for its posteriors, float32 (slots, 2)."""
        if slots > BLOCK_CELLS:
            return np.empty((slots, 2), np.float32)
        if len(self._posterior) < slots:
            self._posterior = np.empty((0, 2), np.float32)
            self._posterior = np.empty((slots + slots // 4, 2), np.float32)
        return self._posterior[:slots]
