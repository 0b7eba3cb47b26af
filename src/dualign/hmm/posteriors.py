"""Posteriors of sentence pairs, both directions at once: the E-step, and the basis of decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.jit import kernel, part
from dualign._core.lanes import LANES, Vector, eight, greater, load, spread, store, width
from dualign.hmm.batched_chains import Chains, make_chains, prepare, prepare_edges, run_chains, run_evenly
from dualign.hmm.blocks import NOTHING_GIVEN, Batch, Block, Given, batch_of, block_of, words_of
from dualign.hmm.cells import CellBuffers, lengths_of
from dualign.hmm.emission import emissions
from dualign.hmm.multipliers import (  # fmt: skip
    BASE,
    BEGUN,
    BIJECTIVE,
    EVALUATIONS,
    GIVEN,
    SYMMETRIC,
    VALUE,
    Constraint,
    make_dual,
)
from dualign.hmm.projection import project
from dualign.hmm.statistics import TOTAL_UNIT, ChainStatistics, Tallies, Tally, in_numbers, units
from dualign.hmm.viterbi import independent, priors_of

if TYPE_CHECKING:
    from dualign.hmm.cells import ThreadBuffers
    from dualign.hmm.constraints import ConstraintSet
    from dualign.hmm.encoding import EncodedText
    from dualign.hmm.model import Model
    from dualign.options import Options

EVEN, LIKELIHOOD, AGREEMENT = -1, 0, 1

MOST_PROJECTED = 1 << 18
"""Pairs with more cells are not projected: their multipliers and moves would take over 28 MB."""

LONGEST_IN_STEP = 128
"""Pairs with a longer sentence are handled one at a time: eight with multipliers would take over 15 MB."""

JOB_CELLS = 1 << 18
"""Cells of one job: some five milliseconds of work."""

KINDS = {
    "none": LIKELIHOOD,
    "agreement": AGREEMENT,
    "symmetric": SYMMETRIC,
    "bijective": BIJECTIVE,
    "given": GIVEN,
    "even": EVEN,
}
"""How posteriors become counts: as they are, multiplied with the other direction's, or projected; or without
chains, each word by itself."""


def matrices_of(posterior: Array, block: Block) -> Iterator[Array]:
    """The posteriors of each pair of a block, float32 (2, I, J)."""
    lengths, widths = np.diff(block.pairs.source_offsets), np.diff(block.pairs.target_offsets)
    for n, (I, J) in enumerate(zip(lengths, widths, strict=True)):
        cells = posterior[block.first[n] : block.first[n + 1]]
        yield np.ascontiguousarray(cells.T).reshape(2, I, J)


def link_probabilities(matrix: Array) -> Array:
    """The mean of the directions of a pair's posteriors (2, I, J); rounding may exceed 1."""
    return np.minimum(matrix.mean(axis=0), 1)


def make_block(
    model: Model,
    text: EncodedText,
    constraints: ConstraintSet | None = None,
    buffers: ThreadBuffers | None = None,
) -> Block:
    """The block of a few thousand pairs, with room for their likelihoods and the constraints that hold for
    them. In `buffers` it is gone when the next is made."""
    rules = None
    if constraints is not None:
        from dualign.hmm.constraints import give

        if model.positions is not None:
            raise UsageError("constraints are for the HMM; IBM models 1 and 2 have no chain to constrain")
        rules = partial(give, constraints)
    room_for = buffers.cells if buffers else CellBuffers.of
    block = block_of(model, text.bitext, text.unknown, rules, room_for)
    return block._replace(likelihood=np.zeros((len(block.first) - 1, 2)))


def posteriors_of_block(
    model: Model,
    block: Block,
    unknown: tuple[Sequence[str], Sequence[str]],
    constraints: ConstraintSet | None = None,
    buffers: ThreadBuffers | None = None,
) -> Array:
    """Posteriors of all cells of a block, projected as the model's options say: float32 (slots, 2).

    A set of `constraints` joins the projection for the pairs that it has rules for.
    """
    options, slots = model.options, int(block.first[-1])
    posterior = buffers.posterior(slots) if buffers else np.empty((slots, 2), np.float32)
    ruled = None if constraints is None else constraint_with_rules(options, options.projection)
    expectations(block, constraint_of(options, options.projection), posterior, ruled=ruled)
    if constraints is not None and ruled is not None and not options.mixture:
        from dualign.hmm.constraints import tell_violations

        words = partial(words_of, model, block.pairs, unknown)
        tell_violations(constraints, block, posterior, ruled.slack + ruled.tolerance, words)
    return posterior


