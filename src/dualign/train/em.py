"""Expectation-maximisation of the HMM in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import ordered_map, spans
from dualign.model.cells import block_bounds, find_cells, pairs_of, word_ranges
from dualign.model.chain import FAR, STARTS
from dualign.model.emission import Block
from dualign.model.jumps import update_weights
from dualign.model.lexicon import Lexicon
from dualign.model.options import Options
from dualign.text.corpus import Bitext
from dualign.train import expectation as kernels
from dualign.train.projection import Constraint, Sums
from dualign.train.smoothing import Priors, reestimate_lexicon

__all__ = ["NOTHING", "Round", "em_round"]

SHARD = 256
"""Pairs whose statistics are summed by one job; shards are added in order, for any number of threads."""

HOW = {"none": kernels.LIKELIHOOD, "agreement": kernels.AGREEMENT, "symmetric": kernels.SYMMETRIC}


@dataclass(frozen=True, slots=True)
class Round:
    """Parameters after a round, and what the round saw before its update."""

    lexicon: Lexicon
    weights: Array
    likelihood: float
    evaluations: float


def em_round(
    bitext: Bitext, lexicon: Lexicon, weights: Array, priors: Priors, constraint: str, options: Options, threads: int
) -> Round:
    """One E-step over all pairs, block by block, and the M-step of lexicon and jumps."""
    counts = np.zeros(lexicon.table.shape)
    null_target, null_source = np.zeros(len(lexicon.null_target)), np.zeros(len(lexicon.null_source))
    rules = Constraint(HOW[constraint], options.slack, options.tolerance, options.evaluations, False)
    longest = int(max(bitext.source.lengths.max(initial=1), bitext.target.lengths.max(initial=1)))
    total = new_sums(longest)
    frequency = np.concatenate(([0], np.cumsum(np.bincount(bitext.source.tokens, minlength=len(lexicon.rows) - 1))))
    ranges = word_ranges(frequency, threads)
    for begin, end in block_bounds(bitext):
        part = Bitext(bitext.source.slice(begin, end), bitext.target.slice(begin, end))
        cells = find_cells(part, lexicon.rows, lexicon.columns, len(lexicon.null_target), threads)
        block = Block(
            pairs_of(part), cells.first, cells.count, cells.position, cells.entry, lexicon.table,
            lexicon.table[:0], lexicon.null_target, lexicon.null_source, weights,
        )  # fmt: skip
        posterior = np.empty((len(cells.entry), 2), np.float32)

        def expect(bounds: tuple[int, int], block: Block = block, posterior: Array = posterior) -> Sums:
            sums = new_sums(longest)
            kernels.expect(*bounds, block, rules, sums, NOTHING, posterior)
            return sums

        for part_sums in ordered_map(expect, spans(len(part), SHARD), threads):
            for into, shard in zip(total, part_sums, strict=True):
                into += shard

        def add(bounds: tuple[int, int], block: Block = block, posterior: Array = posterior) -> None:
            agree = constraint == "agreement"
            kernels.add_counts(*bounds, block, agree, posterior, counts, null_source)

        list(ordered_map(add, ranges, threads))
        kernels.add_null_counts(block, posterior, null_target)
    lengths = bitext.source.lengths, bitext.target.lengths
    return Round(
        reestimate_lexicon(lexicon, counts, null_target, null_source, priors, threads),
        update_weights(weights, total.jumps, total.departures, total.starts, lengths),
        float(total.totals[0]),
        float(total.totals[1] / max(total.totals[2], 1)),
    )


def new_sums(longest: int) -> Sums:
    """Zeros to add to."""
    return Sums(
        np.zeros((2, FAR)), np.zeros((2, longest + 1, longest)), np.zeros((2, STARTS + 1)), np.zeros(3)
    )


NOTHING = Sums(np.zeros((0, FAR)), np.zeros((0, 1, 1)), np.zeros((0, STARTS + 1)), np.zeros(3))
"""Tells the chains to collect nothing."""
