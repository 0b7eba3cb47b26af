"""Posteriors of sentence pairs, both directions at once: the E-step, and the basis of decoding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign.core.arrays import Array
from dualign.core.errors import UsageError
from dualign.core.jit import kernel
from dualign.core.lanes import LANES, Vector, eight, width
from dualign.core.threads import ordered_map
from dualign.infer.blocks import Block, batch_of, block_of
from dualign.infer.cells import block_bounds
from dualign.infer.chains import Sums, make_chains, prepare, run_chains
from dualign.infer.choices import independent, priors_of
from dualign.infer.emission import emissions
from dualign.infer.multipliers import (
    BASE,
    BEGUN,
    BIJECTIVE,
    EVALUATIONS,
    GIVEN,
    SYMMETRIC,
    VALUE,
    Constraint,
    make_dual,
)  # fmt: skip
from dualign.infer.projection import project
from dualign.model.jumps import NEAR, STARTS

if TYPE_CHECKING:
    from dualign.infer.constraints import ConstraintSet
    from dualign.infer.encoding import Encoded
    from dualign.model.model import Model
    from dualign.model.options import Options

LIKELIHOOD, AGREEMENT = 0, 1

MOST_PROJECTED = 1 << 18
"""Pairs with more cells are not projected: their multipliers and moves would take over 28 MB."""

LONGEST_IN_STEP = 128
"""Pairs with a longer sentence are handled one at a time: eight with multipliers would take over 15 MB."""

JOB_CELLS = 1 << 17
"""Cells of one job: a few milliseconds of work."""

KINDS = {
    "none": LIKELIHOOD,
    "agreement": AGREEMENT,
    "symmetric": SYMMETRIC,
    "bijective": BIJECTIVE,
    "given": GIVEN,
}
"""How posteriors become counts: as they are, multiplied with the other direction's, or projected."""


def posteriors_of_bitext(
    model: Model, text: Encoded, threads: int, constraints: ConstraintSet | None = None
) -> list[Array]:
    """For each pair a float32 array (2, I, J): p(b_j = i) and p(a_i = j)."""
    matrices = []
    for posterior, block in posteriors_of_parts(model, text, threads, constraints):
        lengths, widths = np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets)
        for n, (I, J) in enumerate(zip(lengths, widths, strict=True)):
            cells = posterior[block.first[n] : block.first[n + 1]]
            matrices.append(np.ascontiguousarray(cells.T).reshape(2, I, J))
    return matrices


def posteriors_of_parts(
    model: Model, text: Encoded, threads: int, constraints: ConstraintSet | None = None
) -> Iterator[tuple[Array, Block]]:
    """Posteriors and blocks of a bitext, a few thousand pairs at a time.

    A set of `constraints` joins the projection that the model's options name.
    """
    options, kind, rules_of = model.options, model.options.projection, None
    if constraints is not None:
        from dualign.infer.constraints import give, stricter

        if model.positions is not None:
            raise UsageError("constraints are for the HMM; IBM models 1 and 2 have no chain to constrain")
        options, rules_of = stricter(options), partial(give, constraints)
        kind = "given" if kind == "none" else kind
    for begin, end in block_bounds(text.bitext):
        block = block_of(model, text.bitext.slice(begin, end), threads, text.unknown, rules_of)
        yield posteriors_of_block(options, block, kind, threads), block


def posteriors_of_block(options: Options, block: Block, kind: str, threads: int) -> Array:
    """Posteriors of all cells of a block, projected by one of `KINDS`: float32 (slots, 2)."""
    posterior = np.empty((block.first[-1], 2), np.float32)
    for _ in expectations(block, constraint_of(options, kind), threads, posterior):
        pass
    return posterior


def constraint_of(options: Options, kind: str) -> Constraint:
    """One of `KINDS`, as exact as the options ask for."""
    return Constraint(KINDS[kind], options.slack, options.tolerance, options.evaluations, options.mixture)


class Job(NamedTuple):
    """Numbers of some pairs of a block, int64, to be handled `alone` or in step."""

    pairs: Array
    alone: bool


def jobs_of(block: Block) -> list[Job]:
    """Cut the pairs of a block, but those with an empty side, into jobs for `expect`.

    Pairs of much the same shape go together, the largest first: a batch has the size of its longest
    sentences, and threads should not wait for a large job at the end. Jobs do not depend on the number of
    threads.
    """
    lengths, widths = np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets)
    cells = lengths * widths
    # Within the pairs of one length the other goes up and down in turn, so that neighbours are close.
    turned = np.where(lengths % 2, widths, -widths)
    order = np.lexsort((turned, -lengths))
    order = order[cells[order] > 0]
    alone = np.maximum(lengths, widths)[order] > LONGEST_IN_STEP
    return [Job(part, True) for part in cut(order[alone], cells, 1)] + [
        Job(part, False) for part in cut(order[~alone], cells, LANES)
    ]