def constraint_of(options: Options, kind: str) -> Constraint:
    """One of `KINDS`, as exact as the options ask for."""
    return Constraint(KINDS[kind], options.slack, options.tolerance, options.evaluations, options.mixture)


def constraint_with_rules(options: Options, kind: str) -> Constraint:
    """What holds for pairs with rules of the user's own, where for others it is one of `KINDS`."""
    from dualign.hmm.constraints import stricter

    return constraint_of(stricter(options), kind if KINDS[kind] >= SYMMETRIC else "given")


class Job(NamedTuple):
    """Numbers of some pairs of a block, int64, to be handled `alone` or in step."""

    pairs: Array
    alone: bool


def jobs_of(block: Block, *, whole: bool = False) -> list[Job]:
    """Cut the pairs of a block, but those with an empty side, into jobs for `expect`.

    Pairs of much the same shape go together, the largest first: a batch has the size of its longest
    sentences, and threads should not wait for a large job at the end. What is computed for a pair does not
    depend on its job. Where the block is for one thread, it may be `whole`: every call of a kernel with so
    many arrays takes time that threads cannot share.
    """
    source, target = block.pairs.source_offsets, block.pairs.target_offsets
    return jobs_of_shapes(source[1:] - source[:-1], target[1:] - target[:-1], whole=whole)


def jobs_of_shapes(lengths: Array, widths: Array, *, whole: bool = False) -> list[Job]:
    """The jobs of a block with pairs of these lengths."""
    cells = lengths * widths
    # Within the pairs of one length the other goes up and down in turn, so that neighbours are close.
    turned = np.where(lengths % 2, widths, -widths)
    order = np.lexsort((turned, -lengths))
    order = order[cells[order] > 0]
    alone = np.maximum(lengths, widths)[order] > LONGEST_IN_STEP
    if whole:
        return [Job(part, kind) for part, kind in ((order[alone], True), (order[~alone], False)) if len(part)]
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


def parted(jobs: Sequence[Job], given: Given) -> tuple[list[Job], list[Job]]:
    """The same jobs for the pairs without rules, and for those with rules."""
    has_rules = given.pair_begin[1:] > given.pair_begin[:-1]
    without, ruled = (
        [Job(job.pairs[has_rules[job.pairs] == which], job.alone) for job in jobs] for which in (False, True)
    )
    return [job for job in without if len(job.pairs)], [job for job in ruled if len(job.pairs)]


class Output(NamedTuple):
    """Where the posteriors of a block's pairs go; empty arrays for what is not wanted.

    `posterior` float32 (slots, 2): all cells, p(b_j = i), then p(a_i = j). For the counts of EM only the
    cells that have an entry matter: theirs take the place of the scores in `dualign.hmm.cells.Cells`, if
    the directions `agree`, both the product of the two. `null_target`, `null_source` float32 (tokens): what
    is left for null.
    """

    posterior: Array
    null_target: Array
    null_source: Array
    agree: bool


def only_posteriors(posterior: Array) -> Output:
    """An output of posteriors, and of nothing for EM."""
    none = np.empty(0, np.float32)
    return Output(posterior, none, none, False)


def expectations(
    block: Block,
    constraint: Constraint,
    posterior: Array,
    collect: bool = False,
    ruled: Constraint | None = None,
) -> ChainStatistics:
    """Posteriors of all pairs into `posterior`; what they add up to, also statistics to `collect`.

    For `ruled` see `expectation_tasks`.
    """
    tallies = Tallies(block.jumps.classes if collect else 0)
    jobs = jobs_of(block, whole=True)
    for task in expectation_tasks(block, jobs, constraint, only_posteriors(posterior), tallies, ruled):
        task()
    return in_numbers(tallies.together())


