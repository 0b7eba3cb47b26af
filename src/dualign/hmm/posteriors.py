"""Posteriors of sentence pairs, both directions at once: the E-step, and the basis of decoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dualign._core.arrays import Array
from dualign._core.errors import UsageError
from dualign._core.jit import kernel, part
from dualign._core.lanes import LANES, Vector, eight, greater, load, spread, store, width
from dualign.hmm.batched_chains import Chains, make_chains, prepare, prepare_edges, run_chains, run_evenly
from dualign.hmm.blocks import (
    NOTHING_GIVEN,
    Batch,
    Block,
    Cells,
    PairOffsets,
    ThreadBuffers,
    batch_of,
    find_cells,
    lengths_of,
    pairs_of,
)
from dualign.hmm.constraints import ConstraintSet, give, tell_violations
from dualign.hmm.encoding import EncodedText, add_unknown_cells, words_of
from dualign.hmm.model import Model
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
from dualign.hmm.statistics import TOTAL_UNIT, ChainStatistics, new_tally, units
from dualign.hmm.viterbi import independent, priors_of
from dualign.options import Options

EVEN, LIKELIHOOD, AGREEMENT = -1, 0, 1

UNCOUNTED = new_tally(0)
NO_SHARES = np.empty(0, np.float32), np.empty(0, np.float32)
"""Where nothing is learnt."""

LEAST_EVALUATIONS, MOST_SLACK = 100, 0.3
"""Of pairs with rules of the user's own."""

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
    """The block of a few thousand pairs. In `buffers` it is gone when the next is made."""
    cells = find_cells(text.bitext, model.lexicon, buffers or ThreadBuffers())
    add_unknown_cells(cells, text, model)
    return block_with(cells, model, text, constraints)


def block_with(
    cells: Cells, model: Model, text: EncodedText, constraints: ConstraintSet | None = None
) -> Block:
    """`make_block`, when its cells have been found."""
    lexicon, bitext, given = model.lexicon, text.bitext, NOTHING_GIVEN
    prior, prior_begin = np.empty(0, np.float32), np.empty(0, np.int64)
    if model.positions is not None:
        prior, prior_begin = model.positions.tables(bitext)
    if constraints is not None:
        if model.positions is not None:
            raise UsageError("constraints are for the HMM; IBM models 1 and 2 have no chain to constrain")
        given = give(constraints, words_of(model, text))
    return Block(
        pairs_of(bitext), cells.first, cells.begin, cells.filled, cells.position, cells.score,
        lexicon.null_target, lexicon.null_source, model.weights, model.jumps, prior, prior_begin,
        np.zeros((len(cells.first) - 1, 2)), given, bitext.pins, bitext.similar,
    )  # fmt: skip


def posteriors_of_block(
    model: Model,
    block: Block,
    text: EncodedText,
    constraints: ConstraintSet | None = None,
    buffers: ThreadBuffers | None = None,
) -> Array:
    """Posteriors of all cells of a block, projected as the model's options say: float32 (slots, 2).

    A set of `constraints` joins the projection for the pairs that it has rules for.
    """
    options, tally = model.options, UNCOUNTED._replace(totals=np.zeros(4, np.int64))
    posterior = (buffers or ThreadBuffers()).posterior(int(block.first[-1]))
    usual = constraint_of(options, options.projection)
    ruled = None if constraints is None else constraint_with_rules(options, options.projection)
    jobs, output = jobs_of(block.pairs, whole=True), Output(posterior, *NO_SHARES, False)
    for compute, *call in expectation_calls(block, jobs, usual, ruled):
        compute(*call, tally, output)
    if constraints is not None and ruled is not None and not options.mixture:
        words = partial(words_of, model, text)
        tell_violations(constraints, block, posterior, ruled.slack + ruled.tolerance, words)
    return posterior


def constraint_of(options: Options, kind: str) -> Constraint:
    """One of `KINDS`, as exact as the options ask for."""
    return Constraint(KINDS[kind], options.slack, options.tolerance, options.evaluations, options.mixture)


def constraint_with_rules(options: Options, kind: str) -> Constraint:
    """What holds for pairs with rules of the user's own, where for others it is one of `KINDS`.

    It is kept more exactly: the user's rules should have a visible effect, whatever is enough for the others.
    """
    usual = constraint_of(options, kind if KINDS[kind] >= SYMMETRIC else "given")
    return usual._replace(limit=max(usual.limit, LEAST_EVALUATIONS), slack=min(usual.slack, MOST_SLACK))


class Job(NamedTuple):
    """Numbers of some pairs of a block, int64, to be handled `alone` or in step."""

    pairs: Array
    alone: bool


def jobs_of(pairs: PairOffsets, *, whole: bool = False) -> list[Job]:
    """Cut the pairs of a block, but those with an empty side, into jobs for `expect`.

    Pairs of much the same shape go together, the largest first: a batch has the size of its longest
    sentences, and threads should not wait for a large job at the end. What is computed for a pair does not
    depend on its job. Where the block is for one thread, it may be `whole`: every call of a kernel with so
    many arrays takes time that threads cannot share.
    """
    lengths, widths = np.diff(pairs.source_offsets), np.diff(pairs.target_offsets)
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


