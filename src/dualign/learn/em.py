"""Expectation-maximisation of the HMM, or of IBM Model 2, in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dualign.core.arrays import Array
from dualign.core.threads import ordered_map
from dualign.infer.blocks import Block, Warm, block_of
from dualign.infer.cells import block_bounds, word_ranges
from dualign.infer.constraints import ConstraintSet, give, stricter
from dualign.infer.posteriors import constraint_of, expectations, new_sums
from dualign.learn.expected_counts import add_counts, add_null_counts, add_positions
from dualign.learn.jump_updates import update_jumps, update_starts
from dualign.learn.smoothing import Priors, reestimate_lexicon
from dualign.model.model import Model
from dualign.model.positions import Positions, starts, table_sizes
from dualign.text.bitext import Bitext


@dataclass(frozen=True, slots=True)
class Round:
    """The model after a round, and what the round saw before its update.

    `objective` is the log-likelihood of both directions, less the divergence of the projected posteriors
    from the model's own; `evaluations` counts how often the chains of a pair were run.
    """

    model: Model
    objective: float
    evaluations: float


def em_round(
    bitext: Bitext,
    model: Model,
    priors: Priors,
    constraint: str,
    threads: int,
    constraints: ConstraintSet | None = None,
    warm: Sequence[Warm] = (),
) -> Round:
    """One E-step over all pairs, none of them empty, block by block; then the M-step.

    `constraint` is one of `dualign.infer.posteriors.KINDS`; if it is a projection, `constraints` may list
    further rules, and `warm` (see `warm_starts`) is where its multipliers begin and end.
    """
    lexicon, options, rules_of = model.lexicon, model.options, None
    if constraints is not None:
        options, rules_of = stricter(options), partial(give, constraints)
    # Rules of the user's own join whatever the options ask for.
    agree = "agreement" in (constraint, options.constraint if constraint == "given" else None)
    counts = np.zeros(lexicon.table.shape)
    null_target, null_source = np.zeros(len(lexicon.null_target)), np.zeros(len(lexicon.null_source))
    total = new_sums(model.jumps.classes)
    frequency = np.bincount(bitext.source.tokens, minlength=len(model.source))
    ranges = word_ranges(np.concatenate(([0], np.cumsum(frequency))), threads)
    places = Places(bitext) if model.positions is not None else None
    for number, (begin, end) in enumerate(block_bounds(bitext)):
        block = block_of(model, bitext.slice(begin, end), threads, give=rules_of)
        if warm:
            block = block._replace(warm=warm[number])
        posterior = np.empty((len(block.entry), 2), np.float32)
        for sums in expectations(block, constraint_of(options, constraint), threads, posterior, collect=True):
            for into, more in zip(total, sums, strict=True):
                into += more

        def add(bounds: tuple[int, int], block: Block = block, posterior: Array = posterior) -> None:
            add_counts(*bounds, block, agree, posterior, counts, null_source)

        list(ordered_map(add, ranges, threads))
        add_null_counts(block, posterior, null_target)
        if places is not None:
            add_positions(block, posterior, places.of_pair[begin:end], places.counts)
    new = replace(
        model, lexicon=reestimate_lexicon(lexicon, counts, null_target, null_source, priors, threads)
    )
    if places is not None:
        new = replace(new, positions=Positions.estimate(places.lengths, places.counts))
    else:
        lengths = bitext.source.lengths, bitext.target.lengths
        new = replace(
            new,
            weights=update_starts(model.weights, total.starts, lengths),
            jumps=update_jumps(model.jumps, total.jumps, total.openings, options.jump_weight),
        )
    likelihood, evaluations, pairs, divergence = total.totals
    return Round(new, float(likelihood - divergence), float(evaluations / pairs))


def warm_starts(bitext: Bitext) -> list[Warm]:
    """Room for the multipliers of every pair, block by block, still empty: two for each word.

    That is nearly all that a pair of ordinary length has. Those that find no room start at 0 again, which
    costs time and nothing else.
    """
    starts = []
    for begin, end in block_bounds(bitext):
        lengths, widths = bitext.source.lengths[begin:end], bitext.target.lengths[begin:end]
        room = np.concatenate(([0], np.cumsum(np.minimum(lengths * widths, 2 * (lengths + widths)))))
        size = int(room[-1])
        starts.append(
            Warm(room, np.zeros(end - begin, np.int32), np.empty(size, np.int32), np.empty(size, np.float32))
        )
    return starts


class Places:
    """Expected position counts of Model 2, for all pairs of lengths in a bitext."""

    def __init__(self, bitext: Bitext) -> None:
        lengths = np.stack((bitext.source.lengths, bitext.target.lengths), axis=1)
        self.lengths, of_pair = np.unique(lengths, axis=0, return_inverse=True)
        self.of_pair = starts(self.lengths)[of_pair.ravel()]
        self.counts = np.zeros(table_sizes(self.lengths).sum())
