"""Posteriors of a block of sentence pairs, on all threads."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import ordered_map, spans
from dualign.model.emission import Block
from dualign.model.options import Options
from dualign.train.em import NOTHING
from dualign.train.expectation import KINDS, expect
from dualign.train.projection import Constraint

__all__ = ["SHARD", "posteriors_of_block"]

SHARD = 64


def posteriors_of_block(options: Options, block: Block, kind: str, threads: int) -> Array:
    """Posteriors of all cells of a block, projected by one of `KINDS`: float32 (slots, 2)."""
    rules = Constraint(KINDS[kind], options.slack, options.tolerance, options.evaluations, options.mixture)
    posterior = np.empty((block.first[-1], 2), np.float32)
    shards = spans(len(block.first) - 1, SHARD)
    list(ordered_map(lambda s: expect(*s, block, rules, NOTHING, NOTHING, posterior), shards, threads))
    return posterior