class Output(NamedTuple):
    """Where the posteriors of a block's pairs go; empty arrays for what is not wanted.

    `posterior` float32 (slots, 2): all cells, p(b_j = i), then p(a_i = j). For the counts of EM only the
    cells that have an entry matter: theirs take the place of the scores in `dualign.hmm.blocks.Cells`, if
    the directions `agree`, both the product of the two. `null_target`, `null_source` float32 (tokens): what
    is left for null.
    """

    posterior: Array
    null_target: Array
    null_source: Array
    agree: bool


def expectation_calls(
    block: Block, jobs: Sequence[Job], constraint: Constraint, ruled: Constraint | None = None
) -> list[tuple[Any, ...]]:
    """For each job the kernel and what to call it with, before a tally and an output.

    With `ruled`, the constraint of pairs with rules of their own, these have jobs for themselves: other pairs
    get what they get where nobody has any rules.
    """

    def calls(jobs: Iterable[Job], block: Block, constraint: Constraint) -> list[tuple[Any, ...]]:
        kernels = expect_long if len(block.prior) else expect, expect_long
        return [(kernels[job.alone], job.pairs, block, constraint) for job in jobs if len(job.pairs)]

    if ruled is None:
        return calls(jobs, block, constraint)
    has_rules = np.diff(block.given.pair_begin) > 0
    slow, others = (
        [job._replace(pairs=job.pairs[has_rules[job.pairs] == which]) for job in jobs]
        for which in (True, False)
    )
    return calls(slow, block, ruled) + calls(others, block._replace(given=NOTHING_GIVEN), constraint)


@kernel
def expect(
    order: Array, block: Block, constraint: Constraint, tally: ChainStatistics, output: Output
) -> None:
    """Posteriors of the pairs in `order` into `output`; statistics added to `tally`.

    The cell (i, j) of pair n is at slot `first[n] + i · J + j`. No pair has an empty side. If `tally.jumps`
    is empty no statistics are collected.
    """
    expect_in_step(eight(), order, block, constraint, tally, output)


@kernel
def expect_long(
    order: Array, block: Block, constraint: Constraint, tally: ChainStatistics, output: Output
) -> None:
    """`expect` for pairs that are too large to have eight of them in memory."""
    expect_in_step(np.float32(0), order, block, constraint, tally, output)


@part
def expect_in_step(
    like: Vector, order: Array, block: Block, constraint: Constraint, tally: ChainStatistics, output: Output
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
    how, by_tables, collect = constraint.how, len(block.prior) > 0, len(tally.jumps) > 0
    constrained = how >= SYMMETRIC and not by_tables
    dual = make_dual(like, min(most, MOST_PROJECTED) if constrained else 0, words, how, block.given)
    for begin in range(0, len(order), W):
        batch = batch_of(W, order[begin : begin + W], block.pairs)
        prepare(like, batch, block, chains)
        if how != EVEN and not by_tables:
            prepare_edges(like, batch, block, chains)
        found = chains.likelihood
        if constrained and batch.I * batch.J <= MOST_PROJECTED:
            moved = project(like, batch, block, chains, dual, constraint, tally)
            found = dual.value[BASE:]
            for lane in range(batch.used):
                tally.totals[1] += units(dual.state[EVALUATIONS, lane] + collect, TOTAL_UNIT)
                tally.totals[3] += units(dual.value[BEGUN, lane] - dual.value[VALUE, lane], TOTAL_UNIT)
            if collect:
                E = dual.projected if moved else chains.emission
                run_chains(like, batch, E, block, chains, collect, tally)
        else:
            if by_tables:
                choose_by_tables(batch.pair[0], block, chains)
            elif how == EVEN:
                run_evenly(like, batch, block, chains)
            else:
                run_chains(like, batch, chains.emission, block, chains, collect, tally)
            tally.totals[1] += units(batch.used, TOTAL_UNIT)
        for lane in range(batch.used):
            block.likelihood[batch.pair[lane], 0] = found[0, lane]
            block.likelihood[batch.pair[lane], 1] = found[1, lane]
            tally.totals[0] += units(found[0, lane] + found[1, lane], TOTAL_UNIT)
        tally.totals[2] += units(batch.used, TOTAL_UNIT)
        if len(output.posterior) > 0:
            keep_posteriors(W, batch, block.first, chains, output.posterior)
        if len(output.null_source) > 0:
            keep_shares(like, batch, block, chains, output)


@part
def choose_by_tables(n: int, block: Block, chains: Chains) -> None:
    """Posteriors and likelihoods of pair n, alone in `chains`, if words choose by position alone."""
    I, J = lengths_of(n, block.pairs)
    tables = priors_of(n, I, J, block)
    for d in range(2):
        R, S = (J, I) if d == 0 else (I, J)
        E, A = chains.emission[d, : R * S].reshape(R, S), chains.posterior[d, : R * S].reshape(R, S)
        chains.likelihood[d, 0] = independent(R, S, E, chains.null[d], tables[d], A)


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
