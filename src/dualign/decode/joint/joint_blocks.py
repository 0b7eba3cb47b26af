"""Joint decoding of a block of sentence pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.clocks import Clock
from dualign.core.threads import ordered_map
from dualign.decode.joint.bidirectional import certified
from dualign.decode.joint.exact_joint import search
from dualign.decode.joint.objective import Problem
from dualign.decode.joint.potentials import potentials
from dualign.infer.blocks import Block
from dualign.model.options import Options
from dualign.search.certificate import PRECISION
from dualign.search.dual import NEVER

MOST_SCORES = 20_000_000
"""Pairs with more entries in θ and ω (about 215 words per side) are not decoded jointly."""


class Proofs(NamedTuple):
    """For each pair of a block: score and proved bound of the joint objective (NaN where a pair was not
    decoded), whether they have met, rounds and seconds, and bound and score by round."""

    score: Array
    bound: Array
    certified: Array
    rounds: Array
    seconds: Array
    trace: Array


def agree_block(options: Options, block: Block, threads: int, marks: Array) -> Proofs:
    """Mark the links of the best joint alignment in `marks`, uint8 (slots, 2): b, then a.

    The marks of pairs that are too large stay as they are. A pair with an empty side has no links, certified.
    """
    pairs = block.pairs
    lengths, widths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
    scores = lengths * (widths + 1) ** 2 + widths * (lengths + 1) ** 2
    alpha = NEVER if options.agreement == "full" else options.penalty
    gamma = options.unsupported if options.agreement == "soft" else NEVER
    proofs = Proofs(
        np.full(len(lengths), np.nan), np.full(len(lengths), np.nan), np.zeros(len(lengths), bool),
        np.zeros(len(lengths), np.int64), np.zeros(len(lengths)), np.empty(len(lengths), object),
    )  # fmt: skip

    def decode(n: int) -> None:
        I, J = int(lengths[n]), int(widths[n])
        problem = Problem(*potentials(n, block), float(alpha), float(gamma))
        clock = Clock(options.time_limit or None)
        outcome = search(problem, PRECISION, clock, options.nodes or None)
        result = certified(problem, outcome, "exact", clock)
        proofs.score[n], proofs.bound[n], proofs.certified[n] = result.score, result.bound, result.certified
        proofs.rounds[n], proofs.seconds[n] = result.iterations, result.seconds
        proofs.trace[n] = result.trace
        a, b = result.solution
        cells = marks[block.first[n] : block.first[n + 1]].reshape(I, J, 2)
        cells[:] = 0
        rows, columns = np.flatnonzero(a), np.flatnonzero(b)
        cells[rows, a[rows] - 1, 1] = 1
        cells[b[columns] - 1, columns, 0] = 1

    empty = (lengths == 0) | (widths == 0)
    proofs.score[empty] = proofs.bound[empty] = 0.0
    proofs.certified[empty] = True
    decodable = np.flatnonzero(~empty & (scores <= MOST_SCORES))
    list(ordered_map(decode, decodable.tolist(), threads))
    return proofs