def expectation_tasks(
    block: Block,
    jobs: Sequence[Job],
    constraint: Constraint,
    output: Output,
    tallies: Tallies,
    ruled: Constraint | None = None,
) -> list[Callable[[], None]]:
    """A task for each job; it fills its part of the output, and adds to its thread's tally.

    With `ruled`, the constraint of pairs with rules of their own, these have jobs for themselves: other pairs
    get what they get where nobody has any rules.
    """

    def task(job: Job, block: Block, constraint: Constraint) -> None:
        own = tallies.own()
        if len(block.prior) > 0:
            expect_alone(job.pairs, block, own, output)
        else:
            (expect_long if job.alone else expect)(job.pairs, block, constraint, own, output)

    if ruled is None:
        return [partial(task, job, block, constraint) for job in jobs]
    others, slow = parted(jobs, block.given)
    without = block._replace(given=NOTHING_GIVEN)
    tasks: list[Callable[[], None]] = [partial(task, job, block, ruled) for job in slow]
    return tasks + [partial(task, job, without, constraint) for job in others]


@kernel
def expect(order: Array, block: Block, constraint: Constraint, tally: Tally, output: Output) -> None:
    """Posteriors of the pairs in `order` into `output`; statistics added to `tally`.

    The cell (i, j) of pair n is at slot `first[n] + i · J + j`. No pair has an empty side. If `tally.jumps`
    is empty no statistics are collected.
    """
    expect_in_step(eight(), order, block, constraint, tally, output)


@kernel
def expect_long(order: Array, block: Block, constraint: Constraint, tally: Tally, output: Output) -> None:
    """`expect` for pairs that are too large to have eight of them in memory."""
    expect_in_step(np.float32(0), order, block, constraint, tally, output)


