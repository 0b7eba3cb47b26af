"""Posteriors of a block of sentence pairs, on all threads."""

from __future__ import annotations

import numpy as np

from dualign.core.arrays import Array
from dualign.infer.emission import Block
from dualign.infer.expectation import KINDS, expectations
from dualign.infer.multipliers import Constraint
from dualign.model.options import Options


def posteriors_of_block(options: Options, block: Block, kind: str, threads: int) -> Array:
    """Posteriors of all cells of a block, projected by one of `KINDS`: float32 (slots, 2)."""
    rules = Constraint(KINDS[kind], options.slack, options.tolerance, options.evaluations, options.mixture)
    posterior = np.empty((block.first[-1], 2), np.float32)
    for _ in expectations(block, rules, threads, posterior):
        pass
    return posterior
