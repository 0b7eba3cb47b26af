"""Expectation-maximisation of the HMM in both directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import ordered_map, spans
from dualign.model.cells import block_bounds, find_cells, pairs_of, word_ranges
from dualign.model.emission import Block
from dualign.model.jumps import update_weights
from dualign.model.lexicon import Lexicon
from dualign.model.options import Options
from dualign.text.corpus import Bitext
from dualign.train import expectation as kernels
from dualign.train.smoothing import Priors, reestimate_lexicon

__all__ = ["Round", "em_round"]

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
    nulls = np.zeros(len(lexicon.null_target)), np.zeros(len(lexicon.null_source))
    longest = int(max(bitext.source.lengths.max(initial=1), bitext.target.lengths.max(initial=1)))
    total = new_statistics(longest)
    frequency = np.concatenate(([0], np.cumsum(np.bincount(bitext.source.tokens, minlength=len(lexicon.rows) - 1))))
    ranges = word_ranges(frequency, threads)
    for begin, end in block_bounds(bitext):
        part = Bitext(bitext.source.slice(begin, end), bitext.target.slice(begin, end))
        pairs = pairs_of(part)
        cells = find_cells(part, lexicon.rows, lexicon.columns, len(lexicon.null_target), threads)
        block = Block(
            pairs, cells.first, cells.count, cells.position, cells.entry, lexicon.table, lexicon.table[:0],
            lexicon.null_target, lexicon.null_source, weights,
        )  # fmt: skip
        posterior = np.empty((len(cells.entry), 2), np.float32)
        null_target = np.empty(len(pairs.target), np.float32)
        null_source = np.empty(len(pairs.source), np.float32)

        def expect(
            bounds: tuple[int, int],
            block: Block = block,
            results: tuple[Array, Array, Array] = (posterior, null_target, null_source),
        ) -> list[Array]:
            statistics = new_statistics(longest)
            kernels.expect(
                *bounds, block, HOW[constraint], options.slack, options.tolerance, options.evaluations, False,
                kernels.Expected(*statistics, *results),
            )  # fmt: skip
            return statistics

        for statistics in ordered_map(expect, spans(len(part), SHARD), threads):
            for sums, shard in zip(total, statistics, strict=True):
                sums += shard

        def add(bounds: tuple[int, int], block: Block = block, posterior: Array = posterior) -> None:
            kernels.add_counts(
                *bounds, block.pairs, block.first, block.count, block.entry, posterior, counts
            )

        list(ordered_map(add, ranges, threads))
        nulls[0][:] += np.bincount(pairs.target, null_target, len(nulls[0]))
        nulls[1][:] += np.bincount(pairs.source, null_source, len(nulls[1]))
    jumps, departures, starts, totals = total
    lengths = bitext.source.lengths, bitext.target.lengths
    return Round(
        reestimate_lexicon(lexicon, counts, *nulls, priors, threads),
        update_weights(weights, jumps, departures, starts, lengths),
        float(totals[0]),
        float(totals[1] / max(totals[2], 1)),
    )


def new_statistics(longest: int) -> list[Array]:
    """Zeros for the first four fields of `Expected`."""
    return [
        np.zeros((2, 2 * kernels.REACH + 1)),
        np.zeros((2, longest + 1, longest)),
        np.zeros((2, kernels.STARTS + 1)),
        np.zeros(3),
    ]