@part
def expect_in_step(
    like: Vector, order: Array, block: Block, constraint: Constraint, tally: Tally, output: Output
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
    collect = len(tally.jumps) > 0
    for begin in range(0, len(order), W):
        batch = batch_of(W, order[begin : begin + W], block.pairs)
        prepare(like, batch, block, chains)
        if constraint.how != EVEN:
            prepare_edges(like, batch, block, chains)
        if constrained and batch.I * batch.J <= MOST_PROJECTED:
            moved = project(like, batch, block, chains, dual, constraint, tally)
            keep_likelihoods(batch, dual.value[BASE:], block.likelihood)
            for lane in range(batch.used):
                tally.totals[0] += units(dual.value[BASE, lane] + dual.value[BASE + 1, lane], TOTAL_UNIT)
                tally.totals[1] += units(dual.state[EVALUATIONS, lane] + collect, TOTAL_UNIT)
                tally.totals[3] += units(dual.value[BEGUN, lane] - dual.value[VALUE, lane], TOTAL_UNIT)
            if collect:
                run_chains(
                    like, batch, dual.projected if moved else chains.emission, block, chains, collect, tally
                )
        else:
            if constraint.how == EVEN:
                run_evenly(like, batch, block, chains)
            else:
                run_chains(like, batch, chains.emission, block, chains, collect, tally)
            keep_likelihoods(batch, chains.likelihood, block.likelihood)
            for lane in range(batch.used):
                tally.totals[0] += units(chains.likelihood[0, lane] + chains.likelihood[1, lane], TOTAL_UNIT)
                tally.totals[1] += units(1, TOTAL_UNIT)
        tally.totals[2] += units(batch.used, TOTAL_UNIT)
        if len(output.posterior) > 0:
            keep_posteriors(W, batch, block.first, chains, output.posterior)
        if len(output.null_source) > 0:
            keep_shares(like, batch, block, chains, output)


@part(allocates=False)
def keep_likelihoods(batch: Batch, found: Array, likelihood: Array) -> None:
    """Write what was found for the lanes of a batch, (2, W), to their pairs, if anybody asks for it."""
    if len(likelihood) > 0:
        for lane in range(batch.used):
            likelihood[batch.pair[lane], 0] = found[0, lane]
            likelihood[batch.pair[lane], 1] = found[1, lane]


@part(allocates=False)
def keep_posteriors(W: int, batch: Batch, first: Array, chains: Chains, posterior: Array) -> None:
    """Write the posteriors of a batch's pairs to their slots."""
    P0, P1 = chains.posterior[0], chains.posterior[1]
    for lane in range(batch.used):
        J = chains.length[0, lane]
        for i in range(chains.length[1, lane]):
            slot = first[batch.pair[lane]] + i * J
            for j in range(J):
                posterior[slot + j, 0] = P0[(j * batch.I + i) * W + lane]
                posterior[slot + j, 1] = P1[(i * batch.J + j) * W + lane]


@part(allocates=False)
def keep_shares(like: Vector, batch: Batch, block: Block, chains: Chains, output: Output) -> None:
    """Write what EM counts of a batch's pairs: see `Output`."""
    W = width(like)
    P0, P1, pairs = chains.posterior[0], chains.posterior[1], block.pairs
    unlinked(like, batch.J, batch.I, P0, chains.lines[0])
    unlinked(like, batch.I, batch.J, P1, chains.lines[1])
    for lane in range(batch.used):
        n = batch.pair[lane]
        s, t = pairs.source_offsets[n], pairs.target_offsets[n]
        I, J = lengths_of(n, pairs)
        for j in range(J):
            output.null_target[t + j] = chains.lines[0, j * W + lane]
        for i in range(I):
            output.null_source[s + i] = chains.lines[1, i * W + lane]
            begin = block.begin[s + i]
            for c in range(begin, begin + block.filled[s + i]):
                j = block.position[c]
                p, q = P0[(j * batch.I + i) * W + lane], P1[(i * batch.J + j) * W + lane]
                block.score[c, 0] = p * q if output.agree else p
                block.score[c, 1] = p * q if output.agree else q


@part(allocates=False)
def unlinked(like: Vector, R: int, S: int, P: Array, rest: Array) -> None:
    """`rest[r] = max(0, 1 − Σ_s P[r, s])`, for all lanes."""
    W = width(like)
    one, none = spread(like, np.float32(1)), spread(like, np.float32(0))
    for r in range(R):
        left = one
        for k in range(r * S * W, (r + 1) * S * W, W):
            left = left - load(like, P, k)
        store(rest, r * W, greater(left, none))


@kernel
def expect_alone(order: Array, block: Block, tally: Tally, output: Output) -> None:
    """`expect` by position tables, where words choose without looking at their neighbours."""
    for n in order:
        E0, E1, null0, null1 = emissions(n, block)
        J, I = E0.shape
        forward, backward = priors_of(n, I, J, block)
        there, back = np.empty((J, I), np.float32), np.empty((I, J), np.float32)
        found = independent(J, I, E0, null0, forward, there), independent(I, J, E1, null1, backward, back)
        tally.totals[0] += units(found[0], TOTAL_UNIT)
        tally.totals[0] += units(found[1], TOTAL_UNIT)
        if len(block.likelihood) > 0:
            block.likelihood[n, 0], block.likelihood[n, 1] = found
        tally.totals[1] += units(1, TOTAL_UNIT)
        tally.totals[2] += units(1, TOTAL_UNIT)
        for i in range(I):
            for j in range(J):
                output.posterior[block.first[n] + i * J + j, 0] = there[j, i]
                output.posterior[block.first[n] + i * J + j, 1] = back[i, j]
        if len(output.null_source) > 0:
            keep_choices(n, block, there, back, output)


@part(allocates=False)
def keep_choices(n: int, block: Block, P0: Array, P1: Array, output: Output) -> None:
    """`keep_shares` of one pair, whose posteriors are `P0` (J, I) and `P1` (I, J)."""
    pairs = block.pairs
    s, t = pairs.source_offsets[n], pairs.target_offsets[n]
    I, J = lengths_of(n, pairs)
    one, none = np.float32(1), np.float32(0)
    for j in range(J):
        left = one
        for i in range(I):
            left -= P0[j, i]
        output.null_target[t + j] = max(none, left)
    for i in range(I):
        left = one
        for j in range(J):
            left -= P1[i, j]
        output.null_source[s + i] = max(none, left)
        begin = block.begin[s + i]
        for c in range(begin, begin + block.filled[s + i]):
            p, q = P0[block.position[c], i], P1[i, block.position[c]]
            block.score[c, 0] = p * q if output.agree else p
            block.score[c, 1] = p * q if output.agree else q