def cut(order: Array, cells: Array, lanes: int) -> list[Array]:
    """Cut a list of pairs into parts of whole batches, with some JOB_CELLS cells each."""
    if len(order) == 0:
        return []
    batches = np.add.reduceat(cells[order], np.arange(0, len(order), lanes))
    job = np.cumsum(batches) // JOB_CELLS
    return np.split(order, lanes * (1 + np.flatnonzero(np.diff(job))))


def expectations(
    block: Block, constraint: Constraint, threads: int, posterior: Array, collect: bool = False
) -> Iterator[Sums]:
    """Posteriors of all pairs into `posterior`; what each job adds up, also statistics to `collect`."""
    classes = block.jumps.classes if collect else 0

    def run(job: Job) -> Sums:
        sums = new_sums(classes)
        if len(block.prior) > 0:
            expect_alone(job.pairs, block, sums, posterior)
        else:
            posteriors = expect_long if job.alone else expect
            posteriors(job.pairs, block, constraint, sums, posterior)
        return sums

    return ordered_map(run, jobs_of(block), threads)


def new_sums(classes: int) -> Sums:
    """Zeros to add to; with no `classes`, no statistics."""
    rows = 2 if classes else 0
    return Sums(
        np.zeros((rows, classes, NEAR + 1)),
        np.zeros((rows, classes, NEAR + 1)),
        np.zeros((rows, STARTS + 1)),
        np.zeros(4),
    )


@kernel()
def expect(order: Array, block: Block, constraint: Constraint, sums: Sums, posterior: Array) -> None:
    """Posteriors of the pairs in `order` into `posterior`, float32 (slots, 2); statistics added to `sums`.

    The cell (i, j) of pair n is at slot `first[n] + i · J + j`: p(b_j = i), then p(a_i = j). No pair has an
    empty side. If `sums.jumps` is empty no statistics are collected.
    """
    expect_in_step(eight(), order, block, constraint, sums, posterior)


@kernel()
def expect_long(order: Array, block: Block, constraint: Constraint, sums: Sums, posterior: Array) -> None:
    """`expect` for pairs that are too large to have eight of them in memory."""
    expect_in_step(np.float32(0), order, block, constraint, sums, posterior)


@kernel()
def expect_in_step(
    like: Vector, order: Array, block: Block, constraint: Constraint, sums: Sums, posterior: Array
) -> None:
    """`expect`, as many pairs at a time as `like` has lanes."""
    W = width(like)
    longest = most = words = 1
    for begin in range(0, len(order), W):
        batch = batch_of(W, order[begin : begin + W], block.pairs)
        longest = max(longest, batch.I, batch.J)
        most = max(most, batch.I * batch.J)
        words = max(words, batch.I + batch.J)
    chains = make_chains(like, longest, most)
    constrained = constraint.how >= SYMMETRIC
    few = min(most, MOST_PROJECTED) if constrained else 0
    dual = make_dual(like, few, words, constraint.how, block.given)
    collect = len(sums.jumps) > 0
    for begin in range(0, len(order), W):
        batch = batch_of(W, order[begin : begin + W], block.pairs)
        prepare(like, batch, block, chains)
        if constrained and batch.I * batch.J <= MOST_PROJECTED:
            moved = project(like, batch, block, chains, dual, constraint, sums)
            for lane in range(batch.used):
                sums.totals[0] += dual.value[BASE, lane] + dual.value[BASE + 1, lane]
                sums.totals[1] += dual.state[EVALUATIONS, lane] + collect
                sums.totals[3] += dual.value[BEGUN, lane] - dual.value[VALUE, lane]
            if collect:
                run_chains(
                    like, batch, dual.projected if moved else chains.emission, block, chains, collect, sums
                )
        else:
            run_chains(like, batch, chains.emission, block, chains, collect, sums)
            for lane in range(batch.used):
                sums.totals[0] += chains.likelihood[0, lane] + chains.likelihood[1, lane]
                sums.totals[1] += 1
        sums.totals[2] += batch.used
        P0, P1 = chains.posterior[0], chains.posterior[1]
        for lane in range(batch.used):
            J = chains.length[0, lane]
            for i in range(chains.length[1, lane]):
                slot = block.first[batch.pair[lane]] + i * J
                for j in range(J):
                    posterior[slot + j, 0] = P0[(j * batch.I + i) * W + lane]
                    posterior[slot + j, 1] = P1[(i * batch.J + j) * W + lane]


@kernel()
def expect_alone(order: Array, block: Block, sums: Sums, posterior: Array) -> None:
    """`expect` by position tables, where words choose without looking at their neighbours."""
    for n in order:
        E0, E1, null0, null1 = emissions(n, block)
        J, I = E0.shape
        forward, backward = priors_of(n, I, J, block)
        there, back = np.empty((J, I), np.float32), np.empty((I, J), np.float32)
        sums.totals[0] += independent(J, I, E0, null0, forward, there)
        sums.totals[0] += independent(I, J, E1, null1, backward, back)
        sums.totals[1] += 1
        sums.totals[2] += 1
        for i in range(I):
            for j in range(J):
                posterior[block.first[n] + i * J + j, 0] = there[j, i]
                posterior[block.first[n] + i * J + j, 1] = back[i, j]
